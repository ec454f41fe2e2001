# The script that compares the collations of machines.
#
# Needs no assertions: t/044_collation_digests.pl has the same digests
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../../../t";
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = $FindBin::RealBin =~ s{/[^/]+$}{}r;
my $collations = "$dir/collations.py";
my $files = PostgreSQL::Test::Utils::tempdir();
plan skip_all => 'no python3' if system('python3 --version >/dev/null 2>&1') != 0;

# Runs a script; returns its exit status, output and messages.
sub run_script
{
	my ($script, @arguments) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'python3', $script, @arguments ], '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

# Writes lines to a file in the format of "digests"; returns its name.
sub file_of
{
	my ($name, @lines) = @_;
	unlink "$files/$name";
	append_to_file("$files/$name", join "\n", '# ptsort: collations, format 1', map({ s/ /\t/gr } @lines), '');
	return "$files/$name";
}

sub fails_with
{
	my ($pattern, $name, @command) = @_;
	my ($status, $out, $err) = run_script(@command);
	is($status, 2, "$name: fails");
	is($out, '', "$name: no output");
	like($err, $pattern, "$name: message");
}

# A server's own collations, and the order of all characters if there is a
# suitable locale
my $node = new_node('main');
$node->safe_psql('postgres', q{CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
CREATE DATABASE utf8 ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0; CREATE DATABASE empty TEMPLATE utf8});
$node->safe_psql($_, 'CREATE EXTENSION ptsort') foreach qw(latin utf8);
my @connection = ('-h', $node->host, '-p', $node->port);
my $locale = $node->safe_psql('utf8', q{
SELECT substr(max(collcollate), 1, 5) FROM pg_collation
WHERE collprovider = 'c' AND collencoding = 6 AND collcollate IN ('en_US.utf8', 'de_DE.utf8')});
my ($status, $out, $err) = run_script($collations, 'digests', $locale eq '' ? () : ('--characters', $locale),
	@connection, '-d', 'utf8');
is("$status$err", '0', 'digests');
my $bytes = $node->safe_psql('utf8', q{SELECT ptsort_collation_digest('"C"')});
like($out, qr/\A# ptsort: collations, format 1\nformat\t$bytes\n/, 'format');
my @rows = map { [ split /\t/, $_, -1 ] } grep { /^collation\t/ } split /\n/, $out;
is(scalar(grep { @$_ != 5 || $_->[4] !~ /^(?:[0-9a-f]{32})?$/ } @rows), 0, 'rows');
my %found;
$found{"@$_[1, 2]"}++ foreach @rows;
is_deeply([ grep { $found{$_} > 1 } keys %found ], [], 'each collation once');
is(scalar(@rows), $node->safe_psql('utf8', q{
SELECT count(DISTINCT (collprovider, CASE collprovider WHEN 'c' THEN lower(replace(collcollate, '.UTF-8', '.utf8'))
	ELSE coalesce(to_jsonb(c) ->> 'colllocale', to_jsonb(c) ->> 'colliculocale') END))
FROM pg_collation c WHERE collprovider = 'i' OR collprovider = 'c' AND collencoding = 6 AND collcollate <> 'C'}), 'all collations');
SKIP:
{
	skip('no locale', 2) if $locale eq '';
	my ($ranges) = $out =~ /^characters\tlibc\t$locale\t(.*)$/m;
	my @order = map { my ($x, $y) = map { hex } split /-/; $x .. $y // $x } split /,/, $ranges;
	is(scalar(@order), 1114111 - 2048, 'all characters');
	is(join('', grep { /^[a-eA-E0-3]$/ } map { chr } @order), '0123aAbBcCdDeE', 'in order');
}

append_to_file("$files/here.txt", $out);
($status, $out, $err) = run_script($collations, 'compare', "$files/here.txt", "$files/here.txt");
like($out, qr/\Asame order: \d+\n  .*^another order: 0\nunknown: 0\n\z/ms, 'the same machine');
is("$status$err", '0', '... alike');

# Errors of digests
fails_with(qr/the server has no collation of the locale "xx_XX'" in UTF-8/, 'unknown locale', $collations, 'digests',
	'--characters', "xx_XX'", @connection, '-d', 'utf8');
fails_with(qr/the database is in LATIN1, not in UTF8/, 'LATIN1', $collations, 'digests', @connection, '-d', 'latin');
fails_with(qr/needs ptsort 1\.2\.0 or later/, 'no extension', $collations, 'digests', @connection, '-d', 'empty');
fails_with(qr/psql: error: .*"missing" does not exist/, 'no database', $collations, 'digests', @connection, '-d', 'missing');
fails_with(qr/psql: .*unrecognized option/, 'unknown option', $collations, 'digests', @connection, '--unknown');
$node->stop;

# Comparisons
my @one = ('format f', 'collation libc aa_AA 1.0 a', 'collation libc bb_BB 1.0 b', 'collation libc cc_CC 1.0 c',
	'collation libc dd_DD 1.0 ', 'collation libc ee_EE 1.0 e', 'collation icu ff 150 f', 'characters libc cc_CC 61-64,101,1F600');
my @two = ('format f', 'collation libc aa_AA 2.0 a', 'collation libc bb_BB 2.0 bb', 'collation libc cc_CC 2.0 cc',
	'collation libc dd_DD 2.0 d', 'collation icu ff 151 ff', 'characters libc cc_CC 62,64,61,63,1F600,101');
my $before = file_of('one', @one);
my $after = file_of('two', @two);
($status, $out, $err) = run_script($collations, 'compare', $before, $after);
is("$status$err", '1', 'another order');
is($out, <<"EOF", '... what differs');
same order: 1
  libc aa_AA
another order: 2
  libc bb_BB
  libc cc_CC: 3 characters; a < b, c < d, \x{C4}\x{81} < U+1F600
unknown: 2
  icu ff: versions 150 and 151 of ICU's collation
  libc dd_DD: no digest
only in $before: 1
  libc ee_EE
EOF
fails_with(qr/different formats/, 'other format', $collations, 'compare', $before, file_of('format', 'format g'));
fails_with(qr/states no format/, 'no format', $collations, 'compare', $before, file_of('none'));
fails_with(qr/bad, line 3: not understood/, $_, $collations, 'compare', $before, file_of('bad', 'format f', $_))
  foreach 'collation libc aa_AA 1.0', 'something else', 'format', 'characters libc aa_AA x-y', '';
fails_with(qr/different characters/, 'other characters', $collations, 'compare', $before,
	file_of('short', @two[ 0 .. 5 ], 'characters libc cc_CC 62'));
fails_with(qr/is not from "collations.py digests"/, 'another file', $collations, 'compare', $before, $collations);
fails_with(qr/could not read .*absent/, 'no file', $collations, 'compare', $before, "$files/absent");
fails_with(qr/usage:/, 'one file', $collations, 'compare', $before);
fails_with(qr/usage:/, 'no command', $collations);

done_testing();
