# Prefixes that two strings share are not compared, but only where the locale allows
# it.  Two locales made for this test have elements of several characters that are
# cut in two by the end of a prefix: the first is found out before anything is skipped, the second
# while the index is built.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A locale of the characters of ASCII, in their order, and an element before them.
sub make_locale
{
	my ($directory, $name, $element) = @_;
	my $source = "$directory/$name.src";
	my $from = join '', map { sprintf '<U%04X>', ord } split //, $element;
	my $order = join '', map { sprintf "<U%04X>\n", $_ } 0x20 .. 0x7E;

	append_to_file($source, <<"LOCALE");
escape_char /
LC_IDENTIFICATION
category "i18n:2012";LC_IDENTIFICATION
END LC_IDENTIFICATION
LC_CTYPE
copy "POSIX"
END LC_CTYPE
LC_COLLATE
collating-element <odd> from "$from"
order_start forward
<odd>
${order}UNDEFINED
order_end
END LC_COLLATE
LOCALE
	run_command([ 'localedef', '-c', '-i', $source, '-f', 'UTF-8', "$directory/$name.UTF-8" ]);
	ok(-e "$directory/$name.UTF-8/LC_COLLATE", "locale of \"$element\" is made");
}

my $locales = PostgreSQL::Test::Utils::tempdir();
make_locale($locales, 'short', '1a');
make_locale($locales, 'long', 'q7w7');

# libc looks for all locales in LOCPATH, if it is set; "C" is built in.
my $node;
{
	local $ENV{LOCPATH} = $locales;
	$node = new_node('main', init => { extra => [ '--locale=C', '--encoding=UTF8' ] });
}
$node->safe_psql('postgres', <<"SQL");
\\i $FindBin::RealBin/../sql/include/order.sql
CREATE COLLATION short (PROVIDER = libc, LOCALE = 'short.UTF-8');
CREATE COLLATION long (PROVIDER = libc, LOCALE = 'long.UTF-8');
CREATE TABLE plain (k text);
INSERT INTO plain SELECT format('https://www.example.com/%s/%s', i, c)
FROM generate_series(1, 7000) i, unnest('{a,b,c}'::text[]) c;
CREATE TABLE short AS SELECT replace(replace(replace(k, '/a', '/1a'), '/b', '/10'), '/c', '/1b') AS k FROM plain;
CREATE TABLE long AS SELECT replace(replace(k, '/b', '/q7w7'), '/c', '/q7x') AS k FROM plain;
UPDATE long SET k = replace(k, '/a', '/q7v');
SQL

sub same_order
{
	my ($table, $collation, @settings) = @_;
	my $settings = join ', ', map { "'$_'" } @settings;
	my ($ret, $out, $err) = $node->psql('postgres',
		qq{SELECT same_order('$table', 'k COLLATE "$collation"', ARRAY[$settings])});
	return $out . $err;
}

my @settings = ('ptsort.parallel_workers = 0',
	'ptsort.parallel_workers = 1, ptsort.debug_spill_entries = 2000');
is($node->safe_psql('postgres', q{SELECT '1a' < '10' COLLATE short, 'q7w7' < 'q7a' COLLATE long}),
	't|t', 'the locales do what they are made for');
is(same_order('plain', 'long', @settings), 'same', 'a locale that is right about these strings');
is(same_order('short', 'short', @settings), 'same', 'an element of two characters is found out');
is(same_order('long', 'long', map { "$_, ptsort.skip_prefixes = off" } @settings),
	'same', 'whole strings are always right');

my $segments = dsm_segments($node);
foreach my $workers (0, 1)
{
	my ($ret, $out, $err) = $node->psql('postgres', <<"SQL");
SET ptsort.parallel_workers = $workers;
CREATE INDEX failing ON long (k COLLATE long);
SQL
	like($err, qr/ERROR:  collation "long" orders two strings otherwise than what follows the prefix they share/,
		"an element of four characters, $workers workers: error");
	like($err, qr/HINT:  Set ptsort\.skip_prefixes to off\./, 'hint');
	check_nothing_left($node, 'failing', $segments);
}

$node->stop;
done_testing();
