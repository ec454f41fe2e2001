# Faults in sorts of minimal tuples and of values: each allocation fails once,
# each named point raises an error or receives a cancel when the sort passes
# the point for the first or the second time, and the disk is full.  Each
# time, the sort is right or ends with the fault's own error.  The sort leaves
# no memory, file or segment behind, and the next sort is right.
# (ptsort_test_model compares every tuple with the server's sort, which is
# complete before anything can fail.)
#
# Every n-th allocation fails; the date decides which allocations fail.  With
# PTSORT_FAULTS=all every allocation fails once.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Faults;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = fault_node('main');

# Runs a sort; returns its SQLSTATE, its message, and what the sort left behind.
$node->safe_psql('postgres', q{
CREATE FUNCTION sort(arguments text, OUT state text, OUT message text, OUT left_over text)
LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		state := '00000';
		EXECUTE format('SELECT tuples FROM ptsort_test_model(%s)', arguments);
	EXCEPTION WHEN OTHERS OR query_canceled THEN
		state := SQLSTATE;
		message := SQLERRM;
	END;
	left_over := left_by_sort();
END $$;
});

my ($allocations, $points, $missed) = (0, 0, 0);
my $text = q{'SELECT word, id FROM tiny ORDER BY 1'};
my $number = q{'SELECT id * 7919 % 1000, word FROM tiny ORDER BY 1 DESC'};
my $word = q{'SELECT word FROM tiny ORDER BY 1'};
my $learn = 'SET ptsort_test.learn_tuples = 10';
my $runs = 'SET ptsort_test.spill_entries = 60';
my $passes = "$runs; SET ptsort_test.merge_order = 2";

# name, settings, arguments of ptsort_test_model
my @sorts = (
	[ 'in memory', 'SELECT', $number ],
	[ 'text in memory', $learn, "$text, random_access => true" ],
	[ 'values of text', "$learn; $runs", "$word, 'datum'" ],
	[ 'values by value', $passes, q{'SELECT id % 50 FROM tiny ORDER BY 1', 'datum', random_access => true} ],
	[ 'many passes', "$passes; $learn", "$text, slots => 'scan'" ],
	[ 'stable, one run', $passes, "$number, stable => true, random_access => true" ],
	[ 'again and again', "$learn; $runs", "$text, rounds => 3, seed => 5" ],
	[ 'leader', $runs, "$text, participants => 2" ],
	[ 'slices', "$runs; SET ptsort_test.slices = 5", "$text, participants => 3, slices => true" ]);

foreach my $sort (@sorts)
{
	my ($name, $setup, $arguments) = @$sort;

	# find the points that the sort passes, and count its allocations
	my $out = $node->safe_psql('postgres', qq{
$setup;
SELECT count(*) FROM ptsort_test_model($arguments);
SET ptsort_test.fault = 'nowhere';
SELECT count(*) FROM ptsort_test_model($arguments);
SELECT 'passed ' || point || '|' || leader FROM ptsort_test_points() ORDER BY point COLLATE "C";
SET ptsort_test.allocation = 0;
SET ptsort_test.fault = 'model: begin:1:palloc';
SELECT count(*) FROM ptsort_test_model($arguments);
SELECT 'palloc ' || ptsort_test_allocations();
SET ptsort_test.fault = 'model: begin:1:malloc';
SELECT count(*) FROM ptsort_test_model($arguments);
SELECT 'malloc ' || ptsort_test_allocations();
});
	my %passed = $out =~ /^passed (.*)\|(\d+)$/mg;
	delete @passed{ grep { /^model: / } keys %passed };
	my $spills = $setup =~ /spill/;

	foreach my $kind (qw(palloc malloc))
	{
		my ($counted) = $out =~ /^$kind (\d+)/m;
		my @faults = map { [ "model: begin:1:$kind", $_ ] }
		  sample($kind eq 'palloc' ? 40 : 2, 1 .. $counted);
		my ($n, $failed, $right, $bad, $grown) = run_faults($node, $setup, $arguments, '53200,58000', @faults);
		is($bad, '', "$name: $n of $counted allocations failed ($kind)");
		$allocations += $failed;
		cmp_ok($failed, '>=', 0.5 * $n, "$name: $failed of them did, $right were done without");
		cmp_ok($grown, '<=', 8192, "$name: TopMemoryContext has grown by $grown bytes");
	}

	my @points = map { my $point = $_; map { [ $point, $_ ] } grep { $_ <= $passed{$point} } 1, 2 } sort keys %passed;
	cmp_ok(scalar(@points), '>=', $spills ? 6 : 3, "$name: " . join(', ', sort keys %passed));
	my ($n, $failed, $right, $bad) = run_faults($node, $setup, $arguments, 'XX000,57014',
		map { my ($point, $nth) = @$_; map { [ "$point:$nth:$_", 8 * $nth ] } qw(error cancel) } @points);
	is($bad, '', "$name: an error or a cancel at each of " . @points . ' points');
	is($failed, $n, "$name: all of them acted");
	$points += $failed;
	next unless $spills;
	($n, $failed, $right, $bad) = run_faults($node, $setup, $arguments, '53100',
		map { [ "$_->[0]:$_->[1]:full_temp", 8 ] } [ 'model: begin', 1 ], @points);
	is($bad, '', "$name: no space at each of them");
	$missed += $n - $right;
	cmp_ok($n - $right, '>=', 3, "$name: it was missed " . ($n - $right) . ' times');
}

note("total: $allocations allocations failed, $points errors at points, $missed times no space");
check_nothing_left($node, 'faults');
check_log($node);
$node->stop;
done_testing();
