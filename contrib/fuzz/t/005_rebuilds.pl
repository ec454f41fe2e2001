# Runs random statements that build all indexes of a table; one scan may fill
# several indexes.  Compares the indexes with those of the server's REINDEX.
# The test checks that the fuzzer notices a row deleted between the builds.
# Then it runs random statements until 30 seconds are over and 30 statements
# shared a scan.  REBUILD_FUZZ_SECONDS sets another duration; FUZZ_SEED chooses
# the cases.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../../../t";
use Fuzz;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# If a table is larger than a quarter of shared_buffers, ptsort reads it by
# copying pages from the table's file.
my $node = fuzz_node("shared_buffers = 2MB\n");
my $scripts = PostgreSQL::Test::Utils::tempdir();

# The test deletes a row before the server builds the indexes.  The fuzzer must
# notice.
my ($case) = find_spoiled($node, $scripts, '--rebuilds', '--case', '1-20');
find_spoiled($node, $scripts, '--rebuilds', '--case', $case);

my ($seconds, $total) = play($node, $scripts, 'REBUILD_FUZZ_SECONDS', 30, '--rebuilds', '--least', 30);
my ($statements, $shared) = $total =~ /(\d+) statements, (\d+) with a shared scan/;
cmp_ok($shared, '>=', 30, 'many shared scans');
cmp_ok($shared, '>', $statements / 4, 'many statements shared a scan');
like($total, qr/\b$_ [1-9]/, "some $_")
  foreach ('shared by REINDEX', 'shared by CLUSTER', 'shared by ALTER TYPE', q{built from another's scan}, 'in a transaction');

$node->stop;
done_testing();
