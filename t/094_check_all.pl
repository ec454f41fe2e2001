# ptsort_check_all() and ptsort_check_indexes() beside other sessions: several
# indexes at a time; indexes that are dropped or become invalid meanwhile, or are
# newer than the snapshot; errors, cancel requests and the end of workers; roles
# that may maintain a table.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# ptsort_test.all_workers would give each index workers of its own
my $node = new_node('main', conf => "ptsort_test.all_workers = off\n");
$node->safe_psql(
	'postgres', q{
DO $$
BEGIN
	FOR i IN 1..30 LOOP
		EXECUTE format('CREATE TABLE t_%1$s AS SELECT g AS a, md5(g::text) AS word FROM generate_series(1, 50 * %1$s) g', i);
		EXECUTE format('CREATE UNIQUE INDEX t_%1$s_a ON t_%1$s (a)', i);
		EXECUTE format('CREATE INDEX t_%1$s_word ON t_%1$s (word)', i);
	END LOOP;
END $$;
});
my $segments = dsm_segments($node);
my $all = q{SELECT count(problems), sum(problems), count(*) FILTER (WHERE problems IS NULL)
	FROM ptsort_check_all(true, workers => 2) WHERE index::text LIKE 't\_%'};
is($node->safe_psql('postgres', $all), '60|0|0', 'all indexes, by three processes');
check_nothing_left($node, 'no error', $segments);

# Each process passes the first point once for the team, then once for each
# index.
my $scan = 'build: before scan';

# Starts a check of all indexes whose processes all pause in the check of their
# first index.
sub start_paused
{
	my ($pause) = @_;
	my $session = start_psql($node, "SET ptsort_test.fault = '$scan:2:pause'", $all, 'SELECT 42');
	wait_for_point($node, $scan, 3) or fail('no three processes at the point');
	return $session;
}

{
	my $pause = pause_points($node);
	my $session = start_paused($pause);
	is($node->safe_psql('postgres', q{
SELECT count(*), count(DISTINCT index_relid), count(*) FILTER (WHERE backend_type = 'parallel worker')
FROM pg_stat_progress_create_index JOIN pg_stat_activity USING (pid)}), '3|3|2', 'three processes check three indexes at a time');
	end_session($pause);
	$session->{run}->finish;
	is($session->{out}, "60|0|0\n42\n", 'and the check ends');
	is($session->{err}, '', 'without a message');
}

foreach my $signal ('pg_cancel_backend', 'pg_terminate_backend')
{
	my $who = $signal eq 'pg_cancel_backend' ? 'client backend' : 'parallel worker';
	my $pause = pause_points($node);
	my $session = start_paused($pause);
	$node->safe_psql('postgres', "SELECT $signal(pid) FROM pg_stat_activity WHERE backend_type = '$who' AND application_name = 'at $scan' LIMIT 1");
	$session->{run}->finish if $who eq 'client backend';
	end_session($pause);
	$session->{run}->finish if $who ne 'client backend';
	is($session->{out}, "42\n", "$signal: no result, but no subtransaction is left");
	like($session->{err}, $who eq 'client backend' ? qr/^ERROR:  57014: / : qr/^ERROR:  57P01: /m, $signal);
	check_nothing_left($node, $signal, $segments);
	is($node->safe_psql('postgres', $all), '60|0|0', "$signal: and the next check");
}

# An error ends a team.  The check that raised it is repeated alone, and the
# others by a new team.
foreach my $where ('leader', 'worker')
{
	foreach my $nth (2, 5)
	{
		my ($out, $err) = try_sql($node, "SET ptsort_test.fault = '$scan:$nth:error:$where'; $all");
		is($out, '60|0|0', "error of a $where in its check number $nth: all indexes have a result");
		is(error_of($err), '', 'and there is no error');
		check_nothing_left($node, "error of a $where", $segments);
	}
}

