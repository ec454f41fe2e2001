# Common parts of the tests of index builds: a server that has ptsort in every
# session, the log lines on how each index was built, and the check that a
# failed build left nothing behind.
package Ptsort;

use strict;
use warnings;
use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(server_major new_node create_sound builds_in builds_since log_end start_psql start_pgbench stop_pgbench
  wait_for_point pause_points end_session try_sql error_of dsm_segments wait_until_back
  check_nothing_left);

# Returns the major version of the server to test.
sub server_major
{
	my ($major) = qx(pg_config --version) =~ /^PostgreSQL (\d+)/;
	return $major;
}

# Starts a server.  Settings of ptsort_test make parallel builds load in several
# slices and use all allowed workers, even though the tables are small.  Dynamic
# shared memory is in files of the data directory, so that the test can count
# this server's segments.  The server runs no background process that could hold
# a snapshot or a worker.
sub new_node
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%{ $opt{init} || {} });
	$node->append_conf(
		'postgresql.conf', q{
session_preload_libraries = 'ptsort, ptsort_test'
ptsort.log_build = on
ptsort.min_table_size = 0
ptsort_test.slices = 7
ptsort_test.all_workers = on
max_worker_processes = 12
max_parallel_workers = 8
max_parallel_maintenance_workers = 8
dynamic_shared_memory_type = mmap
allow_in_place_tablespaces = on
autovacuum = off
jit = off
max_logical_replication_workers = 0
fsync = off
});
	$node->append_conf('postgresql.conf', $opt{conf}) if $opt{conf};
	$node->start;
	$node->safe_psql('postgres',
		'CREATE EXTENSION amcheck; CREATE EXTENSION ptsort');
	return $node;
}

# Creates the SQL function sound(index), which raises an error if ptsort_check()
# finds a problem, and returns the number of entries.
sub create_sound
{
	my ($node) = @_;
	$node->safe_psql('postgres', "\\i $FindBin::RealBin/../sql/include/sound.sql");
	return;
}

# Returns the current length of the log, for builds_since().
sub log_end
{
	my ($node) = @_;
	return -s $node->logfile;
}

# Returns the builds in the log, each as "name: participants" or "name: left,
# reason".  A start line without its end line gives "name: unended".
sub builds_in
{
	my ($log) = @_;
	my (@builds, %open);

	while ($log =~ /LOG:  ptsort: (.*)/g)
	{
		my $line = $1;
		if ($line =~ /^building index "(.+?)": (\d+) participants?,/)
		{
			push @builds, "$1: unended";
			$open{$1} = [ $#builds, $2 ];
		}
		elsif ($line =~ /^built index "(.+?)": (\d+) participants?,/)
		{
			my $start = delete $open{$1};
			$builds[ $start->[0] ] = "$1: $2"
			  if $start && $start->[1] == $2;
		}
		elsif ($line =~ /^leaving index "(.+?)" to the server: (.*)/)
		{
			push @builds, "$1: left, $2";
		}
	}

	# the name of a TOAST table contains a number
	s/pg_toast_\d+/pg_toast_N/ foreach @builds;
	return @builds;
}

# Returns the builds in the node's log since position $offset, except builds of
# TOAST indexes, which are empty.
sub builds_since
{
	my ($node, $offset) = @_;
	return grep { !/^pg_toast/ } builds_in(slurp_file($node->logfile, $offset));
}

# Runs commands in a psql in the background; ->{run}->finish waits for the end
# of psql.  psql's output is in ->{out} and ->{err}.
sub start_psql
{
	my ($node, @commands) = @_;
	my $psql = { out => '', err => '' };
	$psql->{run} = IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'VERBOSITY=verbose',
			'-d', $node->connstr('postgres'),
			map { ('-c', $_) } @commands
		],
		'>', \$psql->{out}, '2>', \$psql->{err});
	return $psql;
}

# Starts pgbench, which runs a script until stop_pgbench() ends it.
my $benches = 0;
sub start_pgbench
{
	my ($node, $script, @options) = @_;
	my $bench = { in => '', out => '', err => '', node => $node, name => 'pgbench ' . ++$benches };
	local $ENV{PGAPPNAME} = $bench->{name};
	$bench->{run} = IPC::Run::start(
		[
			'pgbench', '-n', '-T', '100000', @options, '-f', $script,
			'-h', $node->host, '-p', $node->port, 'postgres'
		],
		\$bench->{in}, \$bench->{out}, \$bench->{err});
	return $bench;
}

