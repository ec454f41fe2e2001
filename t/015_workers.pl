# The number of participants of a build if fewer workers start than requested,
# if none starts or all start late, and if the build must be serial.  Also tests
# what the statistics views show of the build.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node(
	'main',
	conf => q{
max_worker_processes = 3
max_parallel_workers = 40
max_parallel_maintenance_workers = 40
maintenance_work_mem = '8MB'
compute_query_id = on
});
$node->safe_psql(
	'postgres', q{
CREATE TABLE t AS SELECT i AS id, md5(i::text) AS word FROM generate_series(1, 20000) i;
CREATE TABLE other AS SELECT * FROM t;
VACUUM ANALYZE t, other;
CREATE FUNCTION unsafe(int) RETURNS int IMMUTABLE PARALLEL UNSAFE LANGUAGE plpgsql
	AS 'BEGIN RETURN $1 + 1; END';
});

# Builds an index with these settings, checks the index, checks that the counts
# include all tuples, and returns the number of participants.
sub participants
{
	my ($setup, $what) = @_;
	$what //= 't (word) WITH (parallel_workers = 2)';
	my $end = log_end($node);
	my $out = $node->safe_psql(
		'postgres', qq{
$setup;
CREATE INDEX i ON $what;
SELECT bt_index_parent_check('i', true, true);
SELECT tuples FROM ptsort_last_build() WHERE participant IS NULL;
SELECT 'reltuples', c.reltuples, t.reltuples FROM pg_class c, pg_index x, pg_class t
WHERE c.relname = 'i' AND x.indexrelid = c.oid AND t.oid = x.indrelid;
DROP INDEX i;
});
	my @builds = builds_since($node, $end);
	return $out =~ /^20000\nreltuples\|20000\|20000$/m ? "@builds" : "tuples: $out";
}

is(participants('SET client_min_messages = warning',
		't (word) WITH (parallel_workers = 40)'),
	'i: 4', 'limited by max_worker_processes');
is(participants('SET max_parallel_workers = 1'), 'i: 2',
	'limited by max_parallel_workers');
is(participants('SET max_parallel_workers = 0'), 'i: 1',
	'max_parallel_workers = 0');
is(participants('SET max_parallel_maintenance_workers = 1'), 'i: 2',
	'limited by max_parallel_maintenance_workers');
is(participants('SET max_parallel_maintenance_workers = 0'), 'i: 1',
	'max_parallel_maintenance_workers = 0');
is(participants('SET ptsort_test.leader_participates = off'), 'i: 2',
	'without the leader');
is( participants(
		'SET ptsort_test.leader_participates = off; SET max_parallel_workers = 0'),
	'i: 1',
	'without the leader, and without workers');
is(participants('SET ptsort.parallel_workers = 2', 't (unsafe(id))'),
	'i: 1', 'parallel-unsafe expression');
is( participants('SET ptsort.parallel_workers = 2', 't (id) WHERE unsafe(id) > 0'),
	'i: 1',
	'parallel-unsafe predicate');
is( participants(
		'SET ptsort.parallel_workers = 2; CREATE TEMP TABLE temp AS SELECT * FROM t; ANALYZE temp',
		'temp (id)'),
	'i: 1',
	'temporary table');

# Another session uses all workers
my $other = start_psql($node, "SET ptsort_test.fault = 'build: after scan:1:sleep:worker'",
	'CREATE INDEX j ON other (id) WITH (parallel_workers = 3)');
ok(wait_for_point($node, 'build: after scan', 3), 'another session has all workers');

