# Random statements that build all indexes of a table, with one scan for several, the
# server's REINDEX as oracle: that a row which is deleted in between is missed; then
# 30 seconds of random ones.  REBUILD_FUZZ_SECONDS says how long, FUZZ_SEED which.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../../../t";
use Fuzz;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Of tables larger than a quarter of the buffers, pages are copied from their files.
my $node = fuzz_node("shared_buffers = 2MB\n");
my $scripts = PostgreSQL::Test::Utils::tempdir();

# A row that is deleted before the server builds is too much.
my ($case) = find_spoiled($node, $scripts, '--rebuilds', '--case', '1-20');
find_spoiled($node, $scripts, '--rebuilds', '--case', $case);

my ($seconds, $total) = play($node, $scripts, 'REBUILD_FUZZ_SECONDS', 30, '--rebuilds', '--least', 30);
my ($statements, $shared) = $total =~ /(\d+) statements, (\d+) with a shared scan/;
cmp_ok($shared, '>=', 30, 'many shared scans');
cmp_ok($shared, '>', $statements / 4, 'of many statements');
like($total, qr/\b$_ [1-9]/, "some $_")
  foreach ('shared by REINDEX', 'shared by CLUSTER', 'shared by ALTER TYPE', q{built from another's scan}, 'in a transaction');

$node->stop;
done_testing();