# Errors at points that are not part of the check of an index
foreach my $point ('build: before launch', 'build: worker start')
{
	my ($out, $err) = try_sql($node, "SET ptsort_test.leader_participates = off; SET ptsort_test.fault = '$point:1:error'; $all");
	is($out, '', "error at '$point': no result");
	like(error_of($err), qr/^ERROR:  XX000: injected error at "$point"/m, "error at '$point'");
	check_nothing_left($node, "error at '$point'", $segments);
}
is($node->safe_psql('postgres', "SET max_parallel_workers = 0; $all"), '60|0|0', 'no free workers');

# The leader pauses in the check of the first index.  Then it checks the other
# indexes, which changed.
{
	my $pause = pause_points($node);
	my $session = start_psql($node, "SET ptsort_test.fault = '$scan:2:pause'",
		q{SELECT index, problems, details FROM ptsort_check_all(true, workers => 0)
			WHERE index IN (SELECT indexrelid FROM pg_index WHERE indrelid IN ('t_1'::regclass, 't_2'::regclass, 't_3'::regclass, 't_4'::regclass))
				OR problems IS NULL ORDER BY problems, details::text COLLATE "C", index::text});
	wait_for_point($node, $scan) or fail('no pause');
	my $oid = $node->safe_psql('postgres', q{SELECT 't_1_a'::regclass::oid});
	my $other = $node->safe_psql('postgres', q{SELECT 't_2_a'::regclass::oid});
	$node->safe_psql('postgres', q{
DROP INDEX t_1_a;
DROP TABLE t_2;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_3_a'::regclass;
UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = 't_4_a'::regclass;
});
	end_session($pause);
	$session->{run}->finish;
	is($session->{err}, '', 'changes meanwhile: no error');
	like($session->{out}, qr/^t_1_word\|0\|\{\}$/m, 'an index that did not change');
	like($session->{out}, qr/^$_\|\|\{"not checked: the index does not exist any more"\}$/m, 'a dropped index') foreach $oid, $other;
	like($session->{out}, qr/^t_3_a\|\|\{"not checked: the index is not valid"\}$/m, 'an index that became invalid');
	like($session->{out}, qr/^t_4_a\|\|\{"not checked: the index is newer than the transaction's snapshot"\}$/m, 'an index that is newer than the snapshot');
	is($node->safe_psql('postgres', $all), '56|0|1', 'the next statement leaves out what does not exist, and names the invalid index');
	$node->safe_psql('postgres', q{UPDATE pg_index SET indisvalid = true WHERE indexrelid = 't_3_a'::regclass});
}

# A lock
{
	my $locker = $node->background_psql('postgres');
	$locker->query_safe('BEGIN; LOCK t_5');
	my ($out, $err) = try_sql($node, q{SET lock_timeout = '10ms'; SELECT count(problems), string_agg(details::text, ' ') FILTER (WHERE problems IS NULL)
	FROM ptsort_check_all(workers => 2) WHERE index::text LIKE 't\_%'});
	is($out, '55|{"not checked: canceling statement due to lock timeout"} {"not checked: canceling statement due to lock timeout"}', 'a locked table');
	end_session($locker);
}

# Roles
{
	my $count = q{SELECT count(index) FROM ptsort_check_all(workers => 1)};
	$node->safe_psql('postgres', 'CREATE ROLE owner; CREATE ROLE member IN ROLE owner; CREATE ROLE other; CREATE ROLE maintainer; ALTER TABLE t_10 OWNER TO owner');
	is($node->safe_psql('postgres', "SET ROLE $_; $count"), $_ eq 'other' ? 0 : 3, "role $_") foreach 'owner', 'member', 'other';
	if (server_major() >= 17)
	{
		$node->safe_psql('postgres', 'GRANT MAINTAIN ON t_11 TO other; GRANT pg_maintain TO maintainer');
		is($node->safe_psql('postgres', "SET ROLE other; $count"), 2, 'the privilege MAINTAIN');
		is($node->safe_psql('postgres', "SET ROLE other; SELECT problems FROM ptsort_check('t_11_a')"), 0, 'as ptsort_check()');
		is($node->safe_psql('postgres', "SET ROLE maintainer; $count"), $node->safe_psql('postgres', $count), 'the role pg_maintain');
	}
}
check_nothing_left($node, 'the end', $segments);
$node->stop;
done_testing();
