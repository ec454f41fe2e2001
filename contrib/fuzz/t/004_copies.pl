# Random copies of tables by CLUSTER, the server's own as oracle: that a row which
# is deleted in between is missed; then 30 seconds of random ones, or 200 where these
# take longer.  COPY_FUZZ_SECONDS says how long instead, but at least 100, FUZZ_SEED which.
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

# A row that is deleted before ptsort copies is missed.
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
