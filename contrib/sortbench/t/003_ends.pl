# Tests the end of sorts of files: the test cancels, terminates or kills the
# leader or a worker, and stops the server during a sort.  Also tests temporary
# files in several tablespaces, files that change during a sort, symbolic links,
# and directories without permissions.  No incomplete file ever appears, and no
# file is left.
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
  foreach 'CREATE EXTENSION sortbench', "CREATE TABLESPACE one LOCATION ''", "CREATE TABLESPACE two LOCATION ''",
  "SELECT sortbench_generate('$dir/in', 5000)";

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

# Temporary files are only in temp_tablespaces.  The server chooses the
# tablespace of a file by the file's name, so one tablespace may have no file.
{
	my $point = 'build: after sort';
	my $pause = pause_points($node);
	my $psql = start_psql($node, "$load SET temp_tablespaces = one, two", "SET ptsort_test.fault = '$point:1:pause:leader'", "SELECT $sort 2)");

	wait_for_point($node, $point);
	like( $node->safe_psql('postgres', q{
SELECT string_agg(DISTINCT spcname, ' ') FROM pg_tablespace s, pg_ls_dir('pg_tblspc/' || s.oid, true, false) version,
	format('pg_tblspc/%s/%s/pgsql_tmp', s.oid, version) AS temp, pg_ls_dir(temp, true, false) name,
	pg_ls_dir(temp || '/' || name, true, false) file}), qr/^(?:one|two|one two)$/, 'temporary files are in the tablespaces');
	is( $node->safe_psql('postgres', q{
SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true, false) name, pg_ls_dir('base/pgsql_tmp/' || name, true, false) file}),
		0, 'no temporary files are in the default tablespace');
	end_session($pause);
	$psql->{run}->finish;
	is(files(), 'in out', 'the result exists');
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
refused('a symbolic link as input', "$dir/link", "$dir/out",
	qq{ERROR:  42809: "DIR/link" is a symbolic link\nHINT:  Give the path of the file itself.});
refused('a symbolic link as output', "$dir/in", "$dir/link",
	qq{ERROR:  42809: "DIR/link" is a symbolic link\nHINT:  Give the path of the file itself.});
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
$node->stop;
done_testing();
