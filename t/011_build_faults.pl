# Builds that fail because a worker exits or crashes, a session cancels or ends
# a process, a timeout ends the build, or a user makes a mistake.  The message
# is the server's own, the same session then builds the index, and no worker,
# temporary file or segment of shared memory is left.  018_fault_matrix.pl
# tests the faults at every point.
#
# Its log may have: background worker "parallel worker" \(PID [0-9]+\) was terminated by signal 9
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
ptsort.parallel_workers = 2
ptsort_test.spill_entries = 2000
maintenance_work_mem = '3MB'
restart_after_crash = on
});
$node->safe_psql(
	'postgres', q{
CREATE TABLE t AS SELECT i AS id, md5(i::text) AS word FROM generate_series(1, 20000) i;
VACUUM ANALYZE t;
CREATE FUNCTION big(int) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql
	AS $$SELECT CASE WHEN $1 = 15432 THEN (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 5000) i) ELSE '' END$$;
CREATE FUNCTION fails(int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE sql
	AS $$SELECT 1 / ($1 - 15432)$$;
});

# The number of segments while a session that built an index exists, and the
# number without sessions.
my $create = 'CREATE INDEX i ON t (word)';
$node->safe_psql('postgres', "$create; DROP INDEX i");
my $segments = dsm_segments($node);

# Runs a statement that fails, then a build in the same session.  Looks for
# leftovers while that session still exists.
sub fails_then_builds
{
	my ($name, $setup, $statement, $expected) = @_;
	my $end = log_end($node);
	my ($out, $err) = try_sql(
		$node, qq{
$setup;
$statement;
RESET ALL;
SELECT 'files: ' || count(*) FROM pg_ls_tmpdir();
$create;
SELECT bt_index_parent_check('i', true, true);
DROP INDEX i;
});
	my $error = error_of($err);

	if (ref $expected)
	{
		like($error, $expected, "$name: error");
	}
	else
	{
		is($error, $expected, "$name: error");
	}
	like($out, qr/^files: 0$/m, "$name: no file after the error");
	my @builds = builds_since($node, $end);
	# (ptsort logs the start of a build after it launches the workers)
	like($builds[0], qr/: unended$/, "$name: failed in a build of ours");
	is($builds[-1], 'i: 3', "$name: the same session builds");
	check_nothing_left($node, $name, $segments);
}

# Returns settings for a fault in a worker.  The leader does not participate,
# because it could do all the work before the worker starts.
sub fault
{
	my ($point, $action) = @_;
	return 'SET ptsort_test.leader_participates = off;'
	  . "SET ptsort_test.fault = '$point:1:$action:worker'";
}

# Points that only workers pass
foreach my $point ('build: worker start', 'build: after scan', 'shared: announce')
{
	fails_then_builds("exit of a worker at \"$point\"",
		fault($point, 'fatal'),
		$create, qq{ERROR:  XX000: injected exit at "$point"});
}

# Timeouts at various points of the leader
foreach my $fault (
	'build: after scan:1:timeout:leader, build: after scan:1:sleep:leader',
	'build: before load:1:timeout:leader, build: before load:1:sleep:leader',
	'shared: wait:1:timeout:leader, build: after scan:1:sleep:worker')
{
	fails_then_builds("timeout ($fault)", "SET ptsort_test.fault = '$fault'",
		$create, 'ERROR:  57014: canceling statement due to statement timeout');
}

