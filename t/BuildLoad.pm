# A workload of index builds: creates tables, runs sessions that build, rebuild,
# change and drop indexes at random, and evaluates the server's log.
#
# All random numbers come from Perl's rand, so srand(seed) makes the sessions
# repeat their statements in the same order.
package BuildLoad;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Ptsort;
use Test::More;

our @EXPORT = qw(load_seed create_tables fill_tables start_load end_load stop_load
  commit_prepared read_load_log log_complaints);

# Settings that read_load_log() needs, and settings that make the sessions
# collide often.
our $load_conf = q{
log_line_prefix = '%m [%p] %e %q%a '
deadlock_timeout = 50ms
max_connections = 40
shared_buffers = 4MB
max_wal_size = 64MB
max_prepared_transactions = 4
};

# True if the workload puts some indexes into a tablespace of their own
our $tablespace = 1;

# True if the table u is unlogged at first, and sometimes later.  Set it to 0
# while a test takes a base backup.  Until an unlogged index is built, it lacks
# its init fork, so a backup copies its main fork.  Recovery then gets the init
# fork from the WAL, and fails when it creates the main fork ("could not create
# file ...: File exists").  Server bug, in its own builds too.
our $unlogged = 1;

# Number of rows of each table
our %rows = (a => 12000, b => 12000, c => 12000, u => 8000);

# PTSORT_SEED, or a random number
sub load_seed
{
	my $seed = $ENV{PTSORT_SEED} // '';
	return length $seed ? $seed : int(rand 1e6);
}

# The indexes that a table may have: name, UNIQUE, keys, predicate.  No list of
# keys is a prefix of another list, so ORDER BY identifies the index.
my @indexes = (
	[ 'id', 'UNIQUE', '(id)' ],
	[ 'word', '', '(word)' ],
	[ 'url', '', '(url) INCLUDE (few)' ],
	[ 'url_desc', '', '(url DESC NULLS LAST, few)' ],
	[ 'two', '', '(few, at DESC)' ],
	[ 'num', '', '(num DESC NULLS LAST) INCLUDE (few, word)' ],
	[ 'at', 'UNIQUE', '(at, id) INCLUDE (few, num)' ],
	[ 'some', '', '((few * 2), word)', 'WHERE few % 3 = 0' ],
	[ 'lower', '', '(lower(url), id)' ],
	[ 'dup', 'UNIQUE', '((few + 0))' ]);    # fails because of duplicates

# Expected errors, by SQLSTATE: sessions cause them in other sessions and in
# workers.  Some messages are obscure: the server reports nothing better when a
# session drops an object in use, or when a worker starts after its leader
# fails.
my %expected_errors = (
	'0A000' => qr/^cannot cluster on (invalid|partial) index/,
	'23505' => qr/^could\ not\ create\ unique\ index\ "\w+_dup(_ccnew\d*)?"
		|"pg_class_relname_nsp_index"$/x,
	'25P02' => qr/^current transaction is aborted/,
	'40P01' => qr/^deadlock detected$/,
	'42704' => qr/^(index|prepared\ transaction)\ .*\ does\ not\ exist$/x,
	'42P01' => qr/^relation ".*" does not exist$/,
	'42P07' => qr/^relation ".*" already exists$/,
	'55000' => qr/^could\ not\ (map\ dynamic\ shared\ memory\ segment
		|attach\ to\ a\ SharedFileSet\ that\ is\ already\ destroyed)$/x,
	'55P03' => qr/^canceling statement due to lock timeout/,
	'57P01' => qr/^terminating (background worker|connection)/,
	'XX000' => qr/^could\ not\ open\ relation\ with\ OID\ \d+$
		|^cache\ lookup\ failed\ for\ index\ \d+$|^tuple\ concurrently/x);

sub pick { return $_[ rand @_ ] }

