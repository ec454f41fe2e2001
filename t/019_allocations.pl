# Every allocation fails once.  In builds of all kinds and copies of tables,
# the first allocation fails, then the second, and so on, in the leader and in
# workers.  Each time, the build either fails with the server's own error or
# does without the memory.  The build leaves nothing behind, and the next build
# works.
#
# In two kinds of serial builds, every allocation fails.  In other builds and
# copies, every n-th allocation fails, or, with PTSORT_FAULTS=all, every
# allocation.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Faults;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = fault_node('main');
my $total = 0;

# The configurations of Faults.pm, on a small table that limits the number of
# allocations.
my %config = map { $_->{name} => $_ } configurations();
foreach my $config (values %config)
{
	$config->{setup} =~ s/spill_entries = \d+/spill_entries = 100/;
	$config->{create} =~ s/ON t |'t'|FULL t$/$& =~ s,t\b,tiny,r/ge;
}

# Returns the number of allocations of a build without a failure.  Before the
# count, some builds fail on purpose: the server caches the memory contexts
# that an error frees, and later builds reuse these contexts.
sub count_allocations
{
	my ($config, $role, $fault) = @_;
	my $begin = log_end($node);
	my @results = run_cells($node, $config, $role,
		map { { fault => $fault, set => "SET ptsort_test.allocation = $_" } } 0, 1, 30, 60, 0);
	is($results[-1]{index}, 'sound', "$config->{name}: sound with none missing ($role)");
	like(slurp_file($node->logfile, $begin), $config->{logs}, "$config->{name}: the log says so ($role)")
	  if $config->{logs};
	return $results[-1]{counted};
}

# The server's out-of-memory messages whose SQLSTATE is not 53200: a call for a
# file failed, hash_create had no memory for a hash table's directory (XX000), or
# newlocale failed (since 18 each process calls it; glibc's error is ENOENT).
my $refused = qr/Cannot allocate memory|failed to initialize hash table/;
$refused = qr/$refused|could not create locale/ if server_major() >= 18;

# Returns the problem of a build in which one allocation failed, or ''.
sub wrong
{
	my ($config, $result) = @_;
	my $state = $result->{result} // return 'no result';
	return "result $state $result->{message}"
	  if $state ne '00000' && $state ne '53200' && $result->{message} !~ $refused;
	return "left: $result->{left}" if $result->{left} ne '';
	return "index: $result->{index}"
	  if $result->{index} !~ ($state eq '00000' ? qr/^sound$/ : after_failure($config));
	return "next: $result->{next}" if $result->{next} !~ /^(?:sound|built)$/;
	return '';
}

sub walk
{
	my ($name, $role, $kind, $step) = @_;
	my $config = $config{$name} or return;
	my $begins = $config->{copy} ? 'cluster: begin' : 'ambuild: begin';
	my $start = $role eq 'leader' ? $begins : 'build: worker start';
	my $fault = "$start:1:$kind:$role";
	my $begin = time;
	my $n = count_allocations($config, $role, $fault);
	my @numbers = sample($step, 1 .. $n);
	my @cells = map { { fault => $fault, set => "SET ptsort_test.allocation = $_", quick => $_ % 8 } } @numbers;
	my @results = run_cells($node, $config, $role, @cells);
	my ($failed, @bad) = (0);

	cmp_ok($n, '>', 10, "$name: $n allocations ($kind, $role)");
	push @bad, $results[0]{session} if $results[0]{session} ne 'ended';
	foreach my $i (0 .. $#cells)
	{
		my $wrong = wrong($config, $results[$i]);
		push @bad, "$numbers[$i]: $wrong" if $wrong ne '';
		if ($results[$i]{failed}) { $failed++; }
		elsif ($results[$i]{counted} >= $numbers[$i]) { push @bad, "$numbers[$i]: did not fail"; }
	}
	is(join("\n", splice(@bad, 0, 20)), '', "$name: " . @cells . " failed once ($kind, $role)");
	cmp_ok($failed, '>=', 0.8 * @cells, "$name: $failed of them did");
	my $grown = $results[0]{after} - ($results[0]{before} // $results[0]{after});
	cmp_ok($grown, '<=', 8192, "$name: TopMemoryContext has grown by $grown bytes");
	note(sprintf('%s, %s, %s: %d allocations, %d tried, %.1f s', $name, $kind, $role, $n, scalar @cells, time - $begin));
	$total += @cells;
}

my %step = (palloc => 30, malloc => 8);
foreach my $kind (sort keys %step)
{
	my $step = $step{$kind};
	walk('in memory', 'leader', $kind, 1);
	walk('serial', 'leader', $kind, 1);
	walk('gist in memory', 'leader', $kind, $step / 2);
	walk('gist', 'leader', $kind, $step);
	walk('gist', 'worker', $kind, $step);
	walk('gin in memory', 'leader', $kind, $step / 2);
	walk('gin', 'leader', $kind, $step);
	walk('gin', 'worker', $kind, $step);
	walk('text', 'leader', $kind, $step);
	walk('text', 'worker', $kind, $step);
	walk('exact', 'leader', $kind, $step);
	walk('exact', 'worker', $kind, $step);
	walk('unique with dead rows', 'leader', $kind, $step);
	walk('starts over', 'leader', $kind, $step);
	walk('concurrently', 'leader', $kind, $step);
	walk('sibling', 'leader', $kind, 2 * $step);
	walk('sibling', 'worker', $kind, 2 * $step);
}

# Copies are last, because they put the table in order.  In a build on an
# ordered table, the number of allocations depends on the blocks that each
# participant gets.
foreach my $kind (sort keys %step)
{
	my $step = $step{$kind};
	walk('copied', 'leader', $kind, $step);
	walk('copied', 'worker', $kind, $step);
	walk('copied by the server', 'leader', $kind, $step);
	walk('copied in memory', 'leader', $kind, $kind eq 'palloc' ? 4 : 1);
	walk('vacuumed', 'leader', $kind, $step);
	walk('vacuumed', 'worker', $kind, $step);
	walk('vacuumed in memory', 'leader', $kind, $kind eq 'palloc' ? 4 : 1);
}

check_nothing_left($node, 'allocations');
check_log($node);
note("$total allocations failed");
$node->stop;
done_testing();
