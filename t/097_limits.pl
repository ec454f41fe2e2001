# Limits of builds and copies: the rates of WAL and I/O, the lag of replicas.
# Processes pause without a lock that a checkpoint or a writer needs; a pause ends
# with a cancel request, or when another session changes the limit.
#
# Depends on the version: wait events, WAL senders, streams of pages
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $event = server_major() >= 17 ? 'PtsortPause' : 'Extension';
my $node = new_node('primary', init => { allows_streaming => 1 },
	conf => "maintenance_work_mem = '4MB'\nwal_level = logical\nptsort.max_wal_rate = 0\nmax_wal_size = '1GB'\n");
$node->safe_psql(
	'postgres', q{
CREATE TABLE t AS SELECT g AS a, md5(g::text) AS word FROM generate_series(1, 200000) g;
CREATE TABLE ordered AS SELECT hashint4(a) AS a, word FROM t;
CREATE INDEX ordered_a ON ordered (a);
CREATE TABLE other (a int);
});
my $segments = dsm_segments($node);

# Waits until $n processes pause; returns the pid of the leader.
sub wait_for_pause
{
	my ($n) = @_;
	$node->poll_query_until('postgres', "SELECT count(*) >= $n FROM pg_stat_activity WHERE wait_event = '$event'")
	  or fail('no pause');
	return $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND query ~ '(CREATE|REINDEX|CLUSTER|VACUUM FULL)' LIMIT 1");
}

my $report = q{SELECT count(*), sum(wal_bytes), max(merge_load_ms), max(scan_ms), max(paused_ms) FROM ptsort_last_build() WHERE participant IS NOT NULL};

# No work is faster than its limit, except for the tenth of a second that it may
# make up for.
foreach my $workers (0, 1, 3)
{
	my ($n, $bytes, $load, $scan, $paused) = split /\|/, $node->safe_psql('postgres', qq{
SET ptsort.parallel_workers = $workers; SET ptsort.max_wal_rate = '10MB';
CREATE INDEX t_a ON t (a, word); DROP INDEX t_a; $report});
	is($n, 1 + $workers, "max_wal_rate, $workers workers");
	# a few pages are written after the load
	my $least = 0.97 * 1000 * $bytes / 10 / 1024 / 1024 - 110;
	cmp_ok($load, '>=', $least, sprintf('the load takes at least %d ms', $least));
	cmp_ok($paused, '>', 0, 'there were pauses');
	note(sprintf('== %d participants: %.2f MB/s', $n, $bytes / 1024 / 1024 / $load * 1000));
}
is($node->safe_psql('postgres', "CREATE INDEX t_a ON t (a); DROP INDEX t_a; $report") =~ /\|0$/, 1, 'no limit: no pause');
check_nothing_left($node, 'rates', $segments);

# Reads: nothing of the table is in buffers.
$node->restart;
foreach my $sql ('CREATE INDEX t_a ON t (a)', 'CREATE INDEX CONCURRENTLY t_c ON t (a)')
{
	$node->restart;
	my $bytes = $node->safe_psql('postgres', q{SELECT pg_relation_size('t')});
	my $start = time;
	my (undef, undef, undef, $scan, $paused) = split /\|/, $node->safe_psql('postgres', "SET ptsort.parallel_workers = 2; SET ptsort.max_io_rate = '10MB'; $sql; $report");
	cmp_ok(1000 * (time - $start), '>=', 1000 * $bytes / 10 / 1024 / 1024 - 110, "max_io_rate: $sql");
	cmp_ok($paused, '>', 0, 'there were pauses');
}
$node->safe_psql('postgres', 'DROP INDEX t_a, t_c');

