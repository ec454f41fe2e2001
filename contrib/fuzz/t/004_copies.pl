# Compares random copies of tables by CLUSTER with the server's copies.  The test
# checks that the fuzzer notices a row deleted between two copies.  Then it makes
# at least 200 random copies, for at least 30 seconds.
# COPY_FUZZ_SECONDS sets another duration and reduces the minimum to 100 copies;
# FUZZ_SEED chooses the cases.
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

# The test deletes a row before ptsort copies the table.  The fuzzer must
# notice.
my ($case) = find_spoiled($node, $scripts, '--copies', '--case', '1-20');
find_spoiled($node, $scripts, '--copies', '--case', $case);

my $least = $ENV{COPY_FUZZ_SECONDS} ? 100 : 200;
my ($seconds, $total) = play($node, $scripts, 'COPY_FUZZ_SECONDS', 30, '--copies', '--least', $least);
my ($copies) = $total =~ /(\d+) copies \(/;
cmp_ok($copies, '>=', $least, 'many copies');
like($total, qr/\b$_ [1-9]/, "some $_")
  foreach ('by all of them', 'by the functions', 'parallel', 'in slices', 'keys prefix', 'keys compared', 'with links');

$node->stop;
done_testing();
