# Faults as a matrix: each kind of fault occurs at every named point that a
# build passes, in the leader and in a worker.  Builds without faults supply
# the list of points, which must contain all points that the sources name.  A
# build either creates a correct index or fails with the expected error.  Each
# build, failed or not, leaves nothing behind, and the next build works.
#
# Its log may have: PANIC:  could not write to log file .*: No space left on device
# Its log may have: \(PID [0-9]+\) was terminated by signal (6: Aborted|9: Killed)
use strict;
use warnings;
use File::Basename;
use FindBin;
use lib $FindBin::RealBin;
use Faults;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = fault_node('main');
my @configs = configurations();

# The points of each configuration and role.  For an action that does not depend
# on the kind of build, the test uses one configuration for each point and role.
my (@pairs, %reached, %first);
foreach my $config (@configs)
{
	foreach my $role (sort keys %{ $config->{roles} })
	{
		foreach my $point (passed_points($node, $config, $role))
		{
			push @pairs, [ $config, $role, $point ];
			$reached{$point} = 1;
			$first{"$role $point"} //= $#pairs;
		}
	}
}
is_deeply([ sort keys %reached ], [ source_points(dirname($FindBin::RealBin)) ],
	'some build passes every point in the sources');
my %is_first = reverse %first;
my @first = @pairs[ sort { $a <=> $b } values %first ];
my @others = @pairs[ grep { !exists $is_first{$_} } 0 .. $#pairs ];
note(scalar(keys %reached) . ' points, ' . @first . ' with roles, ' . @pairs . ' with kinds of builds');

my %count;
my $begin;

# Reports an action's cells: the number of cells, the wrong results, and the
# number of cells that had an error.
sub report
{
	my ($action, $cells, $failed, @bad) = @_;
	is(join("\n", @bad), '', "$action: $cells cells");
	cmp_ok($failed, '>', 0, "$action: $failed builds failed");
	note(sprintf('%s: %.1f s', $action, time - $begin));
	$count{$action} += $cells;
	$begin = time;
}


# Faults that a session survives.  Each action has the SQLSTATE that it must
# cause if it acted.  "late" means that the action can come too late, or that
# the server can do without the resource that the action denies.
my %expected = (
	error => { state => 'XX000' },
	palloc => { state => '53200', late => 1 },
	cancel => { state => '57014', late => 1 },
	terminate => { state => '57P01', late => 1 },
	full_temp => { state => '53100' },
	full_index => { state => '53100' });

# Returns why a cell's result is wrong, or '' if it is right.  A full disk harms
# only processes that write.
sub wrong
{
	my ($action, $config, $result) = @_;
	my $expected = $expected{$action};
	my $state = $result->{result} // return 'no result';
	my $failed = $state ne '00000';
	my $must_fail = $result->{ $action =~ /full/ ? 'failed' : 'acted' } > 0 && !$expected->{late};

	return "result $state $result->{message}"
	  if $failed ? $state ne $expected->{state} : $must_fail;
	return 'did not act' if $result->{acted} == 0;
	return "left: $result->{left}" if $result->{left} ne '';
	return "index: $result->{index}" if $result->{index} !~ ($failed ? after_failure($config) : qr/^sound$/);
	return "next: $result->{next}" if $result->{next} ne 'sound';
	return '';
}

sub survive
{
	my ($action, @some) = @_;
	my ($cells, $failed, @bad) = (scalar @some, 0);
	while (@some)
	{
		my ($config, $role) = @{ $some[0] };
		my @batch = grep { $_->[0] == $config && $_->[1] eq $role } @some;
		@some = grep { $_->[0] != $config || $_->[1] ne $role } @some;
		my @cells = map { { fault => "$_->[2]:1:$action:$role" } } @batch;
		my @results = run_cells($node, $config, $role, @cells);
		push @bad, "$config->{name}: $results[0]{session}" if $results[0]{session} ne 'ended';
		foreach my $i (0 .. $#cells)
		{
			my $wrong = wrong($action, $config, $results[$i]);
			push @bad, "$config->{name}, $cells[$i]{fault}: $wrong" if $wrong ne '';
			$failed++ if ($results[$i]{result} // '') ne '00000';
		}
	}
	report($action, $cells, $failed, @bad);
}

$begin = time;
survive('error', @first, sample(12, @others));
survive($_, sample(3, @first)) foreach qw(palloc cancel full_temp);
my $before_full = log_end($node);
survive('full_index', sample(3, @first));
unlike(slurp_file($node->logfile, $before_full), qr/ERROR: .*No space left on device\n(?!.*HINT: )/,
	'no space for an index: the hint says what to do');
survive('terminate', sample(2, grep { $_->[1] eq 'worker' } @first));


# Faults that belong to no point: workers that never start, no segment of
# dynamic shared memory, and the limit of temporary files
sub special
{
	my ($name, $cell, $message, $state) = @_;
	my $end = log_end($node);
	my ($result) = run_cells($node, { %{ $configs[0] }, %$cell }, 'leader',
		{ fault => $cell->{fault} // '', set => $cell->{set} // '', reset => $cell->{reset} // '' });
	is($result->{result}, $state, "$name: result");
	like($result->{message}, $message, "$name: message") if $state ne '00000';
	like(slurp_file($node->logfile, $end), $message, "$name: the log") if $state eq '00000';
	is_deeply([ @$result{qw(left index next)} ], [ '', $state eq '00000' ? 'sound' : 'none', 'sound' ],
		"$name: nothing is left, and the next build works");
	$count{special}++;
}

my $no_turns = { roles => { leader => 'any' } };
my $failed_to_start = qr/parallel worker failed to initialize/;
special('workers cannot be forked', { %$no_turns, fault => 'build: before launch:1:no_fork' }, $failed_to_start, '55000');
special('workers die at birth', { %$no_turns, fault => 'build: before launch:1:no_start' }, $failed_to_start, '55000');
special('no space for a segment', { %$no_turns, fault => 'ambuild: begin:1:full_segment' },
	qr/could not (?:resize|write).*No space left/, '53100');
# The limit is less than the largest of the three participants' shares.  If an
# earlier cell put the table in order, each participant writes only one run.
special('temp_file_limit',
	{ set => q{SET temp_file_limit = '40kB'}, reset => 'RESET temp_file_limit' },
	qr/temporary file size exceeds "?temp_file_limit/, '53400');
# The postmaster registers a worker, but the leader has no memory to record
# this worker.  No process will end the worker, so the worker itself must
# notice that no leader waits for it.
special('a worker that its leader does not know',
	{ %$no_turns, fault => 'build: before launch:1:palloc:leader' }, qr/out of memory/, '53200') foreach 1 .. 4;
special('no worker is allowed',
	{ %$no_turns, set => 'SET max_parallel_workers = 0', reset => 'RESET max_parallel_workers' },
	qr/built index "i": 1 participant,/, '00000');


# Faults that end the session or all sessions
sub end_all
{
	my ($action, $message, $wait, @some) = @_;
	my ($failed, @bad) = (0);
	foreach my $pair (@some)
	{
		my ($config, $role, $point) = @$pair;
		my $end = log_end($node);
		my $fault = "$point:1:$action:$role";
		my $result = run_last_cell($node, $config, $role, $fault, sub { $wait->($end) });
		my $wrong = '';
		$wrong = "result $result->{message}" if $result->{message} !~ $message;
		$wrong = "left: $result->{left}" if $result->{left} ne '';
		$wrong = "table: $result->{table}" if $result->{table} ne 'true';
		# for a concurrent build, the server commits the index's catalog entry
		# before the build starts; WAL can become full after the last commit
		my $lost_index = $config->{keeps} ? qr/^sound$/ : $config->{name} !~ /^concurrently/ ? qr/^none$/ :
		  $action eq 'full_wal' ? qr/^(?:none|invalid|sound)$/ : qr/^(?:none|invalid)$/;
		$wrong = "index: $result->{index}" if $result->{index} !~ $lost_index && $action ne 'terminate';
		$wrong = "next: $result->{next}" if $result->{next} ne 'sound';
		push @bad, "$config->{name}, $fault: $wrong" if $wrong ne '';
		$failed++ if $result->{index} ne 'sound' || $config->{keeps};
	}
	report("$action of all", scalar(@some), $failed, @bad);
}

my $lost = qr/server closed the connection|terminating connection because of crash/;
my @of_leader = grep { $_->[1] eq 'leader' } @first;
end_all('terminate', qr/57P01|^$/, sub { wait_for_end($node) }, sample(3, @of_leader));
end_all('kill', $lost, sub { wait_for_restart($node, @_) }, sample(6, @first));
end_all('full_wal', $lost, sub { wait_for_restart($node, @_) }, sample(5, @of_leader));
end_all('stop', $lost, sub { restart_node($node) }, sample(6, @first));

# A session that ran a parallel build has a segment until its backend ends.
wait_for_end($node);
is($node->safe_psql('postgres', 'SELECT segments()'), $base_segments, 'no segment is left');

# Another session holds all segments and so prevents workers: the build is
# serial
my $taker = $node->background_psql('postgres');
cmp_ok($taker->query_safe('SELECT ptsort_test_take_segments()'), '>', 10, 'a session takes all segments');
my $end = log_end($node);
is($node->safe_psql('postgres', "CREATE INDEX i ON t (word); SELECT sound('i'); DROP INDEX i"), 'sound',
	'no segment to be had: sound');
is_deeply([ builds_since($node, $end) ], ['i: 1'], 'no segment to be had: a serial build');
end_session($taker);
$count{special}++;
check_nothing_left($node, 'the matrix');
check_log($node, panic => qr/could not write to (?:log )?file .*No space left/);
my $cells = 0;
$cells += $_ foreach values %count;
note("$cells cells: " . join(', ', map { "$_ $count{$_}" } sort keys %count));
$node->stop;
done_testing();