# During a pause, other sessions go on.  A cancel request ends the pause.
sub start_slow
{
	my ($sql, $limit) = @_;
	$limit //= "SET ptsort.max_wal_rate = '10kB'";
	return start_psql($node, 'SET ptsort.parallel_workers = 2', $limit, $sql, 'SELECT 42');
}
foreach my $sql ('CREATE INDEX t_a ON t (word, a)', 'CREATE INDEX CONCURRENTLY t_a ON t (word, a)', 'REINDEX INDEX CONCURRENTLY ordered_a', 'CLUSTER ordered USING ordered_a', 'VACUUM FULL ordered')
{
	my $slow = start_slow($sql);
	# in a copy, a participant waits until those before it extended the file
	my $pid = wait_for_pause($sql =~ /CLUSTER|VACUUM/ ? 1 : 3);
	$node->safe_psql('postgres', "SET statement_timeout = '60s'; INSERT INTO other SELECT generate_series(1, 1000); CHECKPOINT; VACUUM other");
	my $start = time;
	is($node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)"), 't', "$sql: cancel");
	$slow->{run}->finish;
	note(sprintf('== cancel: %d ms', 1000 * (time - $start)));
	is(error_of($slow->{err}), 'ERROR:  57014: canceling statement due to user request', 'the error');
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS t_a, ordered_a_ccnew');
	check_nothing_left($node, $sql, $segments);
}

# A superuser changes the limit of another role's build; others do not.
$node->safe_psql('postgres', 'CREATE ROLE builder LOGIN; CREATE ROLE stranger LOGIN; GRANT CREATE ON SCHEMA public TO builder; ALTER TABLE t OWNER TO builder');
foreach my $who ('postgres', 'builder')
{
	my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
	my $slow = start_psql($node, 'SET SESSION AUTHORIZATION builder', 'SET ptsort.parallel_workers = 2', "SET ptsort.max_wal_rate = '10kB'",
		'CREATE INDEX t_a ON t (word, a)', $report);
	my $pid = wait_for_pause(3);
	my $role = $who eq 'postgres' ? $superuser : $who;
	is($node->safe_psql('postgres', "SET SESSION AUTHORIZATION stranger; SELECT ptsort_set_limits($pid, '0')"), 'f', 'a stranger changes nothing');
	is($node->safe_psql('postgres', qq{SET SESSION AUTHORIZATION "$role"; SELECT ptsort_set_limits($pid, max_wal_rate => '0')}), 't', "$who lifts the limit");
	$slow->{run}->finish;
	is(error_of($slow->{err}), '', 'the build ends');
	like($slow->{out}, qr/^3\|\d+\|/, 'by its three participants');
	is($node->safe_psql('postgres', "SELECT ptsort_set_limits($pid, '0')"), 'f', 'after the end, there is nothing to change');
	$node->safe_psql('postgres', 'DROP INDEX t_a');
}
is($node->safe_psql('postgres', 'SELECT ptsort_set_limits(pg_backend_pid()), ptsort_set_limits(1), ptsort_set_limits(NULL)'), 'f|f|', 'no build');
my ($out, $err) = try_sql($node, q{SELECT ptsort_set_limits(1, 'fast'); SELECT ptsort_set_limits(1, max_io_rate => '-1'); SELECT ptsort_set_limits(1, max_replica_lag => '1 mile')});
is(error_of($err), q{ERROR:  22023: invalid value for parameter "max_wal_rate": "fast"
ERROR:  22023: -1 kB is outside the valid range for parameter "max_io_rate" (0 kB .. 2147483647 kB)
ERROR:  22023: invalid value for parameter "max_replica_lag": "1 mile"
HINT:  Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".}, 'values that are no limits');
($out, $err) = try_sql($node, q{SET ptsort.lag_replicas = 'a b'});
is(error_of($err), qq{ERROR:  22023: invalid value for parameter "ptsort.lag_replicas": "a b"\nDETAIL:  List syntax is invalid.}, 'no list of names');

# Copies, and builds that a limit reaches after their start
foreach my $copy ('CLUSTER ordered USING ordered_a', 'VACUUM FULL ordered')
{
	my $limited = "SET ptsort.parallel_workers = 2; SET ptsort.max_wal_rate = '20MB'; $copy; SELECT max(paused_ms) > 0 FROM ptsort_last_copy()";
	is($node->safe_psql('postgres', $limited), 't', "a copy pauses: $copy");

	# an older snapshot sees the old versions of rows: the server's functions write
	my $reader = $node->background_psql('postgres');
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM other');
	$node->safe_psql('postgres', 'UPDATE ordered SET a = a WHERE a % 100 = 0');
	my $log = log_end($node);
	is($node->safe_psql('postgres', $limited), 't', "a copy by the server's functions pauses");
	like(slurp_file($node->logfile, $log), qr/copied table "ordered": .* the server's functions/, 'it was one');
	end_session($reader);
}
{
	my $slow = start_slow('CREATE INDEX t_a ON t (word, a)', "SET ptsort.max_wal_rate = '200kB'");
	my $pid = wait_for_pause(3);
	is($node->safe_psql('postgres', "SELECT ptsort_set_limits($pid, max_wal_rate => '1TB', max_io_rate => '1TB')"), 't', 'limits for a running build');
	$slow->{run}->finish;
	is($slow->{out}, "42\n", 'it ends');
	$node->safe_psql('postgres', 'DROP INDEX t_a');
}
# A participant that read the old rate neither waits for it nor lets others wait.
{
	my $pause = pause_points($node);
	my $slow = start_slow('CREATE INDEX t_a ON t (word, a)', "SET ptsort.max_io_rate = '1kB'; SET ptsort_test.fault = 'throttle: charge:1:pause'");
	wait_for_point($node, 'throttle: charge') or fail('no charge');
	is($node->safe_psql('postgres', q{SELECT ptsort_set_limits(pid, max_io_rate => '1TB') FROM ptsort_progress()}), 't', 'a change in the instant of a charge');
	end_session($pause);
	$node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM ptsort_progress()') or fail('the build waits for the old rate');
	$slow->{run}->finish;
	is($slow->{out}, "42\n", 'the build ends');
	$node->safe_psql('postgres', 'DROP INDEX t_a');
}
check_nothing_left($node, 'changes', $segments);

# Returns the warnings in psql's output, and compares their number with the log's.
sub warnings_of
{
	my ($slow, $end) = @_;
	my @warnings = $slow->{err} =~ /^(?:WARNING|DETAIL|HINT):  (?:01000: )?(.*)/mg;
	my @logged = slurp_file($node->logfile, $end) =~ /WARNING:  .* waits for limit/g;
	is(scalar(@logged), scalar(grep { /waits for limit/ } @warnings), 'the log has the warning once, too');
	return join('|', @warnings) =~ s/process \d+/process PID/r;
}
my $warn = 'SET ptsort_test.warn_after_ms = 0';
my $warning = 'build or copy of public.t_a waits for limit "%s"|%sCancel process PID, or change its limit with ptsort_set_limits() in another session.';

{
	my $end = log_end($node);
	my $slow = start_slow('CREATE INDEX t_a ON t (word, a)', "SET ptsort.max_wal_rate = '5MB'; $warn");
	$slow->{run}->finish;
	is(warnings_of($slow, $end), sprintf($warning, 'max_wal_rate', ''), 'a warning of long pauses');
	$node->safe_psql('postgres', 'DROP INDEX t_a');
}

# Replicas.  A replica that replays nothing stops the build, not far behind the
# limit; the batch of each participant may be on the way.
$node->backup('b');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'b', has_streaming => 1);
$replica->start;
$node->wait_for_catchup($replica);
my $lag = q{SELECT max(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), replay_lsn)) FROM pg_stat_replication};