# Ends or cancels a worker or the leader, from another session
sub disturb
{
	my ($function, $what, $setup, $point, $sleepers) = @_;
	$setup //= fault('build: after scan', 'sleep');
	my $psql = start_psql($node, $setup, $create);
	wait_for_point($node, $point // 'build: after scan', $sleepers // 2) or return 'no process sleeps';
	$node->safe_psql('postgres', qq{
SELECT $function(pid) FROM pg_stat_activity
WHERE backend_type = '$what' AND query = '$create' AND pid <> pg_backend_pid() LIMIT 1});
	$psql->{run}->finish;
	check_nothing_left($node, "$function on a $what", $segments);
	return error_of($psql->{err});
}
is(disturb('pg_terminate_backend', 'parallel worker'),
	'ERROR:  57P01: terminating background worker "parallel worker" due to administrator command',
	'a terminated worker ends the build');
is(disturb('pg_cancel_backend', 'parallel worker'),
	'ERROR:  57014: canceling statement due to user request',
	'a cancelled worker ends the build');
is(disturb('pg_cancel_backend', 'client backend'),
	'ERROR:  57014: canceling statement due to user request',
	'a cancelled leader ends the build');
is( disturb('pg_cancel_backend', 'client backend',
		'SET ptsort_test.leader_participates = on; '
		  . "SET ptsort_test.fault = 'shared: publish learned:1:sleep:any'",
		'shared: publish learned', 1),
	'ERROR:  57014: canceling statement due to user request',
	'a cancelled leader ends the learning');
is(disturb('pg_terminate_backend', 'client backend') =~ s/\nserver.*//sr,
	'FATAL:  57P01: terminating connection due to administrator command',
	'a terminated leader ends the build');

# Workers that start after the team's end: none reports that something is gone.
{
	my $end = log_end($node);
	my $psql = start_psql($node, "SET ptsort_test.fault = 'build: worker start:1:deaf:worker, build: before scan:1:sleep:leader'", $create);
	ok(wait_for_point($node, 'build: worker start', 2) && wait_for_point($node, 'build: before scan'), 'late workers: all processes wait');
	$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'at build: before scan'});
	$psql->{run}->finish;
	is(join("\n", slurp_file($node->logfile, $end) =~ /(ERROR:  .*)/g), 'ERROR:  canceling statement due to user request', "late workers: only the leader's error is in the log");
	check_nothing_left($node, 'late workers', $segments);
}

# Users' mistakes: the error equals that of the server's build
sub same_error
{
	my ($name, $prepare, $statement) = @_;
	$node->safe_psql('postgres', $prepare);
	my (undef, $err) = try_sql($node, "SET ptsort.enable = off; $statement");
	my $expected = error_of($err);
	like($expected, qr/ERROR:  /, "$name: the server has an error");
	foreach my $setup (
		'SET ptsort.parallel_workers = 0',
		'SET ptsort.parallel_workers = 2',
		'SET ptsort.parallel_workers = 2; SET ptsort_test.leader_participates = off',
		"SET ptsort.parallel_workers = 2; SET maintenance_work_mem = '64MB'")
	{
		fails_then_builds("$name ($setup)", $setup, $statement, $expected);
	}
}

# one participant sees duplicates in one page; a merge sees duplicates far from
# each other
same_error(
	'duplicates in one page',
	'INSERT INTO t VALUES (20000, md5(random()::text))',
	'CREATE UNIQUE INDEX u ON t (id)');
same_error(
	'duplicates far from each other',
	"DELETE FROM t WHERE ctid = (SELECT max(ctid) FROM t); UPDATE t SET word = (SELECT word FROM t WHERE id = 20000) WHERE id = 1; VACUUM t",
	'CREATE UNIQUE INDEX u ON t (word, (1))');
same_error('too large', 'VACUUM ANALYZE t', 'CREATE INDEX u ON t (big(id))');
same_error('error in an expression', 'VACUUM ANALYZE t', 'CREATE INDEX u ON t (fails(id))');

# A worker crashes: the server ends all sessions, recovers, and works again.
my (undef, $err) = try_sql($node,
	fault('build: after sort', 'kill') . "; $create");
like($err, qr/terminating connection because of crash|server closed the connection/,
	'crash of a worker');
wait_until_back($node);
check_nothing_left($node, 'crash of a worker');
is( $node->safe_psql(
		'postgres',
		"$create; SELECT bt_index_parent_check('i', true, true); SELECT count(*) FROM ptsort_last_build()"
	),
	"\n4",
	'crash of a worker: the index is built after it');

$node->stop;
done_testing();
