# Sorts by ptsort_parallel() for other extensions fail in every phase: a worker
# exits or crashes, a process raises an error, a session cancels the sort, or a
# timeout ends the sort.  The same session can then sort, and no worker,
# temporary file or segment of shared memory is left.
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
session_preload_libraries = 'ptsort, ptsort_test'
ptsort_test.spill_entries = 2000
restart_after_crash = on
});
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION ptsort_test;
CREATE TABLE t AS SELECT md5(i::text) COLLATE "en_US.utf8" AS w, 'row ' || i AS pad FROM generate_series(1, 20000) i;
VACUUM ANALYZE t;
CREATE FUNCTION expected() RETURNS text LANGUAGE sql
	AS $$SELECT md5(string_agg(hashtext(w)::text, ' ' ORDER BY w)) FROM t$$;
});

# Returns the SQL of a sort, whose result comes as a stream or in slices.  The
# query returns the number of participants, and whether the order is right.
sub sort_sql
{
	my ($how) = @_;
	return q{SELECT 'participants: ' || participants || CASE WHEN digest = expected() THEN ', right' ELSE ', WRONG' END}
	  . qq{ FROM ptsort_test_parallel('t', '{w}', '{"<(text,text)"}', reads => 20000, $how)};
}
my %ways = (
	stream => 'slices => false',
	slices => 'slices => true');
my $sort = sort_sql($ways{stream});

is($node->safe_psql('postgres', sort_sql($ways{$_})), 'participants: 3, right', "$_: undisturbed")
  foreach sort keys %ways;
my $segments = dsm_segments($node);

# Runs a sort that fails, and then another sort in the same session.
sub fails_then_sorts
{
	my ($name, $setup, $statement, $expected) = @_;
	my ($out, $err) = try_sql(
		$node, qq{
$setup;
$statement;
RESET ALL;
SELECT 'files: ' || count(*) FROM pg_ls_tmpdir();
$sort;
});

	like(error_of($err), $expected, "$name: error");
	is($out, "files: 0\nparticipants: 3, right", "$name: no file after the error, and the same session sorts");
	check_nothing_left($node, $name, $segments);
}

# A fault in the leader or in a worker.  A worker first passes "merge: begin"
# for a slice that it reads, because it does not merge its own runs.
foreach my $way (sort keys %ways)
{
	my $statement = sort_sql($ways{$way});
	my @plan = $way eq 'slices' ? 'slices: plan' : ();

	foreach my $point ('build: worker start', 'build: before scan', 'build: after sort', 'shared: announce', 'build: worker end')
	{
		fails_then_sorts("$way: exit of a worker at \"$point\"",
			"SET ptsort_test.fault = '$point:1:fatal:worker'",
			$statement, qr/^ERROR:  XX000: injected exit at "$point"/m);
	}
	foreach my $point ('build: before launch', 'build: after sort', 'shared: wait', @plan, 'merge: begin')
	{
		fails_then_sorts("$way: error of the leader at \"$point\"",
			"SET ptsort_test.fault = '$point:1:error:leader'",
			$statement, qr/^ERROR:  XX000: injected error at "$point"/m);
	}
	fails_then_sorts("$way: error of a worker in a merge of slices",
		"SET ptsort_test.fault = 'merge: begin:1:error:worker, merge: begin:1:sleep:leader'; SET ptsort_test.merge_order = 500",
		$statement, qr/^ERROR:  XX000: injected error at "merge: begin"/m)
	  if $way eq 'slices';
	foreach my $point ('build: after scan', @plan)
	{
		my $fault = "$point:1:timeout:leader, $point:1:sleep:leader";
		fails_then_sorts("$way: timeout ($fault)", "SET ptsort_test.fault = '$fault'",
			$statement, qr/^ERROR:  57014: canceling statement due to statement timeout/m);
	}
}

# Another session ends a worker, or cancels the leader, while workers sleep.
sub disturb
{
	my ($function, $what, $statement, $point) = @_;
	my $psql = start_psql($node, "SET ptsort_test.fault = '$point:1:sleep:worker'", $statement);
	wait_for_point($node, $point, 2) or return 'no process sleeps';
	$node->safe_psql('postgres', qq{
SELECT $function(pid) FROM pg_stat_activity
WHERE backend_type = '$what' AND query LIKE '%ptsort_test_parallel%' AND pid <> pg_backend_pid() LIMIT 1});
	$psql->{run}->finish;
	check_nothing_left($node, "$function on a $what", $segments);
	return error_of($psql->{err});
}
foreach my $way (sort keys %ways)
{
	my $statement = sort_sql($ways{$way});

	is(disturb('pg_cancel_backend', 'client backend', $statement, 'build: before scan'),
		'ERROR:  57014: canceling statement due to user request',
		"$way: a cancelled leader");
	is(disturb('pg_cancel_backend', 'parallel worker', $statement, 'build: before scan'),
		'ERROR:  57014: canceling statement due to user request',
		"$way: a cancelled worker");
	is(disturb('pg_terminate_backend', 'parallel worker', $statement, 'build: before scan'),
		'ERROR:  57P01: terminating background worker "parallel worker" due to administrator command',
		"$way: a terminated worker");
}

# A worker crashes: the server ends all sessions, recovers, and works again.
my (undef, $err) = try_sql($node,
	"SET ptsort_test.fault = 'build: after sort:1:kill:worker'; $sort");
like($err, qr/terminating connection because of crash|server closed the connection/,
	'crash of a worker');
wait_until_back($node);
check_nothing_left($node, 'crash of a worker');
is($node->safe_psql('postgres', $sort), 'participants: 3, right', 'crash of a worker: sorts after it');

# No segment is available: the leader sorts alone.
is( $node->safe_psql('postgres', "SELECT ptsort_test_take_segments() > 0; $sort"),
	"t\nparticipants: 1, right",
	'no segments: the leader alone');

$node->stop;
done_testing();
