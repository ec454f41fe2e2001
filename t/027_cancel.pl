# Cancels builds, copies and sorts at random moments.  Each statement ends with
# the server's error, unless the statement ended before the cancel.  No
# statement leaves anything behind.
#
# The test reports the time that a cancel takes.  To measure this time, run
# PTSORT_CANCELS=100 PTSORT_CANCEL_ROWS=5000000 TAP_ONLY=1 TESTS=t/027_cancel.pl make check
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(max);
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $rows = $ENV{PTSORT_CANCEL_ROWS} || 40000;
my $cancels = $ENV{PTSORT_CANCELS} || 18;

my $node = new_node(
	'main',
	conf => q{
max_wal_size = 16GB
checkpoint_timeout = 1h
shared_buffers = 256MB
ptsort_test.slices = 0
maintenance_work_mem = '2GB'
work_mem = '2GB'
max_parallel_workers_per_gather = 0
log_min_messages = warning
});
$node->safe_psql(
	'postgres', qq{
CREATE TABLE t AS SELECT hashint8extended(i, 1) AS id, md5(i::text) COLLATE "C" AS c,
	md5((7 * i)::text) COLLATE "en_US.utf8" AS en, lpad(i::text, 12, '0') COLLATE "en_US.utf8" AS sorted
	FROM generate_series(1, $rows) i;
CREATE INDEX t_c ON t (c);
VACUUM ANALYZE t});

# The statements to cancel, with their settings
my $sort = 'SELECT count(v) FROM (SELECT %s v FROM t ORDER BY v OFFSET 0) s';
my $few = "SET maintenance_work_mem = '8MB'; SET work_mem = '8MB'";
my $gist = 'CREATE INDEX i ON t USING gist (point(id % 1000000, id / 1e12))';
my $gin = 'CREATE INDEX i ON t USING gin ((ARRAY[id, id % 1000, id / 100]))';
my @statements = (
	[ 'build',            'SET ptsort.parallel_workers = 0', 'CREATE INDEX i ON t (c)' ],
	[ 'build of int8',    'SET ptsort.parallel_workers = 0', 'CREATE INDEX i ON t (id)' ],
	[ 'build, 2 workers', 'SET ptsort.parallel_workers = 2', 'CREATE INDEX i ON t (en)' ],
	[ 'build, in order',  'SET ptsort.parallel_workers = 0', 'CREATE INDEX i ON t (sorted)' ],
	[ 'build, runs',      "SET ptsort.parallel_workers = 1; $few", 'CREATE INDEX i ON t (en)' ],
	[ 'GiST',             'SET ptsort.parallel_workers = 0', $gist ],
	[ 'GiST, runs',       "SET ptsort.parallel_workers = 2; $few", $gist ],
	[ 'GIN',              'SET ptsort.parallel_workers = 0', $gin ],
	[ 'GIN, runs',        "SET ptsort.parallel_workers = 2; $few", $gin ],
	[ 'copy',             'SET ptsort.parallel_workers = 0', 'CLUSTER t USING t_c' ],
	[ 'copy, 2 workers',  'SET ptsort.parallel_workers = 2', 'CLUSTER t USING t_c' ],
	[ 'copy, no index',   'SET ptsort.parallel_workers = 0', 'VACUUM FULL t' ],
	[ 'no index, 2 workers', 'SET ptsort.parallel_workers = 2', 'VACUUM FULL t' ],
	[ 'sort',             'SET ptsort.sort = on', sprintf($sort, 'en') ],
	[ 'sort, in order',   'SET ptsort.sort = on', sprintf($sort, 'sorted') ],
	[ 'sort of int8',     'SET ptsort.sort = on', sprintf($sort, 'id') ],
	[ 'sort, runs',       "SET ptsort.sort = on; $few", sprintf($sort, 'c') ]);

my $canceller = $node->background_psql('postgres');
my $cancel = q{SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
WHERE application_name = 'victim' AND backend_type = 'client backend' AND state = 'active' AND query !~ '^SET'};
my $begun = $cancel =~ s/pg_cancel_backend\(pid\)/pid/r;

# Runs a statement.  If $after is defined, cancels the statement after $after
# seconds.  Returns psql's messages, and the number of seconds from the start,
# or from the cancel, to the end of the statement.
sub run
{
	my ($settings, $statement, $after) = @_;
	my @block = $statement =~ /^VACUUM/ ? ($statement) : ('BEGIN', $statement, 'ROLLBACK');
	my $psql = start_psql($node, "SET application_name = 'victim'", $settings, @block);

	# (psql may end before the query in $begun finds psql's statement; only
	# pump_nb() notices that psql ended)
	until ($canceller->query_safe($begun))
	{
		last unless $psql->{run}->pumpable;
		$psql->{run}->pump_nb;
	}
	usleep(1e6 * $after) if defined $after;
	my $from = time;
	my $found = !defined $after || $canceller->query_safe($cancel);
	$psql->{run}->finish;
	return ($psql->{err}, time - $from, $found);
}

my $segments = dsm_segments($node);
my (%took, %where, %whole, @wrong, $cancelled);
foreach my $n (0 .. $cancels - 1)
{
	my ($name, $settings, $statement) = @{ $statements[ $n % @statements ] };

	(undef, $whole{$name}) = run($settings, $statement) unless $whole{$name};
	my $after = rand($whole{$name});
	my ($err, $seconds, $found) = run($settings, $statement, $after);
	my ($error) = $err =~ /(?:ERROR|FATAL|PANIC|WARNING):  (.*)/;
	if (!defined $error) { next }
	push @wrong, "$name after $after s: $err" if $err !~ /ERROR:  57014: canceling statement due to user request/;
	$cancelled++;
	push @{ $took{$name} }, $seconds;
	$where{$seconds} = sprintf '%s, after %.2f of %.2f s', $name, $after, $whole{$name};
}
end_session($canceller);

is("@wrong", '', 'the server\'s error');
cmp_ok($cancelled, '>', 0, 'some statements were cancelled');
check_nothing_left($node, 'cancelled', $segments);
is($node->safe_psql('postgres', "SELECT count(*) FROM t; SET enable_seqscan = off; SELECT count(*) FROM t"),
	"$rows\n$rows", 'the table is whole');
is($node->safe_psql('postgres', q{SELECT bt_index_parent_check('t_c', true, true)}), '', 'its index is sound');

my @all = sort { $a <=> $b } map { @$_ } values %took;
note(sprintf '%d cancels, seconds to the end of psql: median %.3f, longest %.3f (%s)',
	scalar @all, $all[ @all / 2 ], $all[-1], $where{ $all[-1] }) if @all;
note(sprintf '  %-18s %d, longest %.3f (%s)', $_, scalar @{ $took{$_} }, max(@{ $took{$_} }), $where{ max(@{ $took{$_} }) })
  foreach sort keys %took;

$node->stop;
done_testing();
