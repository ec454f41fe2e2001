# Runs random queries with ptsort's sorts and with the server's sorts, and
# compares the results.  The test checks that the fuzzer notices a row deleted
# between two executions of a query.  Then it runs at least 10,000
# random queries, for at least a minute.  QUERY_FUZZ_SECONDS sets another
# duration, without a minimum number of queries; FUZZ_SEED chooses the cases.
# FUZZ_IS_SLOW is for emulated processors, which run fewer and smaller queries.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../../../t";
use Fuzz;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = fuzz_node();
my $scripts = PostgreSQL::Test::Utils::tempdir();

# The test deletes a row before ptsort sorts the table.  The fuzzer must notice.
find_spoiled($node, $scripts, '--queries', '--case', '1-3');

my @least = $ENV{QUERY_FUZZ_SECONDS} ? () : ('--least', 10000);
my ($seconds, $total) = play($node, $scripts, 'QUERY_FUZZ_SECONDS', 60, '--queries', @least);
my ($queries, $taken, $rows) = $total =~ /(\d+) queries \((\d+) with.*sorts of (\d+) rows/;
my $slow = $ENV{FUZZ_IS_SLOW} ? 5 : 1;
cmp_ok($queries, '>=', $least[1] // $seconds * 5 / $slow, 'many queries');
cmp_ok($taken, '>', $queries / 4, 'ptsort did sorts of many queries');
cmp_ok($rows, '>=', 100 / $slow * $queries, 'the sorts had many rows');
like($total, qr/\b$_ [1-9]/, "some $_")
  foreach (
	'in-memory sort', 'top-N sort', 'external merge', 'plainly', 'by_cursor',
	'by_scrolling', 'by_holding', 'by_loop', 'by_pieces', 'into_table',
	'prepared', 'limit', 'total_order by ptsort', 'windows by ptsort', 'groups by ptsort',
	'aggregates by ptsort', 'merge_join by ptsort');

$node->stop;
done_testing();
