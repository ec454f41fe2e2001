# ptsort may misread the number of rules that the C library states for a
# collation, as ptsort did on big-endian machines.  So ptsort must not rely on
# this number: when a process first uses a collation, it compares pairs of
# strings, even if the collation seems to have no tables.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = new_node('main');
my $locale = $node->safe_psql('postgres', q{
SELECT quote_ident(collname) FROM pg_collation
WHERE collprovider = 'c' AND collencoding = 6 AND collname ~ '^[a-z]+_[A-Z]+\.utf-?8$'
ORDER BY collname !~ '^en_US', collname LIMIT 1});
plan skip_all => 'no locale of the C library in UTF-8' if $locale eq '';
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION ptsort_test;
\\i $FindBin::RealBin/../sql/include/order.sql
CREATE TABLE words AS SELECT initcap(md5(i::text)) || '-' || i AS k FROM generate_series(1, 9000) i;
INSERT INTO words SELECT md5(i::text) || ' ' || i FROM generate_series(1, 9000) i;
SQL
is($node->safe_psql('postgres', "SELECT 'a' < 'B' COLLATE $locale"), 't',
	"$locale does not order by bytes");

# Each call starts a new session, whose processes check the collation again.
foreach my $rules (-1, 0, 1, 2, 3, 5)
{
	my ($ret, $out, $err) = $node->psql('postgres', <<"SQL");
SELECT same_order('words', 'k COLLATE $locale', ARRAY[
	'ptsort_test.collation_rules = $rules, ptsort.parallel_workers = 0',
	'ptsort_test.collation_rules = $rules, ptsort.parallel_workers = 2, ptsort_test.spill_entries = 2000']);
SQL
	is("$out$err", 'same', "$rules rules: right index, no warning");
}

# ptsort still recognizes a collation that does order by bytes.
is( $node->safe_psql('postgres', q{
CREATE TABLE bytewise (k text COLLATE "C.utf8");
CREATE INDEX bytewise_i ON bytewise (k);
SELECT skips FROM ptsort_test_prefixes('bytewise_i', '{a,b}', '{a,B}')}),
	'f',
	'nothing to skip in "C.utf8"');

$node->stop;
done_testing();