# A row is a function of its id: few different values, text of two collations,
# nulls, and sometimes a value for the TOAST table.
my $add_rows = q{
CREATE SEQUENCE ids;
CREATE FUNCTION add_rows(tab regclass, n int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %s SELECT id, few, md5(id::text),
		''https://www.example.org/'' || few || ''/'' || md5(id::text),
		CASE WHEN id %% 11 > 0 THEN hashint4(id) * 1.01 END,
		to_timestamp(hashint4(id)), 0,
		CASE WHEN id %% 500 = 0 THEN
			(SELECT string_agg(md5((id + i)::text), '''')
			FROM generate_series(1, 100) i) END
		FROM (SELECT id, abs(hashint4(id)) %% 500 AS few
			FROM (SELECT nextval(''ids'')::int AS id
				FROM generate_series(1, $1)) n) s', tab) USING n;
END $$;
};

# Creates the tables of the workload.
sub create_tables
{
	my ($node) = @_;
	my $columns = q{(id int, few int, word text COLLATE "C",
		url text COLLATE "en_US.utf8", num numeric, at timestamptz,
		pad int DEFAULT 0, big text) WITH (fillfactor = 80)};
	my @create = map {
		'CREATE ' . ($_ eq 'u' && $unlogged ? 'UNLOGGED ' : '') . "TABLE $_ $columns;\n"
	} sort keys %rows;
	push @create, q{CREATE TABLESPACE side LOCATION ''} if $tablespace;
	$node->safe_psql('postgres', $add_rows);
	$node->safe_psql('postgres', $_) foreach @create;
	return fill_tables($node);
}

# Refills tables that lost rows; a crash empties the unlogged ones.
sub fill_tables
{
	my ($node) = @_;
	return $node->safe_psql('postgres', join '', map {
		"SELECT add_rows('$_', $rows{$_} - n)
			FROM (SELECT count(*)::int AS n FROM $_) s WHERE n < $rows{$_};\n"
	} sort keys %rows);
}

# Returns statements that create one of the table's indexes.  They first drop
# the old index, because IF NOT EXISTS would skip builds.  The table u never
# gets the index "dup": a crash or a promotion empties u if u is unlogged, so
# the build of "dup" would succeed, and a later INSERT would fail.
sub create_index
{
	my ($table, $how) = @_;
	my $choices = $table eq 'u' ? $#indexes : @indexes;
	my ($name, $unique, $keys, $where) = @{ $indexes[ rand $choices ] };
	my @with = ('parallel_workers = ' . int(rand 4));
	push @with, pick('fillfactor = 60', 'deduplicate_items = off')
	  if rand() < 0.2;
	my $side = rand() < 0.1 && $tablespace ? 'TABLESPACE side' : '';
	return ("DROP INDEX IF EXISTS ${table}_$name",
		"CREATE $unique INDEX $how ${table}_$name ON $table $keys WITH ("
		  . join(', ', @with) . ") $side " . ($where // ''));
}

# Returns the name of a random index of the table, except the index "dup".
sub some_index
{
	my ($table) = @_;
	return $table . '_' . $indexes[ rand($#indexes) ][0];
}

# Returns statements that change rows; some change rows and roll back.
sub change_rows
{
	my ($table) = @_;
	my $some = 'WHERE id % 20 = ' . int(rand 20);
	return @{ pick(
		["SELECT add_rows('$table', 300)"],
		["DELETE FROM $table $some"],
		["UPDATE $table SET pad = pad + 1 $some"],
		["UPDATE $table SET few = few + 1, id = nextval('ids') $some"],
		[ 'BEGIN', "DELETE FROM $table $some", 'SAVEPOINT s',
			"SELECT add_rows('$table', 200)", 'ROLLBACK TO s',
			"SELECT add_rows('$table', 500)", pick('COMMIT', 'ROLLBACK') ],
		[ 'BEGIN ISOLATION LEVEL REPEATABLE READ',
			"SELECT count(*) FROM $table", 'SELECT pg_sleep(0.1)', 'COMMIT' ]
	) };
}

# Other statements that build indexes: they rewrite tables, create tables whose
# indexes need no WAL if wal_level is minimal, or roll back or prepare their
# transactions.
sub rebuild_all
{
	my ($table, $session) = @_;
	my $new = "new_$session";
	my @create = create_index($table, '');
	my @create_new = create_index($new, '');
	return @{ pick(
		["VACUUM FULL $table"],
		[ "CLUSTER $table USING " . some_index($table) ],
		[ 'BEGIN', "TRUNCATE $table",
			"SELECT add_rows('$table', $rows{$table})", 'COMMIT' ],
		[ 'BEGIN', @create, 'ROLLBACK' ],
		[ 'BEGIN', @create, "PREPARE TRANSACTION '$new'",
			'SELECT pg_sleep(0.3)',
			pick('COMMIT', 'COMMIT', 'ROLLBACK') . " PREPARED '$new'" ],
		[ "DROP TABLE IF EXISTS $new", 'BEGIN',
			"CREATE TABLE $new AS SELECT * FROM $table",
			"CREATE INDEX ON $new ((few + 1))", @create_new, 'COMMIT' ],
		[ 'ALTER TABLE u SET ' . pick('LOGGED', $unlogged ? 'UNLOGGED' : 'LOGGED') ],
		[ "ALTER TABLE $table ALTER num TYPE "
			  . pick('numeric(30,2)', 'numeric(30,3)') ]) };
}

# Returns the session's next statements, mostly for the session's own table.
sub next_statements
{
	my ($session) = @_;
	my @tables = sort keys %rows;
	my $table = pick(@tables);
	$table = $tables[ $session % @tables ] if rand() < 0.7;
	my $dice = rand 100;

	return create_index($table, '') if $dice < 40;
	return create_index($table, 'CONCURRENTLY') if $dice < 48;
	return 'REINDEX ' . pick('INDEX ' . some_index($table), "TABLE $table")
	  if $dice < 58;
	return 'REINDEX '
	  . pick('INDEX CONCURRENTLY ' . some_index($table),
		"TABLE CONCURRENTLY $table")
	  if $dice < 64;
	return 'DROP INDEX IF EXISTS ' . some_index($table) if $dice < 66;
	return change_rows($table) if $dice < 82;
	return 'CHECKPOINT' if $dice < 85;
	return "VACUUM $table" if $dice < 88;
	return rebuild_all($table, $session);
}

# Returns random settings, which make builds take different paths.
sub settings
{
	return map { "SET $_" } (
		'maintenance_work_mem = ' . pick(qw('1MB' '3MB' '64MB')),
		'ptsort.parallel_workers = ' . int(rand 4),
		'ptsort_test.spill_entries = ' . pick(0, 300, 2000),
		'ptsort_test.learn_tuples = ' . pick(-1, 0),
		'ptsort_test.slices = ' . pick(0, 7, 40),
		'ptsort_test.key_class = ' . pick(qw(auto auto auto prefix compared)),
		'ptsort_test.server_pages = ' . pick(qw(off off off on)),
		'ptsort_test.leader_participates = ' . pick(qw(on on off)));
}

# Starts sessions; each runs $steps steps, or ends when the server stops.
sub start_load
{
	my ($node, $sessions, $steps) = @_;
	my @load;

	foreach my $i (1 .. $sessions)
	{
		my $file = $node->basedir . "/load_$i.sql";
		my @script =
		  ("SET lock_timeout = '1s'", 'SET client_min_messages = error');
		push @script, settings(), next_statements($i), 'ROLLBACK'
		  foreach 1 .. $steps;
		unlink $file;
		append_to_file($file, join('', map { "$_;\n" } @script));

		local $ENV{PGAPPNAME} = "load$i";
		my $psql = { out => '' };
		$psql->{run} = IPC::Run::start(
			[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file ],
			'>&', \$psql->{out});
		push @load, $psql;
	}
	return @load;
}

# Waits for the sessions to end.  The server's log has the reason why they
# ended.
sub end_load
{
	$_->{run}->finish foreach @_;
	return;
}

# Ends the sessions early.  Fails if a backend does not end within a minute; the
# message names the backend's wait event.
sub stop_load
{
	my ($node, @load) = @_;
	my $stuck = $node->safe_psql(
		'postgres', q{
SELECT format('%s %s %s: %s', pid, wait_event_type, wait_event, query)
FROM pg_stat_activity
WHERE application_name LIKE 'load%' AND backend_type = 'client backend'
	AND NOT pg_terminate_backend(pid, 60000)});
	if ($stuck ne '')
	{
		fail("the load ends: $stuck");
		$_->{run}->kill_kill foreach @load;
	}
	return end_load(@load);
}

# Commits prepared transactions; returns their number.
sub commit_prepared
{
	my ($node) = @_;
	my @names = split /\n/,
	  $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
	$node->safe_psql('postgres', "COMMIT PREPARED '$_'") foreach @names;
	return scalar @names;
}

# Returns the log's data on the workload's builds, up to the request of an
# immediate shutdown: the number of builds that started, that ended, and that
# failed by an error; the builds still in progress (hit); and the unexpected
# errors.
sub read_load_log
{
	my ($log) = @_;
	my %seen =
	  (started => 0, ended => 0, failed => 0, unexpected => []);
	my %open;

	foreach my $line (split /\n/, $log)
	{
		last if $line =~ /LOG:  received immediate shutdown request/;
		my ($pid, $state, $level, $text) = $line =~
		  /^\S+ \S+ \S+ \[(\d+)\] (\w{5}) .*?\b(LOG|ERROR|FATAL):  (.*)/
		  or next;
		if ($level ne 'LOG')
		{
			$seen{failed}++ if delete $open{$pid};
			push @{ $seen{unexpected} }, $line
			  unless $text =~ ($expected_errors{$state} // qr/(?!)/);
		}
		elsif ($text =~ /^ptsort: building index "(.+?)"/)
		{
			$seen{started}++;
			$open{$pid} = $1;
		}
		elsif ($text =~ /^ptsort: built index/)
		{
			$seen{ended}++;
			delete $open{$pid};
		}
	}
	$seen{hit} = [ sort values %open ];
	return \%seen;
}

# Returns lines of a server's log that neither a workload nor a crash may
# cause.
sub log_complaints
{
	my ($log) = @_;
	return join "\n", grep {
		/TRAP:|PANIC:|was\ terminated\ by\ signal\ (4|6|7|8|11)\b
		|detected\ write\ past|write\ past\ chunk\ end|problem\ in\ alloc\ set
		|leak:|leaked|was\ not\ closed|still\ referenced|you\ don't\ own
		|page\ verification\ failed|invalid\ page|AbortTransaction\ while/x
	} split /\n/, $log;
}

1;