# Starts a build that must wait, with settings, until a function lets it go on.
sub waits_for
{
	my ($name, $settings, $seen, $let_go) = @_;
	my $end = log_end($node);
	my $slow = start_slow('CREATE INDEX t_a ON t (word, a)', "SET ptsort.max_replica_lag = '1MB'; $settings");
	$node->poll_query_until('postgres', qq{SELECT coalesce(waiting_for ~ '^max_replica_lag: $seen\$', false) FROM ptsort_progress()})
	  or fail("$name: waits for: " . $node->safe_psql('postgres', 'SELECT waiting_for FROM ptsort_progress()'));
	$let_go->();
	$slow->{run}->finish;
	is($slow->{out}, "42\n", "$name: then the build ends");
	is(error_of($slow->{err} =~ s/^WARNING.*\n(?:(?:DETAIL|HINT|LOCATION).*\n)*//mgr), '', "$name: without an error");
	$node->safe_psql('postgres', 'DROP INDEX t_a');
	return warnings_of($slow, $end);
}
my $behind = 'replica "replica" is [0-9]+ kB behind';
foreach my $names ('', 'replica')
{
	$node->wait_for_catchup($replica);
	$replica->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	is(waits_for("replicas \"$names\"", "SET ptsort.lag_replicas = '$names'", $behind, sub {
		my $bytes = 0;
		# the others may be in their last batch
		foreach my $try (1 .. 10)
		{
			$bytes = $node->safe_psql('postgres', "SELECT pg_sleep(0.05); $lag") =~ s/\s//r;
		}
		cmp_ok($bytes, '>', 1024 * 1024, "replicas \"$names\": it is behind");
		cmp_ok($bytes, '<', 1024 * 1024 + 3 * 300 * 1024, 'by the limit and a batch of each participant, at most');
		$replica->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	}), '', 'no warning within a minute');
}

# Programs that receive WAL, as physical and as logical replicas
my %received = (out => '', err => '');
sub receive
{
	my ($name, @command) = @_;
	$received{run} = IPC::Run::start([ @command, '-d', $node->connstr('postgres') . " application_name=$name" ], '<', \undef, '>', \$received{out}, '2>', \$received{err});
	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_replication WHERE application_name = '$name' AND flush_lsn IS NOT NULL") or fail("no $name: $received{err}");
}

# Two replicas of one name: one keeps up.
my $archive = PostgreSQL::Test::Utils::tempdir();
receive('replica', 'pg_receivewal', '--synchronous', '-D', $archive);
$replica->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
like(waits_for('two of one name', "SET ptsort.lag_replicas = 'replica'; $warn", $behind, sub { $replica->safe_psql('postgres', 'SELECT pg_wal_replay_resume()') }),
	qr/^build or copy of public.t_a waits for limit "max_replica_lag"\|The replica "replica" is \d+ kB behind.\|Cancel/, 'a warning names the replica');
$received{run}->kill_kill;

# A logical subscriber counts if it is named (before 16, always).
$node->safe_psql('postgres', q{CREATE PUBLICATION p FOR TABLE other; SELECT pg_create_logical_replication_slot('s', 'pgoutput')});
receive('subscriber', 'pg_recvlogical', '--start', '-S', 's', '-o', 'proto_version=1', '-o', 'publication_names=p', '-F', '1', '-s', '1', '-f', "$archive/out");
my $sender = q{SELECT pid FROM pg_stat_replication WHERE application_name = 'subscriber'};
is($node->safe_psql('postgres', q{SET ptsort.max_replica_lag = '1GB'; SET ptsort.lag_replicas = 'subscriber'; CREATE INDEX t_b ON t (word, a); DROP INDEX t_b; SELECT 42}), 42, 'a logical subscriber that keeps up');
kill 'STOP', $received{run}->{KIDS}[0]{PID};
waits_for('a logical subscriber', "SET ptsort.lag_replicas = 'Subscriber'", 'replica "subscriber" is [0-9]+ kB behind', sub {
	$node->safe_psql('postgres', q{SELECT ptsort_set_limits(pid, max_replica_lag => '1GB') FROM ptsort_progress()});
	kill 'CONT', $received{run}->{KIDS}[0]{PID};
});
if (server_major() >= 16)
{
	kill 'STOP', $received{run}->{KIDS}[0]{PID};
	is($node->safe_psql('postgres', q{SET ptsort.max_replica_lag = '1MB'; CREATE INDEX t_b ON t (word, a); DROP INDEX t_b; SELECT 42}), 42, 'without a name, it does not count');
	kill 'CONT', $received{run}->{KIDS}[0]{PID};
}
$received{run}->kill_kill;
$node->poll_query_until('postgres', q{SELECT count(pg_drop_replication_slot(slot_name)) = 0 FROM pg_replication_slots WHERE NOT active}) or fail('the slot remains');

# A named replica that is not connected is too far behind, and a warning at the
# begin says so; one without a name does not count.
{
	my $let_go = sub { is($node->safe_psql('postgres', q{SELECT ptsort_set_limits(pid, max_replica_lag => '0') FROM ptsort_progress()}), 't', 'a replica is missing: lift the limit') };
	is(waits_for('a missing replica', q{SET ptsort.lag_replicas = 'replica, "Another One"'}, 'replica "Another One" is not connected', $let_go),
		sprintf($warning, 'max_replica_lag', 'The replica "Another One" is not connected.|'), 'a warning at once');
	$node->wait_for_catchup($replica);
	$replica->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$replica->stop('immediate');
	is($node->safe_psql('postgres', q{SET ptsort.max_replica_lag = '1MB'; CREATE INDEX t_b ON t (word, a); SELECT 42}), 42, 'no connected replica: no pause');
}
check_nothing_left($node, 'replicas', $segments);
$node->stop;
done_testing();
