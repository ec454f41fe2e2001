# ptsort orders strings by the tables of their locale, but only where the
# tables prove the result of strcoll().  This test makes three kinds of
# locales.  Some have elements of several characters, and the end of a common
# prefix could cut such an element in two.  Some have passes of many kinds.
# Some have a first pass that ptsort does not understand.  If ptsort misreads
# the tables, the build starts over, and the C library compares all strings.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $locales = PostgreSQL::Test::Utils::tempdir();

# Creates a locale of the ASCII characters, in their order.  Options: "element"
# is an element of several characters and precedes all characters; "rule" is
# the rule of the passes; "ignored" is a character without weight in the first
# pass.
sub make_locale
{
	my ($name, %opt) = @_;
	my $source = "$locales/$name.src";
	my $passes = split /;/, $opt{rule} // 'forward';
	my ($declared, $order) = ('', '');

	if ($opt{element})
	{
		my $from = join '', map { sprintf '<U%04X>', ord } split //, $opt{element};
		$declared = qq{collating-element <odd> from "$from"};
		$order = "<odd>\n";
	}
	foreach my $c (0x20 .. 0x7E)
	{
		my $symbol = sprintf '<U%04X>', $c;
		$order .= $symbol;
		$order .= ' ' . join ';', 'IGNORE', ($symbol) x ($passes - 1)
		  if chr($c) eq ($opt{ignored} // '');
		$order .= "\n";
	}
	append_to_file($source, <<"LOCALE");
escape_char /
LC_IDENTIFICATION
category "i18n:2012";LC_IDENTIFICATION
END LC_IDENTIFICATION
LC_CTYPE
copy "POSIX"
END LC_CTYPE
LC_COLLATE
$declared
order_start @{[ $opt{rule} // 'forward' ]}
${order}UNDEFINED
order_end
END LC_COLLATE
LOCALE
	run_command(
		[
			'localedef', '-c', '-i', $source, '-f', 'UTF-8',
			"$locales/$name.UTF-8"
		]);
	ok(-e "$locales/$name.UTF-8/LC_COLLATE", "locale \"$name\" is made");
}

my %made = (
	short => { element => '1a' },
	long => { element => 'q7w7' },
	slash => { element => '/zq' },
	plain => {},
	two_passes => { rule => 'forward;backward' },
	backward => { rule => 'backward' },
	position => { rule => 'forward,position' },
	three_passes => { rule => 'forward;backward;forward,position', ignored => 'w' },
	mixed_passes => { rule => 'forward;forward,position', ignored => 'w' },
	weightless => { rule => 'forward;forward', ignored => '0' });
make_locale($_, %{ $made{$_} }) foreach sort keys %made;

# libc looks for all locales in LOCPATH, if LOCPATH is set; "C" is built in.
my $node;
{
	local $ENV{LOCPATH} = $locales;
	$node = new_node('main', init => { extra => [ '--locale=C', '--encoding=UTF8' ] });
}
$node->safe_psql('postgres', <<"SQL");
\\i $FindBin::RealBin/../sql/include/order.sql
CREATE EXTENSION ptsort_test;
@{[ map { "CREATE COLLATION $_ (PROVIDER = libc, LOCALE = '$_.UTF-8');\n" } sort keys %made ]}
CREATE TABLE plain (k text);
INSERT INTO plain SELECT format('https://www.example.com/%s/%s', i, c)
FROM generate_series(1, 7000) i, unnest('{a,b,c}'::text[]) c;
-- a third of the strings have the element of their locale
CREATE TABLE short AS SELECT replace(replace(replace(k, '/a', '/1a'), '/b', '/10'), '/c', '/1b') AS k FROM plain;
CREATE TABLE long AS SELECT replace(replace(k, '/b', '/q7w7'), '/c', '/q7x') AS k FROM plain;
UPDATE long SET k = replace(k, '/a', '/q7v');
-- few strings have the element, and only after the first thousand comparisons
CREATE TABLE slash AS SELECT CASE WHEN k ~ '/(6500|6777|6901)/a' THEN replace(k, '/a', '/zq')
	WHEN k ~ '/(6500|6777|6901)/b' THEN replace(k, '/b', '/zp') ELSE k END AS k FROM plain;
CREATE TABLE two_passes AS TABLE plain;
CREATE TABLE three_passes AS TABLE plain;
CREATE TABLE backward AS TABLE plain;
CREATE TABLE mixed_passes AS TABLE plain;
CREATE TABLE position AS TABLE plain;
CREATE TABLE weightless AS SELECT replace(k, 'w', '0') AS k FROM plain;
SQL
is( $node->safe_psql(
		'postgres', q{SELECT '1a' < '10' COLLATE short, 'q7w7' < 'q7a' COLLATE long,
	'/zq' < '/zp' COLLATE slash, 'a0b' = 'ab' COLLATE weightless OR 'a0c' > 'ab' COLLATE weightless}),
	't|t|t|t',
	'the locales order strings as intended');

sub same_order
{
	my ($table, @settings) = @_;
	my $settings = join ', ', map { "'$_'" } @settings;
	my ($ret, $out, $err) = $node->psql('postgres',
		qq{SELECT same_order('$table', 'k COLLATE "$table"', ARRAY[$settings])});
	return $out . $err;
}

my @settings = (
	'ptsort.parallel_workers = 0',
	'ptsort.parallel_workers = 1, ptsort_test.spill_entries = 2000');

# Returns true if ptsort skips prefixes in a collation, and the number of pairs
# that ptsort's comparison orders differently than the type's own.
sub skips
{
	my ($collation) = @_;
	return $node->safe_psql(
		'postgres', qq{
CREATE TABLE skipping (k text COLLATE "$collation");
CREATE INDEX skipping_i ON skipping (k);
SELECT skips, different FROM ptsort_test_prefixes('skipping_i',
	ARRAY(SELECT DISTINCT 'https://www.example.com/' || x FROM unnest('{1,q7,/,/z,q7w,0,00,""}'::text[]) x),
	ARRAY(SELECT x || y FROM unnest('{1,a,0,q7,w7,/,zq,z,q}'::text[]) x, unnest('{a,b,c,1a,10,q7w7,w7,/zq,zp}'::text[]) y));
DROP TABLE skipping;
});
}

foreach my $name (sort keys %made)
{
	my $may = $name =~ /^(backward|position)$/ ? 'f' : 't';
	is(skips($name), "$may|0", "$name: what is proved is right");
	is(same_order($name, @settings), 'same', "$name: right index");
}
is(skips('C'), 'f|0', 'nothing to skip in "C"');
is(slurp_file($node->logfile) =~ /WARNING:  collation/ ? 'warned' : '',
	'', 'no proof was wrong');

# ptsort misreads the tables.
my $segments = dsm_segments($node);
my @trusting = map { "$_, ptsort_test.trust_collations = on" } @settings;
like(
	same_order('long', @trusting),
	qr/^same(?!.*WARNING.*WARNING).*WARNING:  collation "long" contradicts its own tables/s,
	'a contradiction causes one warning and no error');
is(same_order('long', map { "$_, ptsort.use_collation_tables = off" } @trusting),
	'same', 'whole strings are always right');
is(same_order('plain', @trusting), 'same', 'no contradiction where the tables are right');
foreach my $workers (0, 1, 3)
{
	my $end = log_end($node);
	my ($out, $err) = try_sql($node, <<"SQL");
SET ptsort.parallel_workers = $workers;
SET ptsort_test.trust_collations = on;
CREATE UNIQUE INDEX i ON long (k COLLATE long);
SHOW ptsort.use_collation_tables;
SELECT bt_index_parent_check('i', true, true);
DROP INDEX i;
CREATE INDEX CONCURRENTLY i ON long (k COLLATE long DESC);
SELECT bt_index_parent_check('i', true, true);
REINDEX INDEX i;
SELECT bt_index_parent_check('i', true, true);
DROP INDEX i;
SQL
	unlike($err, qr/ERROR/, "$workers workers: no error");
	like($out, qr/^on$/m, 'the setting is the user\'s again');
	my $name = join ' ', builds_since($node, $end);
	my $n = $workers + 1;
	is($name, "i: $n i: $n i: $n", 'built by the requested number');
	my $log = slurp_file($node->logfile, $end);
	my $restarts = () = $log =~ /restarting build of index "i": its collation contradicts itself/g;
	is($restarts, 1, 'only the first build started over');
	check_nothing_left($node, "$workers workers", $segments);
}

$node->stop;
done_testing();
