# Every path on which a btree is built.  Checks whether ptsort or the server
# builds the index, and with how many participants.  Also checks that the index
# is sound and keeps no trace of ptsort.
#
# The server's log is the evidence: with ptsort.log_build, ptsort writes a line
# when a build starts, when it ends, and when ptsort leaves it to the server.
# All paths run twice, with workers allowed and with
# max_parallel_maintenance_workers = 0.
#
# Depends on the version: it runs every statement that builds an index
use strict;
use warnings;
use IPC::Run;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Ptsort qw(builds_in);
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
ptsort_test.slices = 5
ptsort_test.all_workers = on
max_worker_processes = 16
max_parallel_workers = 16
autovacuum = off
jit = off
max_logical_replication_workers = 0
log_min_messages = warning
allow_in_place_tablespaces = on
});
$node->start;

my $db;             # the database that the paths run in
my $max_workers;    # its max_parallel_maintenance_workers

# Returns the number of participants of a build that requests N workers.
sub asked
{
	my ($n) = @_;
	return 1 + ($n < $max_workers ? $n : $max_workers);
}

# Returns the expected builds of these indexes if the statement, which builds
# them concurrently, requests N workers.
sub concurrent
{
	my ($n, @indexes) = @_;
	return map { "$_: " . asked($n) } @indexes;
}

# Checks that all indexes are sound and that no catalog entry stores the
# requested number of workers.
sub check_indexes
{
	my ($name) = @_;
	my ($ret, $out, $err) = $node->psql(
		$db, q{
SELECT bt_index_parent_check(c.oid, true, true)
FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam
WHERE a.amname = 'btree' AND c.relkind = 'i' AND c.oid >= 16384
	AND c.relpersistence <> 't' AND i.indisvalid;
SELECT 'stored: ' || relname FROM pg_class
WHERE relkind IN ('i', 'I') AND array_to_string(reloptions, ' ') LIKE '%workers%';
});
	$out =~ s/^\n*//mg;
	ok($ret == 0 && $out eq '' && $err eq '', "$name: sound, nothing stored")
	  or diag("$out$err");
}

my $prelude = q{
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS w CASCADE;
CREATE SCHEMA w;
SET search_path = w, public;
CREATE TABLE t (a int, b int, c int, d varchar(30));
INSERT INTO t SELECT i, i % 10, -i, 'text ' || i FROM generate_series(1, 1000) i;
};

# Runs SQL in a new session and compares the session's builds, in any order,
# with the expected builds.  'error' is a pattern for an expected error; the
# session then continues.  'output' is the expected output.  'ignore' is a
# pattern for builds that the log may or may not show.
sub path
{
	my ($name, $sql, $expected, %opt) = @_;
	my $offset = -s $node->logfile;
	my ($ret, $out, $err) = $node->psql(
		$db, $prelude . $sql,
		on_error_stop => !defined $opt{error},
		extra_params => $opt{user} ? [ '-U', $opt{user} ] : []);
	my @builds = sort(builds_in(slurp_file($node->logfile, $offset)));
	@builds = grep { $_ !~ $opt{ignore} } @builds if $opt{ignore};

	is_deeply(\@builds, [ sort @$expected ], $name)
	  or diag("got: @{[join('; ', @builds)]}\n$out\n$err");
	if (defined $opt{error})
	{
		like($err, $opt{error}, "$name: error");
	}
	else
	{
		is($err, '', "$name: no error");
	}
	is($out, $opt{output}, "$name: output") if defined $opt{output};
	check_indexes($name);
}

# Checks that a statement fails before any build starts.
sub refused
{
	my ($name, $sql, $error) = @_;
	path($name, $sql, [], error => $error);
}


