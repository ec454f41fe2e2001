# Plays random cases of contrib/fuzz, of each kind, which must find no
# difference.  For each kind, %kinds has the duration in seconds, the minimum
# number of comparisons, and what must be among them.  FUZZ_SECONDS sets another
# duration for each kind, without a minimum; FUZZ_KINDS="queries copies" chooses
# kinds, and FUZZ_SEED the cases.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../../../t";
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %kinds = (
	indexes => [ 100, 1200, 'parallel', 'spilled', 'keys exact', 'keys prefix', 'keys compared' ],
	sorts => [ 20, 900, 'parallel', 'in slices', 'spilled', 'in memory', 'ties', 'random access', 'stable', 'reset', 'bounded', 'datums', 'slots scan', 'slots heap', 'slots minimal' ],
	queries => [ 50, 8000, 'in-memory sort', 'top-N sort', 'external merge', 'plainly', 'by_cursor', 'by_scrolling', 'by_holding', 'by_loop', 'by_pieces', 'into_table', 'prepared', 'limit', 'total_order by ptsort', 'windows by ptsort', 'groups by ptsort', 'aggregates by ptsort', 'merge_join by ptsort' ],
	copies => [ 25, 150, 'by all of them', 'by the functions', 'parallel', 'in slices', 'keys prefix', 'keys compared', 'with links' ],
	gins => [ 30, 250, 'parallel', 'spilled', 'concurrently', 'rewrite' ],
	rebuilds => [ 25, 30, 'shared by REINDEX', 'shared by CLUSTER', 'shared by ALTER TYPE', q{built from another's scan}, 'in a transaction' ]);

plan skip_all => 'python3 is missing'
  if system('python3 -c "" >/dev/null 2>&1') != 0;

# The fuzzer itself sets the number of slices.  The client, and not only the
# server's log, receives the lines about builds.  If a table is larger than a
# quarter of shared_buffers, ptsort reads it by copying pages from the table's
# file.
my $node = new_node('main', conf => "ptsort.log_build = off\nptsort_test.slices = 0\nmax_wal_size = 4GB\nshared_buffers = 2MB\n");
my $scripts = PostgreSQL::Test::Utils::tempdir();
local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PYTHONDONTWRITEBYTECODE => 1);

foreach my $kind (split ' ', $ENV{FUZZ_KINDS} // join ' ', sort keys %kinds)
{
	my ($seconds, $least, @wanted) = @{ $kinds{$kind} };
	my @arguments = ('--kind', $kind, '--log', $node->logfile, '--out', $scripts);
	push @arguments, '--seed', $ENV{FUZZ_SEED} if $ENV{FUZZ_SEED};
	push @arguments, $ENV{FUZZ_SECONDS} ? ('--seconds', $ENV{FUZZ_SECONDS}) : ('--seconds', $seconds, '--least', $least);
	my ($stdout, $stderr);
	my $ok = IPC::Run::run([ 'python3', "$FindBin::RealBin/../fuzz.py", @arguments ], '<', \undef, '>', \$stdout, '2>', \$stderr);
	ok($ok, "$kind: no difference") or diag($stdout, $stderr, map { "$_:\n" . slurp_file($_) } glob("$scripts/*.sql"));
	my ($total) = $stdout =~ /^(total: .*)/m;
	note($total);
	next if $ENV{FUZZ_SECONDS};
	like($total, qr/\b\Q$_\E [1-9]/, "$kind: some $_") foreach (@wanted);
}

$node->stop;
done_testing();
