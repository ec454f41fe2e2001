# Random queries whose sorts ptsort takes, the server's own sorts as oracle: that a
# row which is deleted in between is missed; then a minute of random ones.
# QUERY_FUZZ_SECONDS says how long, FUZZ_SEED which.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../../../t";
use Fuzz;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'python3 is missing'
  if system('python3 -c "" >/dev/null 2>&1') != 0;

my $node = new_node('main', conf => "ptsort.debug_slices = 0\nmax_wal_size = 4GB\n");
my $scripts = PostgreSQL::Test::Utils::tempdir();

# A row that is deleted before ptsort sorts is missed.
my ($status, $said) = fuzz($node, $scripts, '--queries', '--seed', 'spoiled', '--case', '1-3', '--spoil');
is($status, 1, 'spoiled: a failure');
like($said, qr/^FAILED SEED=spoiled CASE=\d+, statement \d+: ./m, 'spoiled: what, and where');

my @seed = $ENV{FUZZ_SEED} ? ('--seed', $ENV{FUZZ_SEED}) : ();
my $seconds = $ENV{QUERY_FUZZ_SECONDS} || 60;
($status, $said) = fuzz($node, $scripts, '--queries', '--seconds', $seconds, @seed);
is($status, 0, 'no difference') or diag($said);
show_scripts($scripts) if $status != 0;
my ($total) = $said =~ /^(total: .*)/m;
my ($queries, $taken) = $total =~ /(\d+) queries \((\d+) with/;
cmp_ok($queries, '>=', $seconds * 5, 'many queries');
cmp_ok($taken, '>', $queries / 4, 'sorts of many were taken');
like($total, qr/\b$_ [1-9]/, "some $_")
  foreach (
	'in-memory sort', 'top-N sort', 'external merge', 'plainly', 'by_cursor',
	'by_scrolling', 'by_holding', 'by_loop', 'by_pieces', 'into_table',
	'prepared', 'limit', 'total_order', 'windows', 'groups', 'merge_join');
note($total);

$node->stop;
done_testing();