sub create_index
{
	path('CREATE INDEX', 'CREATE INDEX i ON t (a)', ['i: 1']);
	path('CREATE INDEX WITH',
		'CREATE INDEX i ON t (a) WITH (parallel_workers = 2)',
		[ 'i: ' . asked(2) ]);
	path(
		'INCLUDE, DESC, other options',
		q{CREATE INDEX i ON t (a DESC, b NULLS FIRST) INCLUDE (c)
		  WITH (fillfactor = 50, parallel_workers = '3', deduplicate_items = off);
		  SELECT reloptions FROM pg_class WHERE relname = 'i'},
		[ 'i: ' . asked(3) ],
		output => '{fillfactor=50,deduplicate_items=off}');
	path('UNIQUE',
		'CREATE UNIQUE INDEX i ON t (a) WITH (parallel_workers = 2)',
		[ 'i: ' . asked(2) ]);
	path('zero workers',
		'SET ptsort.parallel_workers = 4; CREATE INDEX i ON t (a) WITH (parallel_workers = 0)',
		['i: 1']);
	path('ptsort.parallel_workers',
		'SET ptsort.parallel_workers = 2; CREATE INDEX i ON t (a)',
		[ 'i: ' . asked(2) ]);
	path(q{the table's parallel_workers},
		'ALTER TABLE t SET (parallel_workers = 1); CREATE INDEX i ON t (a)',
		[ 'i: ' . asked(1) ]);
	$node->safe_psql($db, 'ALTER TABLE w.t RESET (parallel_workers)');
	path('IF NOT EXISTS',
		'CREATE INDEX IF NOT EXISTS i ON t (a) WITH (parallel_workers = 2);
		 CREATE INDEX IF NOT EXISTS i ON t (a) WITH (parallel_workers = 3)',
		[ 'i: ' . asked(2) ]);
	path('expression and predicate',
		'CREATE INDEX i ON t (abs(c)) WITH (parallel_workers = 2);
		 CREATE INDEX j ON t (a) WITH (parallel_workers = 3) WHERE b = 4',
		[ 'i: ' . asked(2), 'j: ' . asked(3) ]);
	path('expression or predicate not parallel safe',
		'CREATE FUNCTION f(int) RETURNS int IMMUTABLE PARALLEL UNSAFE LANGUAGE plpgsql AS $$BEGIN RETURN $1; END$$;
		 CREATE FUNCTION g(int) RETURNS int IMMUTABLE PARALLEL RESTRICTED LANGUAGE plpgsql AS $$BEGIN RETURN $1; END$$;
		 CREATE INDEX i ON t (f(a)) WITH (parallel_workers = 2);
		 CREATE INDEX j ON t (a) WITH (parallel_workers = 3) WHERE g(b) = 4',
		[ 'i: 1', 'j: 1' ]);
	path('unlogged',
		'ALTER TABLE t SET UNLOGGED; CREATE INDEX i ON t (a) WITH (parallel_workers = 2)',
		[ 'i: ' . asked(2) ]);
	path('temporary table',
		'CREATE TEMP TABLE tt AS SELECT * FROM t;
		 CREATE INDEX i ON tt (a) WITH (parallel_workers = 2);
		 CREATE INDEX CONCURRENTLY j ON tt (b) WITH (parallel_workers = 2);
		 REINDEX INDEX i; REINDEX INDEX CONCURRENTLY j;',
		[ ('i: 1') x 2, ('j: 1') x 2 ]);
	path('another table access method',
		'CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
		 CREATE TABLE h USING heap2 AS SELECT * FROM t;
		 CREATE INDEX i ON h (a) WITH (parallel_workers = 2);
		 DROP TABLE h; DROP ACCESS METHOD heap2',
		[ 'i: ' . asked(2) ]);
	path('other access methods',
		'CREATE INDEX ON t USING hash (a); CREATE INDEX ON t USING brin (a);
		 REINDEX TABLE t',
		[]);
	path('GIN',
		'CREATE INDEX i ON t USING gin (to_tsvector(\'simple\', d)) WITH (parallel_workers = 2); REINDEX TABLE t',
		[ 'i: ' . asked(2), 'i: 1' ]);
	path('catalogs',
		'REINDEX TABLE pg_class; REINDEX TABLE pg_am; REINDEX INDEX pg_am_oid_index', []);
}

sub refused_options
{
	my $out_of_bounds = qr/ERROR:  value (-1|1025) out of bounds for option "parallel_workers"\nDETAIL:  Valid values are between "0" and "1024"\./;

	refused('below the range',
		'CREATE INDEX i ON t (a) WITH (parallel_workers = -1)', $out_of_bounds);
	refused('above the range in a constraint',
		'ALTER TABLE t ADD UNIQUE (a) WITH (parallel_workers = 1025)', $out_of_bounds);
	refused('not a number',
		'CREATE INDEX i ON t (a) WITH (parallel_workers = x)',
		qr/ERROR:  invalid value for integer option "parallel_workers": x/);
	refused('given twice',
		'CREATE INDEX i ON t (a) WITH (parallel_workers = 1, parallel_workers = 1)',
		qr/ERROR:  parameter "parallel_workers" specified more than once/);
	refused('with hash',
		'CREATE INDEX i ON t USING hash (a) WITH (parallel_workers = 1)',
		qr/ERROR:  unrecognized parameter "parallel_workers"/);
	refused('ALTER INDEX', 'ALTER INDEX IF EXISTS pg_am_oid_index SET (parallel_workers = 1);
		CREATE TABLE e (a int); CREATE INDEX e_i ON e USING hash (a);
		ALTER INDEX e_i SET (parallel_workers = 1)',
		qr/ERROR:  unrecognized parameter "parallel_workers"/);
	refused('namespace',
		'CREATE INDEX i ON t (a) WITH (toast.parallel_workers = 1)',
		qr/ERROR:  unrecognized parameter namespace "toast"/);
}

sub concurrently
{
	path('CREATE INDEX CONCURRENTLY',
		'CREATE INDEX CONCURRENTLY i ON t (a) WITH (parallel_workers = 2);
		 CREATE UNIQUE INDEX CONCURRENTLY j ON t (c);
		 CREATE INDEX CONCURRENTLY k ON t (abs(c)) WITH (parallel_workers = 3) WHERE b = 4',
		[ concurrent(2, 'i'), concurrent(0, 'j'), concurrent(3, 'k') ]);
	path('REINDEX INDEX and TABLE CONCURRENTLY',
		'CREATE INDEX i ON t (a); CREATE INDEX j ON t (b); CREATE INDEX h ON t USING hash (b);
		 SET ptsort.parallel_workers = 2;
		 REINDEX INDEX CONCURRENTLY i; REINDEX TABLE CONCURRENTLY t',
		[ 'i: 1', 'j: 1', concurrent(2, 'i_ccnew', 'i_ccnew', 'j_ccnew') ]);
	path('REINDEX SCHEMA CONCURRENTLY',
		'CREATE INDEX i ON t (a); REINDEX SCHEMA CONCURRENTLY w',
		[ 'i: 1', concurrent(0, 'i_ccnew') ]);
	path('ptsort.enable = off',
		'SET ptsort.enable = off;
		 CREATE INDEX CONCURRENTLY i ON t (a); REINDEX TABLE CONCURRENTLY t',
		[ map { "$_: left, ptsort.enable is off" } qw(i i_ccnew) ]);
	path(
		'an event trigger that allows workers at the end',
		'CREATE FUNCTION e() RETURNS event_trigger LANGUAGE plpgsql AS
		 $$BEGIN SET LOCAL max_parallel_maintenance_workers = 5; END$$;
		 CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION e();
		 CREATE INDEX CONCURRENTLY i ON t (a); REINDEX TABLE CONCURRENTLY t;
		 DROP EVENT TRIGGER e;
		 SHOW max_parallel_maintenance_workers',
		[ concurrent(0, 'i', 'i_ccnew') ],
		output => $max_workers);
	path(
		'failure, and REINDEX of the invalid index',
		'CREATE UNIQUE INDEX CONCURRENTLY i ON t (b) WITH (parallel_workers = 2);
		 UPDATE t SET b = a; CREATE INDEX j ON t (a);
		 REINDEX INDEX i; REINDEX INDEX CONCURRENTLY i',
		[
			'i: unended', 'j: 1', 'i: 1', concurrent(0, 'i_ccnew')
		],
		error => qr/could not create unique index "i"/);
	path('REINDEX of an index that DROP CONCURRENTLY left dead',
		q{CREATE INDEX i ON t (a);
		  UPDATE pg_index SET indislive = false, indisready = false, indisvalid = false
		  WHERE indexrelid = 'i'::regclass;
		  REINDEX INDEX i; DROP INDEX i},
		[ ('i: 1') x 2 ]);
}

sub constraints
{
	path('ADD PRIMARY KEY, UNIQUE, DEFERRABLE, EXCLUDE',
		'ALTER TABLE t ADD CONSTRAINT p PRIMARY KEY (a) WITH (parallel_workers = 2),
			ADD CONSTRAINT u UNIQUE (b, c) WITH (parallel_workers = 4),
			ADD CONSTRAINT v UNIQUE (c) DEFERRABLE,
			ADD CONSTRAINT x EXCLUDE USING btree (a WITH =, (c + 1) WITH =) WITH (parallel_workers = 3);
		 CREATE INDEX after ON t (a)',
		[ 'p: ' . asked(2), 'u: ' . asked(4), 'v: 1', 'x: ' . asked(3), 'after: 1' ]);
	path('ADD CONSTRAINT DEFERRABLE with a request',
		'ALTER TABLE t ADD CONSTRAINT u UNIQUE (a) WITH (parallel_workers = 2) INITIALLY DEFERRED',
		[ 'u: ' . asked(2) ]);
	path('ADD COLUMN UNIQUE, PRIMARY KEY, with a rewrite',
		'ALTER TABLE t ADD e int UNIQUE WITH (parallel_workers = 2);
		 CREATE INDEX i ON t (a);
		 ALTER TABLE t ADD f serial PRIMARY KEY WITH (parallel_workers = 3)',
		[ 't_e_key: ' . asked(2), 'i: 1', ('t_e_key: 1'), 'i: 1', 't_pkey: ' . asked(3) ]);
	path('ADD PRIMARY KEY USING INDEX',
		'CREATE UNIQUE INDEX i ON t (a) WITH (parallel_workers = 1); ALTER TABLE t ADD PRIMARY KEY USING INDEX i',
		[ 'i: ' . asked(1) ]);
	path('the request does not apply to a rebuilt index',
		'CREATE UNIQUE INDEX i ON t (a); ALTER TABLE t ALTER b TYPE int8, ADD UNIQUE (c) WITH (parallel_workers = 2)',
		[ 'i: 1', 'i: 1', 't_c_key: ' . asked(2) ]);
	path('CREATE TABLE and CREATE SCHEMA',
		'CREATE TABLE n (a int PRIMARY KEY WITH (parallel_workers = 2), b int, UNIQUE (b) WITH (parallel_workers = 3));
		 CREATE TABLE m (LIKE n INCLUDING INDEXES);
		 CREATE SCHEMA w2 CREATE TABLE s (a int) CREATE INDEX s_i ON s (a) WITH (parallel_workers = 2);
		 CREATE INDEX i ON t (a); DROP SCHEMA w2 CASCADE',
		[
			(map { "$_: left, empty table" } qw(n_pkey n_b_key m_pkey m_b_key s_i)),
			'i: 1'
		]);
}

sub rebuilds
{
	my $indexes = 'CREATE INDEX i ON t (a); CREATE UNIQUE INDEX j ON t (b, a);
		SET ptsort.parallel_workers = 2;';
	my @created = ('i: 1', 'j: 1');
	my @rebuilt = ('i: ' . asked(2), 'j: ' . asked(2));

	path('REINDEX INDEX', "$indexes REINDEX INDEX i", [ @created, $rebuilt[0] ]);
	path('REINDEX TABLE', "$indexes REINDEX TABLE t", [ @created, @rebuilt ]);
	path('REINDEX SCHEMA', "$indexes REINDEX SCHEMA w", [ @created, @rebuilt ]);
	path('REINDEX DATABASE', "$indexes REINDEX DATABASE $db", [ @created, @rebuilt ]);
	path('REINDEX SYSTEM', "$indexes REINDEX SYSTEM $db", [@created]);
	path('REINDEX DATABASE CONCURRENTLY', "$indexes REINDEX DATABASE CONCURRENTLY $db",
		[ @created, concurrent(2, 'i_ccnew', 'j_ccnew') ],
		error => qr/^(psql:.*WARNING:  cannot reindex system catalogs concurrently, skipping all)?$/);
	path('REINDEX TABLESPACE', "$indexes REINDEX (TABLESPACE elsewhere) TABLE t; REINDEX (TABLESPACE pg_default) TABLE t",
		[ @created, (@rebuilt) x 2 ]);
	path('VACUUM FULL', "$indexes VACUUM FULL t", [ @created, @rebuilt ]);
	path('CLUSTER', "$indexes CLUSTER t USING j", [ @created, @rebuilt ]);
	path('ALTER TABLE with a rewrite',
		"$indexes ALTER TABLE t ALTER c TYPE int8", [ @created, @rebuilt ]);
	path('ALTER TABLE of an indexed column',
		"$indexes ALTER TABLE t ALTER a TYPE int8", [ @created, @rebuilt ]);
	path('ALTER TABLE of a collation',
		'CREATE INDEX i ON t (d); ALTER TABLE t ALTER d TYPE text COLLATE "POSIX"',
		[ ('i: 1') x 2 ],
		ignore => qr/^pg_toast_N_index: left, empty table$/);
	path('SET UNLOGGED, SET LOGGED',
		"$indexes ALTER TABLE t SET UNLOGGED; ALTER TABLE t SET LOGGED",
		[ @created, (@rebuilt) x 2 ]);
	path('ADD COLUMN with a volatile default',
		"$indexes ALTER TABLE t ADD e float8 DEFAULT random()", [ @created, @rebuilt ]);
	path('TRUNCATE', "$indexes TRUNCATE t",
		[ @created, map { "$_: left, empty table" } qw(i j) ]);
	path('TRUNCATE of a table of the same transaction',
		"BEGIN; CREATE TABLE n AS SELECT * FROM t; CREATE INDEX i ON n (a); TRUNCATE n; COMMIT;
		 CREATE INDEX j ON t (a)",
		[ ('i: 1'), 'j: 1' ],
		ignore => qr/^i: left, empty table$/);
	path('materialized view',
		'CREATE MATERIALIZED VIEW v AS SELECT * FROM t;
		 CREATE UNIQUE INDEX i ON v (a) WITH (parallel_workers = 2);
		 REFRESH MATERIALIZED VIEW v; REFRESH MATERIALIZED VIEW CONCURRENTLY v',
		[ 'i: ' . asked(2), 'i: 1' ],
		ignore => qr/^pg_toast_N_index: left, empty table$/);
	path(
		'toast table',
		q{CREATE TABLE l (d text); ALTER TABLE l ALTER d SET STORAGE EXTERNAL;
		  INSERT INTO l SELECT repeat('x', 3000) FROM generate_series(1, 50);
		  SELECT 'pg_toast.pg_toast_' || 'l'::regclass::oid AS toast \gset
		  REINDEX TABLE l; REINDEX TABLE :toast; REINDEX TABLE CONCURRENTLY :toast;
		  REINDEX TABLE CONCURRENTLY l; VACUUM FULL l; VACUUM FULL :toast},
		[
			('pg_toast_N_index: left, empty table') x 2,
			('pg_toast_N_index: 1') x 3,
			concurrent(0, ('pg_toast_N_index_ccnew') x 2)
		]);
	$node->safe_psql($db, 'DROP SCHEMA w CASCADE');
	path('ON COMMIT DELETE ROWS',
		'CREATE TEMP TABLE o (a int) ON COMMIT DELETE ROWS; CREATE INDEX i ON o (a) WITH (parallel_workers = 2);
		 BEGIN; INSERT INTO o SELECT generate_series(1, 100); COMMIT; SET ptsort.enable = on; CREATE INDEX j ON t (a)',
		['j: 1'],
		ignore => qr/^i: left, empty table$/);
}

sub partitions
{
	my $parent = 'CREATE TABLE p (a int, b int) PARTITION BY RANGE (a);
		CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (500);
		CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (500) TO (2000);
		INSERT INTO p SELECT a, b FROM t;';

	path('CREATE INDEX on a partitioned table',
		"$parent CREATE INDEX i ON p (b) WITH (parallel_workers = 2)",
		[ map { "$_: " . asked(2) } qw(p1_b_idx p2_b_idx) ]);
	path('ADD PRIMARY KEY on a partitioned table',
		"$parent ALTER TABLE p ADD PRIMARY KEY (a) WITH (parallel_workers = 3)",
		[ map { "$_: " . asked(3) } qw(p1_pkey p2_pkey) ]);
	path('ATTACH PARTITION',
		"$parent CREATE INDEX i ON p (b); CREATE TABLE p3 (a int, b int); INSERT INTO p3 SELECT a + 2000, b FROM t;
		 ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (2000) TO (5000);
		 CREATE TABLE p4 PARTITION OF p FOR VALUES FROM (5000) TO (6000)",
		[
			(map { "$_: 1" } qw(p1_b_idx p2_b_idx p3_b_idx)),
			'p4_b_idx: left, empty table'
		]);
	path('ON ONLY and ALTER INDEX ATTACH',
		"$parent CREATE INDEX i ON ONLY p (b) WITH (parallel_workers = 2);
		 CREATE INDEX i1 ON p1 (b) WITH (parallel_workers = 2); CREATE INDEX i2 ON p2 (b);
		 ALTER INDEX i ATTACH PARTITION i1; ALTER INDEX i ATTACH PARTITION i2",
		[ 'i1: ' . asked(2), 'i2: 1' ]);
	path('REINDEX of a partitioned table',
		"$parent CREATE INDEX i ON p (b); SET ptsort.parallel_workers = 2;
		 REINDEX TABLE p; REINDEX INDEX i; REINDEX TABLE CONCURRENTLY p",
		[
			(map { "$_: 1" } qw(p1_b_idx p2_b_idx)),
			(map { ("$_: " . asked(2)) x 2 } qw(p1_b_idx p2_b_idx)),
			concurrent(2, qw(p1_b_idx_ccnew p2_b_idx_ccnew))
		]);
}

# A statement's request for workers applies each time the statement runs, in
# every language, and to no other statement.
sub languages
{
	path('DO and EXECUTE',
		q{DO $$BEGIN
			CREATE INDEX i ON t (a) WITH (parallel_workers = 2);
			EXECUTE 'CREATE INDEX j ON t (b) WITH (parallel_workers = 3)';
			CREATE INDEX k ON t (c);
		END$$},
		[ 'i: ' . asked(2), 'j: ' . asked(3), 'k: 1' ]);
	path('plpgsql function with a cached plan',
		q{CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$BEGIN
			CREATE INDEX i ON t (a) WITH (parallel_workers = 2);
			ALTER TABLE t ADD CONSTRAINT u UNIQUE (a) WITH (parallel_workers = 3);
			DROP INDEX i; ALTER TABLE t DROP CONSTRAINT u; END$$;
		  DO $$BEGIN FOR i IN 1..3 LOOP PERFORM f(); END LOOP; END$$},
		[ ('i: ' . asked(2)) x 3, ('u: ' . asked(3)) x 3 ]);
	path('SQL function',
		q{CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$
			CREATE INDEX i ON t (a) WITH (parallel_workers = 2); DROP INDEX i; $$;
		  DO $$BEGIN PERFORM f(); PERFORM f(); END$$},
		[ ('i: ' . asked(2)) x 2 ]);
	path('procedure with COMMIT',
		q{CREATE PROCEDURE p() LANGUAGE plpgsql AS $$BEGIN
			CREATE INDEX i ON t (a) WITH (parallel_workers = 2); COMMIT;
			CREATE INDEX j ON t (b); COMMIT; END$$;
		  CALL p()},
		[ 'i: ' . asked(2), 'j: 1' ]);
	path('SERIALIZABLE and a subtransaction',
		'BEGIN ISOLATION LEVEL SERIALIZABLE; SAVEPOINT s; CREATE INDEX i ON t (a) WITH (parallel_workers = 2);
		 RELEASE s; COMMIT', [ 'i: ' . asked(2) ]);
	path('a nested statement does not see the request of the outer one',
		q{CREATE TABLE x AS SELECT 1 AS a;
		  CREATE FUNCTION g(int) RETURNS int VOLATILE LANGUAGE plpgsql AS $$BEGIN
			IF $1 = 1 THEN CREATE INDEX inner_i ON w.x (a); REINDEX TABLE w.x; END IF;
			RETURN $1; END$$;
		  CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN w.g($1); END$$;
		  CREATE INDEX i ON t (f(a)) WITH (parallel_workers = 2);
		  DROP INDEX i},
		[ 'i: 1', 'inner_i: 1', 'inner_i: 1' ]);
	$node->safe_psql('postgres', "GRANT CREATE ON DATABASE $db TO owner");
	$node->safe_psql($db, 'DROP SCHEMA w CASCADE');
	path('a user who is not a superuser',
		'CREATE INDEX i ON t (a) WITH (parallel_workers = 2); CREATE INDEX CONCURRENTLY j ON t (b) WITH (parallel_workers = 2);
		 ALTER TABLE t ADD CONSTRAINT u UNIQUE (c) WITH (parallel_workers = 2); REINDEX TABLE t; REINDEX TABLE CONCURRENTLY t',
		[
			'i: ' . asked(2),
			concurrent(2, 'j'),
			'u: ' . asked(2),
			(map { "$_: 1" } qw(i j u)),
			concurrent(0, map { "${_}_ccnew" } qw(i j u))
		],
		user => 'owner');
	$node->safe_psql($db, 'DROP SCHEMA w CASCADE');

	foreach my $mode (qw(simple extended prepared))
	{
		my $offset = -s $node->logfile;
		my $file = $node->basedir . '/protocol.sql';
		$node->safe_psql($db, $prelude);
		append_to_file($file,
			"CREATE INDEX i ON w.t (a) WITH (parallel_workers = 2);\nDROP INDEX w.i;\nCREATE INDEX j ON w.t (a);\nDROP INDEX w.j;\n");
		$node->command_ok([ 'pgbench', '-n', '-M', $mode, '-t', 2, '-f', $file, $db ],
			"$mode protocol");
		unlink $file;
		is_deeply([ builds_in(slurp_file($node->logfile, $offset)) ],
			[ ('i: ' . asked(2), 'j: 1') x 2 ], "$mode protocol: builds");
	}
}

# Statements in an extension's script, on servers that let a test install an
# extension.
sub extension_script
{
	my $dir = $node->basedir . '/extension';

	return if $node->pg_version < 18;
	mkdir $dir;
	append_to_file("$dir/paths_script.control", "default_version = '1'\n");
	append_to_file("$dir/paths_script--1.sql", q{
CREATE TABLE s AS SELECT i AS a, -i AS b FROM generate_series(1, 100) i;
CREATE INDEX i ON s (a) WITH (parallel_workers = 2);
ALTER TABLE s ADD CONSTRAINT u UNIQUE (b) WITH (parallel_workers = 3);
});
	path('CREATE EXTENSION',
		'SET extension_control_path = ' . "'" . $node->basedir . "'; "
		  . 'CREATE EXTENSION paths_script; CREATE INDEX j ON t (a); DROP EXTENSION paths_script',
		[ 'i: ' . asked(2), 'u: ' . asked(3), 'j: 1' ]);
	unlink glob("$dir/*");
}

# After an error, ptsort keeps no state of the failed statement.
sub errors
{
	path('unique violation',
		'CREATE UNIQUE INDEX i ON t (b) WITH (parallel_workers = 2); CREATE INDEX j ON t (b)',
		[ 'i: unended', 'j: 1' ],
		error => qr/ERROR:  could not create unique index "i"\nDETAIL:  Key \(b\)=\(\d\) is duplicated\./);
	path('unique violation in ALTER TABLE',
		'ALTER TABLE t ADD CONSTRAINT u UNIQUE (b) WITH (parallel_workers = 2); CREATE UNIQUE INDEX i ON t (a)',
		[ 'u: unended', 'i: 1' ],
		error => qr/ERROR:  could not create unique index "u"/);
	path('cancel',
		q{CREATE FUNCTION f(int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
		  $$BEGIN IF $1 = 500 THEN PERFORM pg_cancel_backend(pg_backend_pid()), pg_sleep(60); END IF; RETURN $1; END$$;
		  CREATE INDEX i ON t (f(a)) WITH (parallel_workers = 2);
		  CREATE INDEX j ON t (a)},
		[ 'i: unended', 'j: 1' ],
		error => qr/ERROR:  canceling statement due to user request/);
	path('error in an expression',
		'CREATE INDEX i ON t ((1 / (a - 700))) WITH (parallel_workers = 2); CREATE INDEX j ON t (a)',
		[ 'i: unended', 'j: 1' ],
		error => qr/ERROR:  division by zero/);
	path('SAVEPOINT',
		'BEGIN; SAVEPOINT s; CREATE UNIQUE INDEX i ON t (b) WITH (parallel_workers = 2); ROLLBACK TO s;
		 CREATE INDEX j ON t (b); COMMIT',
		[ 'i: unended', 'j: 1' ],
		error => qr/could not create unique index/);
	path('plpgsql exception',
		q{DO $$BEGIN
			BEGIN
				CREATE UNIQUE INDEX i ON t (b) WITH (parallel_workers = 2);
			EXCEPTION WHEN unique_violation THEN
				CREATE INDEX j ON t (b);
			END;
			CREATE INDEX k ON t (c);
		END$$},
		[ 'i: unended', 'j: 1', 'k: 1' ]);
}

sub run_paths
{
	my ($name, $workers) = @_;

	$db = "paths_$name";
	$max_workers = $workers;
	note "paths with max_parallel_maintenance_workers = $workers";
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, 'CREATE EXTENSION amcheck');
	$node->safe_psql('postgres', "ALTER DATABASE $db SET $_->[0] = $_->[1]")
	  foreach (
		[ 'session_preload_libraries', 'ptsort, ptsort_test' ],
		[ '"ptsort.log_build"', 'on' ],
		[ '"ptsort.min_table_size"', '0' ],
		[ 'max_parallel_maintenance_workers', $workers ]);

	create_index();
	refused_options();
	concurrently();
	constraints();
	rebuilds();
	partitions();
	languages();
	extension_script();
	errors();

	my ($dump) = run_command([ 'pg_dump', '-d', $node->connstr($db) ]);
	like($dump, qr/CREATE INDEX/, "$name: the dump has indexes");
	unlike($dump, qr/workers/, "$name: the dump has no request");
}

# Checks the ways to load the library into a session.
sub loading
{
	my $build = q{
SET ptsort.log_build = on;
SET ptsort.min_table_size = 0;
CREATE INDEX i ON t (a) WITH (parallel_workers = 1);
DROP INDEX i};
	my $built = sub {
		my ($name, $sql, @expected) = @_;
		my $offset = -s $node->logfile;
		my ($ret, $out, $err) = $node->psql('load', $sql);
		is_deeply([ builds_in(slurp_file($node->logfile, $offset)) ],
			\@expected, $name)
		  or diag($err);
		return $err;
	};

	$node->safe_psql('postgres', 'CREATE DATABASE load');
	$node->safe_psql('load', 'CREATE TABLE t AS SELECT i AS a FROM generate_series(1, 100) i');

	like($built->('not loaded', $build),
		qr/ERROR:  unrecognized parameter "parallel_workers"/,
		'not loaded: the server does not know the option');
	$built->('LOAD', "LOAD 'ptsort'; $build", 'i: 2');
	$built->('CREATE EXTENSION', "CREATE EXTENSION ptsort; $build", 'i: 2');
	$built->('the function', "SELECT * FROM ptsort_last_build(); $build", 'i: 2');
	$built->('DROP EXTENSION', "LOAD 'ptsort'; DROP EXTENSION ptsort; $build", 'i: 2');
	$built->('CREATE EXTENSION in a schema of its own',
		"CREATE SCHEMA s; CREATE EXTENSION ptsort SCHEMA s; ALTER EXTENSION ptsort SET SCHEMA public; $build",
		'i: 2');

	# a user who is not a superuser cannot turn the log lines on, but a
	# superuser can
	my $as_owner = "\\c - owner\n" . $build =~ s/SET ptsort.log_build = on;//r;
	$node->safe_psql('postgres', q{ALTER ROLE owner SET session_preload_libraries = 'ptsort';
ALTER ROLE owner SET ptsort.log_build = on});
	$node->safe_psql('load', 'ALTER TABLE t OWNER TO owner; GRANT CREATE ON SCHEMA public TO owner');
	$built->('session_preload_libraries of a role', $as_owner, 'i: 2');

	$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'ptsort'});
	$node->restart;
	$built->('shared_preload_libraries', $build, 'i: 2');
	$built->('both', "LOAD 'ptsort'; $as_owner", 'i: 2');
}

# A single-user server has no workers and does the build itself.
sub single_user
{
	my ($out, $err);

	$node->stop;
	IPC::Run::run(
		[
			'postgres', '--single', '-D', $node->data_dir, '-c',
			'ptsort.log_build=on', '-c', 'ptsort.min_table_size=0', 'load'
		],
		'<', \"CREATE INDEX i ON t (a) WITH (parallel_workers = 1)\n",
		'>', \$out, '2>', \$err);
	is_deeply([ builds_in($err) ], ['i: left, single-user mode'],
		'single-user mode')
	  or diag($err);
	$node->start;
	is($node->safe_psql('load', q{SELECT count(*) FROM pg_class WHERE relname = 'i'}),
		1, 'single-user mode: built');
}

$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION ''");
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN');
run_paths('parallel', 8);
run_paths('serial', 0);
loading();
single_user();

done_testing();
