# Tests how sortbench_sort ends if ptsort's sort fails.  The test raises an
# error or cancels the sort at the first and second pass of each named point.
# The test also simulates a full disk for temporary files and for the result,
# and makes each allocation in the leader and in a worker fail.  After each
# fault, the result is complete or missing, and no other file, memory or
# segment is left.
#
# By default, the test runs a sample of the faults; the sample depends on the
# day.  PTSORT_FAULTS=all runs all faults.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../../../t";
use Faults;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = fault_node('main');
my $dir = PostgreSQL::Test::Utils::tempdir;

$node->safe_psql('postgres', qq{
CREATE EXTENSION sortbench;
SELECT sortbench_generate('$dir/in', 3000);
SELECT sortbench_sort('{$dir/in}', '{$dir/expected}', 0);
CREATE FUNCTION mapped() RETURNS bool LANGUAGE sql
RETURN pg_read_file('/proc/self/maps') LIKE '%memfd:sortbench%';

-- Sorts; returns the SQLSTATE, the message, and any files or memory left over.
CREATE FUNCTION sort(arguments text, OUT state text, OUT message text, OUT left_over text)
LANGUAGE plpgsql AS \$\$
DECLARE
	files text;
	late bool;
BEGIN
	BEGIN
		state := '00000';
		EXECUTE format('SELECT ptsort_test_point(''test: begin''), sortbench_sort(''{$dir/in}'', ''{$dir/out}'', %s), ptsort_test_point(''test: end'')', arguments);
	EXCEPTION WHEN OTHERS OR query_canceled THEN
		state := SQLSTATE;
		message := SQLERRM;
	END;
	files := (SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM pg_ls_dir('$dir') name);
	left_over := left_by_sort();
	-- a failure after the result has its name does not remove the result
	late := state = '53200' AND files = 'expected in out';
	IF files <> (CASE WHEN state = '00000' OR late THEN 'expected in out' ELSE 'expected in' END) THEN
		left_over := concat_ws(', ', nullif(left_over, ''), 'files: ' || files);
	END IF;
	IF mapped() THEN
		left_over := concat_ws(', ', nullif(left_over, ''), 'records');
	END IF;
	IF (state = '00000' OR late) AND pg_read_binary_file('$dir/out') <> pg_read_binary_file('$dir/expected') THEN
		state := 'wrong';
	END IF;
	PERFORM sortbench_remove('$dir/out');
END \$\$;
});

my $runs = 'SET ptsort_test.spill_entries = 200; SET ptsort_test.merge_order = 2; SET ptsort_test.slices = 5';

# Each sort has a name, settings, and arguments of sortbench_sort.
my @sorts = (
	[ 'one pass', 'SELECT', '0, passes => 1' ],
	[ 'one pass, workers', $runs, '2, passes => 1' ],
	[ 'two passes, workers', $runs, '2, passes => 2' ],
	[ 'long key, direct', $runs, '2, key_length => 30, direct_output => true' ]);

my ($total, $allocations) = (0, 0);

# Runs sorts.  In each sort, one of the allocations after the given point fails.
sub allocations
{
	my ($name, $setup, $arguments, $point, $step) = @_;

	foreach my $kind (qw(palloc malloc))
	{
		my $fault = $point =~ s/KIND/$kind/r;
		my $counted = $node->safe_psql('postgres', qq{
$setup;
SELECT count(*) FROM sort('$arguments');
SET ptsort_test.allocation = 0;
SET ptsort_test.fault = '$fault';
SELECT count(*) FROM sort('$arguments');
SELECT 'counted ' || ptsort_test_allocations();
}) =~ s/.*counted //sr;
		my ($n, $failed, $right, $bad, $grown) = run_faults($node, $setup, $arguments, '53200,58000',
			map { [ $fault, $_ ] } sample($kind eq 'palloc' ? $step : 2, 1 .. $counted));

		is($bad, '', "$name, $fault: $n of $counted allocations failed");
		cmp_ok($failed, '>=', 0.5 * $n, "$name, $fault: $failed made the sort fail, $right did not");
		cmp_ok($grown // 0, '<=', 8192, "$name, $fault: TopMemoryContext grew by $grown bytes");
		$allocations += $failed;
	}
}

foreach my $sort (@sorts)
{
	my ($name, $setup, $arguments) = @$sort;

	# the points that the sort passes in the leader
	my $out = $node->safe_psql('postgres', qq{
$setup;
SET ptsort_test.fault = 'nowhere';
SELECT 'sorted ' || state || coalesce(left_over, '') FROM sort('$arguments');
SELECT 'passed ' || point || '|' || leader FROM ptsort_test_points() WHERE leader > 0;
});
	like($out, qr/^sorted 00000$/m, "$name: without a fault");
	allocations($name, $setup, $arguments, 'test: begin:1:KIND:leader', 30);
	allocations($name, $setup, $arguments, 'build: worker start:1:KIND:worker', 30) if $arguments =~ /^2/;
	my %passed = $out =~ /^passed (.*)\|(\d+)$/mg;
	delete @passed{ 'test: begin', 'test: end' };
	my @points = map { my $point = $_; map { [ $point, $_ ] } grep { $_ <= $passed{$point} } 1, 2 } sort keys %passed;

	note("$name: " . join(', ', sort keys %passed));
	my ($n, $failed, $right, $bad) = run_faults($node, $setup, $arguments, 'XX000,57014',
		sample(3, map { my ($point, $nth) = @$_; map { [ "$point:$nth:$_", 8 * $nth ] } qw(error cancel) } @points));
	is($bad, '', "$name: $n errors or cancels at " . @points . ' points');
	is($failed, $n, "$name: all errors and cancels made the sort fail");
	$total += $failed;
	if ($arguments =~ /^2/)
	{
		($n, $failed, $right, $bad) = run_faults($node, $setup, $arguments, 'XX000,57014',
			map { my ($point, $nth) = @$_; map { [ "$point:$nth:$_:worker", 8 ] } qw(error cancel) } sample(5, @points));
		is($bad, '', "$name: errors and cancels in workers");
		cmp_ok($n - $right, '>', 0, "$name: " . ($n - $right) . ' sorts failed');
	}

	# The sort reserves space for the result when the sort begins.  If the file
	# system cannot reserve space, it allocates the space when the sort writes.
	($n, $failed, $right, $bad) = run_faults($node, $setup, $arguments, '53100',
		[ 'test: begin:1:full_file', 8 ], map { [ "$_->[0]:$_->[1]:full_file", 8 ] } sample(4, @points));
	is($bad, '', "$name: no space for the result");
	cmp_ok($n - $right, '>', 1, "$name: " . ($n - $right) . ' sorts failed for lack of space');

	next if $setup eq 'SELECT';
	($n, $failed, $right, $bad) = run_faults($node, $setup, $arguments, '53100',
		[ 'build: before scan:1:full_temp', 8 ],
		map { [ "$_->[0]:$_->[1]:full_temp", 8 ] } sample(5, @points));
	is($bad, '', "$name: no space for temporary files");
	cmp_ok($n - $right, '>', 0, "$name: " . ($n - $right) . ' sorts failed for lack of space');
}
note("total: $total errors at points, $allocations allocations failed");
check_nothing_left($node, 'faults');
check_log($node);
$node->stop;
done_testing();