# Ends pgbench and its sessions; returns true if pgbench was still running.  The
# messages of pgbench are in ->{err}.  A session that lost its client completes
# its statement first, for example a VACUUM, so the function waits for that.
sub stop_pgbench
{
	my ($bench) = @_;
	my $running = $bench->{run}->pumpable;
	$bench->{run}->signal('TERM');
	$bench->{run}->finish;
	return $bench->{node}->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = '$bench->{name}'") && $running;
}

# Waits until at least $processes processes (default: 1) sleep or pause at the
# point because of ptsort_test.fault.
sub wait_for_point
{
	my ($node, $point, $processes) = @_;
	$processes //= 1;
	return $node->poll_query_until('postgres',
		"SELECT count(*) >= $processes FROM pg_stat_activity WHERE application_name = 'at $point'"
	) || diag("no process came to '$point'") && 0;
}

# Starts a session; as long as the session holds its lock, processes pause at
# points.
sub pause_points
{
	my ($node) = @_;
	my $session = $node->background_psql('postgres');
	$session->query_safe('SELECT pg_advisory_lock(1)');
	return $session;
}

# Ends a background session.  The session's backend ends later, so the function
# first ends the session's transaction.
sub end_session
{
	my ($session) = @_;
	$session->query('ROLLBACK; SELECT pg_advisory_unlock_all()');
	return $session->quit;
}

# Runs SQL in a session of its own, with the SQLSTATE in messages.
sub try_sql
{
	my ($node, $sql) = @_;
	my ($ret, $out, $err) = $node->psql(
		'postgres', $sql,
		on_error_stop => 0,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return ($out, $err);
}

# Returns the errors in psql's output: message with SQLSTATE, DETAIL and HINT,
# without the lines LOCATION and CONTEXT.
sub error_of
{
	my ($err) = @_;
	return join "\n", map { s/^psql:<stdin>:\d+: //r }
	  grep { /(?:ERROR|FATAL|DETAIL|HINT):  / } split /\n/, $err;
}

# Waits for the server to restart after a crash.  poll_query_until does not
# help: while the server accepts no connections, psql ends before it reads its
# query, and IPC::Run may then die.
sub wait_until_back
{
	my ($node) = @_;
	foreach my $attempt (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return
		  if system_log('pg_isready', '-q', '-h', $node->host, '-p', $node->port) == 0;
		usleep(100_000);
	}
	fail('the server does not come back');
}

# Returns the number of segments of dynamic shared memory.
sub dsm_segments
{
	my ($node) = @_;
	my @files = glob($node->data_dir . '/pg_dynshmem/mmap.*');
	return scalar @files;
}

sub temporary_files
{
	my ($node) = @_;
	my $data = $node->data_dir;
	return grep { -f $_ }
	  map { glob($_) } ("$data/base/pgsql_tmp/*", "$data/base/pgsql_tmp/*/*",
		"$data/pg_tblspc/*/*/pgsql_tmp/*", "$data/pg_tblspc/*/*/pgsql_tmp/*/*");
}

# Returns the files of relations that no longer exist, except empty files.
sub orphans
{
	my ($node) = @_;
	return $node->safe_psql(
		'postgres', q{
SELECT string_agg(name, ' ') FROM pg_database d, pg_ls_dir('base/' || d.oid) name,
	pg_stat_file(format('base/%s/%s', d.oid, name), true) s
WHERE datname = current_database() AND s.size > 0 AND substring(name, '^[0-9]+')::oid NOT IN
	(SELECT pg_relation_filenode(oid) FROM pg_class WHERE pg_relation_filenode(oid) IS NOT NULL)});
}

# Checks that no worker, no temporary file, no file of a dropped relation and no
# additional segment is left.  First waits for the end of all other sessions,
# because psql does not wait for the end of its backend.
sub check_nothing_left
{
	my ($node, $name, $segments) = @_;

	$node->poll_query_until(
		'postgres', q{
SELECT count(*) = 0 FROM pg_stat_activity
WHERE backend_type IN ('client backend', 'parallel worker') AND pid <> pg_backend_pid()
}) or fail("$name: processes are left");
	my @files = temporary_files($node);
	is("@files", '', "$name: no temporary file is left");
	return unless defined $segments;    # a crash may leave files and segments
	is(orphans($node), '', "$name: no relation's file is left");
	cmp_ok(dsm_segments($node), '<=', $segments, "$name: no segment is left");
}

1;
