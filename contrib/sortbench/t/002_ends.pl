# Tests the end of sorts of files: the test cancels, terminates or kills the
# leader or a worker, and stops the server during a sort.  Also tests files that
# change during a sort, symbolic links, directories without permissions, and
# that direct output bypasses the kernel's cache.  No incomplete file ever
# appears, and no file is left.
# Its log may have: terminated by signal 9|exited with exit code 2
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
my $load = "LOAD 'ptsort_test'; SET ptsort_test.spill_entries = 500; SET ptsort_test.slices = 5;";
my $sort = "sortbench_sort('{$dir/in}', '{$dir/out}', 2, passes =>";

$node->safe_psql('postgres', $_)
  foreach 'CREATE EXTENSION sortbench', "SELECT sortbench_generate('$dir/in', 5000)";

# Returns the names of the files in the directory.
sub files
{
	opendir(my $handle, $dir) or die "$dir: $!";
	return join ' ', sort grep { !/^\.\.?$/ } readdir $handle;
}

foreach my $passes (1, 2)
{
	# hold a process during the sort, and then cancel or terminate the process
	foreach my $end ('cancel', 'terminate', 'worker')
	{
		my $where = $end eq 'worker' ? 'worker' : 'leader';
		my $point = $end eq 'worker' ? 'build: before scan' : 'build: before load';
		my $psql = start_psql($node, $load, "SET ptsort_test.fault = '$point:1:sleep:$where'", "SELECT $sort $passes)");

		wait_for_point($node, $point);
		is(files(), 'in', "$passes passes, $end: no output file has its name");
		$node->safe_psql('postgres',
			$end eq 'cancel' ? "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'at $point'"
			: "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'at $point'");
		$psql->{run}->finish;
		like($psql->{err}, $end eq 'cancel' ? qr/57014: canceling statement/ : qr/57P01: terminating|08006|lost connection|terminating connection/,
			"$passes passes, $end: the sort ended");
		is(files(), 'in', "$passes passes, $end: nothing is left");
		check_nothing_left($node, "$passes passes, $end");
	}

	# kill a process, and stop the server immediately
	foreach my $fault (map { ("$_:leader", "$_:worker") } 'build: after scan:1:kill', 'build: after sort:1:stop')
	{
		my $offset = log_end($node);

		isnt($node->psql('postgres', "$load SET ptsort_test.fault = '$fault'; SELECT $sort $passes)"),
			0, "$passes passes, $fault");
		$fault =~ /stop/ ? restart_node($node) : wait_for_restart($node, $offset);
		is(files(), 'in', "$passes passes, $fault: nothing is left");
	}
	$node->safe_psql('postgres', "SELECT $sort $passes)");
	is(files(), 'in out', "$passes passes: a sort without a fault succeeds");
	unlink "$dir/out";
}

# Checks that a sort fails with this message.
sub refused
{
	my ($name, $inputs, $outputs, $message) = @_;
	my ($out, $err) = try_sql($node, "SELECT sortbench_sort('{$inputs}', '{$outputs}', overwrite => true)");
	my $found = error_of($err) =~ s/\Q$dir\E/DIR/gr;

	is($found, $message, $name);
}

symlink "$dir/in", "$dir/link";
refused("a symbolic link as $_->[0]", @$_[1, 2],
	qq{ERROR:  42809: "DIR/link" is a symbolic link\nHINT:  Give the path of the file itself.})
  foreach [ 'input', "$dir/link", "$dir/out" ], [ 'output', "$dir/in", "$dir/link" ];
unlink "$dir/link";
link "$dir/in", "$dir/other";
refused('a file by two names', "$dir/in,$dir/other", "$dir/out", qq{ERROR:  22023: file "DIR/other" is given twice});
unlink "$dir/other";
mkdir "$dir/closed";
chmod 0500, "$dir/closed";
SKIP:
{
	skip 'root may do everything', 2 if $> == 0;
	refused('a directory that cannot be written', "$dir/in", "$dir/closed/out",
		qq{ERROR:  42501: could not create a file in directory "DIR/closed": Permission denied});
	chmod 0200, "$dir/in";
	refused('a file that cannot be read', "$dir/in", "$dir/out",
		qq{ERROR:  42501: could not open file "DIR/in" for reading: Permission denied} =~ s/ for reading//r);
	chmod 0600, "$dir/in";
}
rmdir "$dir/closed";

# During a sort, the test truncates or replaces the input, or creates a file
# with the name of the result.
foreach my $case ([ 'input shorter', sub { truncate "$dir/in", 100 }, 'ERROR:  55000: file "DIR/in" became shorter while it was read' ],
	[ 'input replaced', sub { rename "$dir/new", "$dir/in" }, 'ERROR:  55000: file "DIR/in" was replaced by another file' ],
	[ 'output taken', sub { rename "$dir/new", "$dir/out" }, 'ERROR:  58P02: could not give file "DIR/out" its name: File exists' ])
{
	my ($name, $action, $message) = @$case;
	my $point = $name =~ /output/ ? 'run: write' : 'build: before scan';

	$node->safe_psql('postgres', "SELECT sortbench_generate('$dir/in', 5000, overwrite => true), sortbench_generate('$dir/new', 5000, overwrite => true)");
	my $pause = pause_points($node);
	my $psql = start_psql($node, $load, "SET ptsort_test.fault = '$point:1:pause'",
		"SELECT sortbench_sort('{$dir/in}', '{$dir/out}', 0, passes => 2)");
	wait_for_point($node, $point);
	$action->();
	end_session($pause);
	$psql->{run}->finish;
	is(error_of($psql->{err}) =~ s/\Q$dir\E/DIR/gr, $message, $name);
	is(-s "$dir/out" // 0, $name =~ /output/ ? 500000 : 0, "$name: size of the result");
}

# The kernel counts the bytes that a process reads from disk; for a file in the
# cache this count is about 0.
SKIP:
{
	my $size = 20_000_000;

	skip 'files in memory are not read from a disk', 4 if `stat -f -c %T '$dir'` =~ /^(?:tmpfs|ramfs|overlayfs)$/m;
	$node->safe_psql('postgres', qq{
SELECT sortbench_generate('$dir/in', $size / 100, overwrite => true);
CREATE FUNCTION bytes_read() RETURNS bigint LANGUAGE sql
RETURN substring(pg_read_file('/proc/self/io', 0, 1000) FROM '\\nread_bytes: (\\d+)')::bigint});
	foreach my $case (map { my $passes = $_; map { [ $passes, $_ ] } 'true', 'false' } 1, 2)
	{
		my ($passes, $direct) = @$case;
		my ($before, $after) = $node->safe_psql('postgres', qq{
SELECT sortbench_sort('{$dir/in}', '{$dir/out}', 0, '64MB', passes => $passes, overwrite => true, direct_output => $direct) IS NULL;
SELECT bytes_read();
SELECT sortbench_validate('{$dir/out}') IS NULL;
SELECT bytes_read()}) =~ /(\d+)/g;

		cmp_ok(($after - $before) / $size, $direct eq 'true' ? '>=' : '<', $direct eq 'true' ? 0.9 : 0.1,
			"$passes passes, direct $direct: part of the output that is not in the cache");
	}
}
$node->stop;
done_testing();
