# ptsort_progress(): the phases of builds and copies, with and without workers;
# what other roles and other databases see; work that ends, also by a crash.
#
# Depends on the version: the status of other sessions
# Its log may have: \(PID [0-9]+\) was terminated by signal 9
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', conf => "wal_level = replica\nmaintenance_work_mem = '4MB'\nrestart_after_crash = on\n");
$node->safe_psql(
	'postgres', q{
CREATE TABLE t AS SELECT g AS a, md5(g::text) AS word FROM generate_series(1, 100000) g;
CREATE TABLE "Ordered" AS SELECT hashint4(a) AS a, word FROM t;
CREATE INDEX ordered_a ON "Ordered" (a);
ANALYZE;
CREATE ROLE builder;
CREATE ROLE stranger;
CREATE ROLE reader IN ROLE pg_read_all_stats;
GRANT CREATE ON SCHEMA public TO builder;
CREATE DATABASE other;
});
$node->safe_psql('other', 'CREATE EXTENSION ptsort');
my $segments = dsm_segments($node);

# Returns columns of the only row, or '' if there is none.
sub progress
{
	my ($columns, %opt) = @_;
	my $role = $opt{role} ? "SET ROLE $opt{role}; " : '';
	return $node->safe_psql($opt{database} // 'postgres', "${role}SELECT $columns FROM ptsort_progress()");
}

# Starts SQL whose $n processes pause at a point, and calls a function then.
sub at_point
{
	my ($point, $n, $sql, $check) = @_;
	my $name = $point =~ s/:\d+$//r;
	my $nth = $point =~ /:(\d+)$/ ? $1 : 1;
	my $pause = pause_points($node);
	my $session = start_psql($node, "SET ptsort_test.fault = '$name:$nth:pause'", 'SET ptsort.parallel_workers = ' . ($n - 1), ref $sql ? @$sql : $sql);
	wait_for_point($node, $name, $n) or fail("no $n processes at '$name'");
	$check->();
	end_session($pause);
	$session->{run}->finish;
	is($session->{err}, '', "$name: no message");
	is(progress('*'), '', "$name: no row after the end");
}

my $numbers = q{rows_per_second IS NULL, percent > 0, percent < 100, seconds_left > 0, elapsed_ms > 0};

is(progress('*'), '', 'no work: no row');
foreach my $n (1, 3)
{
	at_point(
		'build: before scan', $n, 'CREATE INDEX t_a ON t (a)',
		sub {
			is(progress('datname, relation, table_name, kind, phase, participants, percent, seconds_left, temp_bytes, wal_bytes, paused_ms, waiting_for'),
				"postgres|public.t_a|public.t|index|scan|$n|0||0|0|0|", "$n participants, before the scan");
			is(progress('wal_bytes_expected BETWEEN 1e6 AND 4e6'), 't', 'the expected WAL is that of an index');
			is(progress('temp_bytes_expected > 0'), $n > 1 ? 't' : 'f', 'only workers need temporary files');
			is(progress('pid = (SELECT pid FROM pg_stat_progress_create_index WHERE pid NOT IN (SELECT pid FROM pg_stat_activity WHERE leader_pid IS NOT NULL))'), 't', 'the pid is that of the leader');
		});
	at_point('build: after scan', $n, 'DROP INDEX t_a; CREATE INDEX t_a ON t (a)',
		sub { is(progress("phase, $numbers"), 'scan|f|t|t|t|t', "$n participants, after the scan") });
	at_point('build: before load', $n, 'DROP INDEX t_a; CREATE INDEX t_a ON t (a)',
		sub { is(progress("phase, temp_bytes = temp_bytes_expected, temp_bytes > 0, percent > 0, percent < 100, seconds_left > 0"), 'load|t|' . ($n > 1 ? 't' : 'f') . '|t|t|t', "$n participants, before the load") });
	# each process writes its first pages, or one process its third
	at_point('pagewrite: log:' . ($n > 1 ? 1 : 3), $n, 'DROP INDEX t_a; CREATE INDEX t_a ON t (a)',
		sub { is(progress("phase, wal_bytes_expected > wal_bytes, $numbers"), 'load|t|f|t|t|t|t', "$n participants, in the load") });
	$node->safe_psql('postgres', 'DROP INDEX t_a');
}
at_point('build: before load', 1, q{CREATE UNLOGGED TABLE u AS SELECT * FROM t; CREATE INDEX u_a ON u (a)},
	sub { is(progress('relation, wal_bytes_expected'), 'public.u_a|0', 'an index without WAL') });

# Merges of runs
at_point('build: after sort', 3, [ q{SET ptsort_test.spill_entries = 2000}, q{SET ptsort_test.merge_order = 3}, 'CREATE INDEX t_w ON t (word)' ],
	sub { is(progress("phase, $numbers, temp_bytes > 5000000"), 'sort|t|t|t|t|t|t', 'merges of runs') });

# A copy, by slices and by the server's functions
foreach my $wide (0, 1)
{
	at_point('build: before scan', 2, 'CLUSTER "Ordered" USING ordered_a',
		sub { is(progress('relation, table_name, kind, phase, participants'), 'public."Ordered"|public."Ordered"|copy|scan|2', 'a copy: scan') });
	at_point('build: before load', 2, 'CLUSTER "Ordered" USING ordered_a',
		sub { is(progress("phase, percent > 0, percent < 100, seconds_left > 0, wal_bytes_expected > 1000000"), 'write|t|t|t|t', 'a copy: write') });
	at_point('copywrite: begin slice', 3, 'VACUUM FULL "Ordered"',
		sub { is(progress('relation, table_name, kind, phase, participants, temp_bytes_expected'), 'public."Ordered"|public."Ordered"|copy|scan|3|0', 'a copy without an index') });
	at_point('copywrite: filled', 1, 'VACUUM FULL "Ordered"',
		sub { is(progress("phase, percent > 0, percent < 100, wal_bytes_expected > 1000000"), 'scan|t|t|t', 'a copy without an index: scan') });
	at_point('build: before load', 1, 'VACUUM FULL "Ordered"',
		sub { is(progress("phase, percent > 50, percent < 100"), 'scan|t|t', 'a copy without an index writes during its scan') });
	$node->safe_psql('postgres', q{INSERT INTO "Ordered" SELECT 1, string_agg(md5(g::text), '') FROM generate_series(1, 1000) g});
}

# The second index of a scan has no scan of its own.  Each build has its own
# workers, so only the leader passes the point four times.
at_point('build: before load:4', 1, [ 'SET max_parallel_maintenance_workers = 2', 'SET ptsort.parallel_workers = 2', 'CREATE TABLE two AS SELECT * FROM t', 'CREATE INDEX two_a ON two (a)', 'CREATE INDEX two_w ON two (word)', "SET maintenance_work_mem = '64MB'", 'SET min_parallel_table_scan_size = 0', 'REINDEX TABLE two' ],
	sub { is(progress(q{relation, phase, wal_bytes_expected > 1000000}), 'public.two_w|load|t', 'runs of another scan') });
like(slurp_file($node->logfile), qr/building index "two_w": 3 participants.*, from the scan for "two_a"/, 'there was no other scan');

# Other roles, other databases
$node->safe_psql('postgres', 'ALTER TABLE t OWNER TO builder');
at_point(
	'build: before load', 1,
	[ 'SET SESSION AUTHORIZATION builder', 'CREATE INDEX t_b ON t (a)' ],
	sub {
		my $all = q{datname, relation, phase, percent > 0};
		is(progress($all, role => 'stranger'), 'postgres|||', 'another role sees no details');
		is(progress(q{jsonb_strip_nulls(to_jsonb(ptsort_progress)) - 'pid'}, role => 'stranger'), '{"datname": "postgres"}', 'only the first two columns');
		is(progress($all, role => 'reader'), 'postgres|public.t_b|load|t', 'pg_read_all_stats');
		is(progress($all, database => 'other'), 'postgres|public.t_b|load|t', 'another database');
		is(progress($all, database => 'other', role => 'stranger'), 'postgres|||', 'another role in another database');
	});
$node->safe_psql('postgres', 'ALTER TABLE t OWNER TO postgres; DROP INDEX t_b');

# Limits
{
	my $session = start_psql($node, "SET ptsort.max_wal_rate = '10kB'", 'SET ptsort.parallel_workers = 1', 'CREATE INDEX t_c ON t (a)', 'SELECT 42');
	$node->poll_query_until('postgres', q{SELECT waiting_for = 'max_wal_rate' AND paused_ms > 0 AND participants = 2 FROM ptsort_progress()}) or fail('no pause');
	is(progress(q{seconds_left BETWEEN 100 AND 300}), 't', 'the limit decides the time');
	is(progress(q{ptsort_set_limits(pid, max_wal_rate => '1MB')}), 't', 'change');
	is(progress(q{seconds_left < 10}), 't', 'another limit, another time');
	is(progress(q{ptsort_set_limits(pid, max_wal_rate => '0')}), 't', 'no limit');
	$session->{run}->finish;
	is($session->{out}, "42\n", 'the build ends');
}

# The leader may look at its own work.
is($node->safe_psql('postgres', q{
CREATE TABLE seen (phase text);
CREATE FUNCTION looks(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN RETURN (SELECT count(*) FROM public.ptsort_progress() WHERE phase = 'scan' AND pid = pg_backend_pid()); END $$;
CREATE TABLE few AS SELECT g AS a FROM generate_series(1, 100) g;
CREATE INDEX few_a ON few (looks(a));
SET enable_seqscan = off;
SELECT count(*) FROM few WHERE looks(a) = 1;
}), 100, 'the leader sees itself');

# A check by a function of the index's expression is nested in the build.  (It
# passes points of a build, but writes no pages.)
at_point('pagewrite: log', 3, [ q{CREATE FUNCTION checks(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	$$ BEGIN IF $1 IN (1, 100000) THEN PERFORM public.ptsort_check('public.few_a', heap => true); END IF; RETURN $1; END $$},
	'CREATE INDEX t_checks ON t (checks(a))' ],
	sub { is(progress('relation, participants'), 'public.t_checks|3', 'a check in a function changes nothing') });

# Several builds at a time, and without pg_stat_activity
{
	my $pause = pause_points($node);
	my @sessions = map { start_psql($node, "SET track_activities = " . ($_ < 3 ? 'on' : 'off'), "SET ptsort_test.fault = 'build: before load:1:pause'", 'SET ptsort.parallel_workers = 0', "CREATE INDEX CONCURRENTLY many_$_ ON " . ($_ == 1 ? 't' : $_ == 2 ? 'two' : '"Ordered"') . ' (a)') } 1 .. 3;
	$node->poll_query_until('postgres', q{SELECT count(*) = 2 FROM ptsort_progress() WHERE phase = 'load'}) or fail('no builds');
	is(progress(q{string_agg(relation, ' ' ORDER BY relation)}), 'public.many_1 public.many_2', 'a row for each build');
	end_session($pause);
	$_->{run}->finish foreach @sessions;
}
check_nothing_left($node, 'all', $segments);

# A crash
{
	my $pause = pause_points($node);
	my $session = start_psql($node, "SET ptsort_test.fault = 'build: before load:1:pause'", 'SET ptsort.parallel_workers = 1', 'CREATE INDEX t_d ON t (a)');
	wait_for_point($node, 'build: before load', 2);
	kill 'KILL', progress('pid');
	$session->{run}->finish;
	$pause->quit;
	wait_until_back($node);
	is(progress('*'), '', 'after a crash: no row');
	$node->safe_psql('postgres', 'CREATE INDEX t_d ON t (a)');
}
$node->stop;
done_testing();