# What the views show while the other session uses the workers
is( $node->safe_psql(
		'postgres', q{
SELECT count(*), count(DISTINCT query), count(query_id), count(DISTINCT query_id), count(DISTINCT leader_pid)
FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX j%'}),
	'4|1|4|1|1',
	'workers show the statement and its query_id');
is( $node->safe_psql(
		'postgres', q{
SELECT relation::regclass, mode, count(*) FROM pg_locks
WHERE relation = 'other'::regclass GROUP BY 1, 2 ORDER BY 1, 2}),
	'other|ShareLock|4',
	'workers hold the leader\'s lock');
is(participants('SET client_min_messages = warning'),
	'i: 1', 'no worker starts');
$node->safe_psql('postgres',
	q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX j%' AND backend_type = 'client backend'}
);
$other->{run}->finish;

# The progress view while the build waits at a fault point.  The build sets the
# phase first and the final counts later, so the test waits for the whole row
sub progress
{
	my ($point, $where, $phase, $counts) = @_;
	my $build = start_psql($node,
		"SET ptsort_test.fault = '$point:1:sleep:$where'",
		'CREATE INDEX k ON t (id) WITH (parallel_workers = 2)');
	my $row = "t|CREATE INDEX|building index: $phase|$counts";
	ok( $node->poll_query_until(
			'postgres', qq{
SELECT concat_ws('|', relid::regclass, command, phase, blocks_total, blocks_done, tuples_total, tuples_done)
  ~ ('^' || replace('$row', '|', '[|]') || '\$')
FROM pg_stat_progress_create_index}),
		"progress at '$point': $phase");
	$node->safe_psql('postgres',
		q{SELECT pg_cancel_backend(pid) FROM pg_stat_progress_create_index});
	$build->{run}->finish;
}
my $blocks = $node->safe_psql('postgres',
	q{SELECT pg_relation_size('t') / current_setting('block_size')::int});
progress('build: before launch', 'leader', 'scanning table', '0|0|0|0');
progress('build: after scan', 'leader', 'scanning table', "$blocks|[0-9]+|0|0");
progress('shared: wait', 'leader', 'sorting live tuples', "$blocks|[0-9]+|0|0");
progress('build: after finish', 'leader', 'loading tuples in tree', '0|0|20000|20000');

$node->stop;

# Workers that start after the leader ended its scan.  If the table is small,
# the leader leaves these workers their share of the table.
$node = new_node('late', conf => q{shared_preload_libraries = 'ptsort, ptsort_test'});
$node->safe_psql('postgres', q{
CREATE TABLE t AS SELECT i AS id, md5(i::text) AS word FROM generate_series(1, 20000) i;
CREATE TABLE large (id int, page text);
ALTER TABLE large ALTER page SET STORAGE PLAIN;
INSERT INTO large SELECT i, repeat('x', 8000) FROM generate_series(1, 8200) i;
VACUUM ANALYZE t, large});
my $segments = dsm_segments($node);
my $late = q{SET ptsort_test.turns = 'build: worker start:worker after shared: wait:leader'};
my $shares = q{SELECT string_agg(role || ' ' || tuples, ', ' ORDER BY role) FROM (
	SELECT role, sum(tuples) AS tuples FROM ptsort_last_build()
	WHERE participant IS NOT NULL GROUP BY role) s};

# shares_of_index() builds an index; shares_of_two() rebuilds two indexes of t
# in one scan.  Both return the number of the leader's tuples and the number of
# the workers' tuples.
sub shares_of_index
{
	my ($turns, $what, $workers) = @_;
	return $node->safe_psql('postgres', qq{
$turns;
CREATE $what WITH (parallel_workers = $workers);
SELECT bt_index_parent_check('i', true, true);
$shares;
DROP INDEX i});
}

sub shares_of_two
{
	my ($turns, $workers) = @_;
	return $node->safe_psql('postgres', qq{
$turns;
SET ptsort.parallel_workers = $workers;
SET min_parallel_table_scan_size = 0;
REINDEX TABLE t;
SELECT bt_index_parent_check(i, true, true) FROM unnest('{one, two}'::regclass[]) i;
$shares});
}

foreach my $what ('INDEX i ON t (word)', 'UNIQUE INDEX i ON t (word COLLATE "C", id)',
	'INDEX CONCURRENTLY i ON t (id)')
{
	is(shares_of_index($late, $what, 2), "\nleader 6600, worker 13400", "late workers: $what");
}
is(shares_of_index($late, 'INDEX i ON large (id)', 2), "\nleader 8200, worker 0",
	'late workers: the whole of a large table');
my $end = log_end($node);
$node->safe_psql('postgres', q{CREATE INDEX one ON t (id); CREATE INDEX two ON t (word)});
is(shares_of_two($late, 2), "\n\nleader 6600, worker 13400",
	'late workers: one scan for two indexes');
like(slurp_file($node->logfile, $end), qr/building index "two": .*from the scan for "one"/,
	'late workers: it was one scan');
check_nothing_left($node, 'late workers', $segments);

# the second index's build cannot use the shared scan's runs, and raises its
# own error
$node->safe_psql('postgres', q{
CREATE TABLE dups AS SELECT i AS id, greatest(i, 2) AS few FROM generate_series(1, 20000) i;
CREATE INDEX dups_id ON dups (id); CREATE INDEX dups_few ON dups (few);
UPDATE pg_index SET indisunique = true WHERE indexrelid = 'dups_few'::regclass});
$end = log_end($node);
my ($out, $err) = try_sql($node, qq{
$late;
SET ptsort.parallel_workers = 2;
SET min_parallel_table_scan_size = 0;
REINDEX TABLE dups});
is(error_of($err), qq{ERROR:  23505: could not create unique index "dups_few"\nDETAIL:  Key (few)=(2) is duplicated.},
	'late workers: the error of the second index');
like(slurp_file($node->logfile, $end), qr/building index "dups_id": .*one scan for 2 indexes/,
	'late workers: it was one scan, too');
check_nothing_left($node, 'late workers, an error', $segments);

$node->stop;
done_testing();
