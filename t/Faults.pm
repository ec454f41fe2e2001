# Common parts of the tests of faults: a server in which ptsort_test can make
# space, memory and processes scarce; small tables whose builds pass every
# phase; SQL that judges an index and looks for leftovers of a failed build;
# and sessions that run many cells.  A cell is a build with a fault, and then a
# build without a fault.
package Faults;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Ptsort;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw($base_segments after_failure wait_for_end fault_node restart_node wait_for_restart configurations
  session_of run_cells run_last_cell run_faults sample passed_points source_points check_log);

# Number of segments of dynamic shared memory in a server without builds.
our $base_segments;

# Returns the path of the library that simulates shortages of system resources.
sub shortage_library
{
	my $dir = `pg_config --pkglibdir`;
	chomp $dir;
	return "$dir/ptsort_shortage.so";
}

# Tables, and functions that judge results.  A crash empties none of the tables.
#
# left_over() returns what a failed build left in its own session or in the
# server.  It checks pins several times, because a process that writes a page
# can pin the page for a moment.  It also waits for workers: if the leader fails
# while it registers a worker, that worker ends by itself, perhaps after the
# leader's error.  It compares the number of segments with their number after a
# successful build, and ignores segments of whole megabytes: they belong to the
# server's own areas (of statistics, for example), and these areas may grow at
# any time.
#
# An index with renewing() in its expression replaces a row during its build,
# which does not see the new version: validation must insert it.
#
# fail() runs a sort with a fault and returns what is wrong about its outcome.
# If the number of the failing allocation is a multiple of 8, fail() then runs
# and judges a sort without a fault.  Each test that uses fail() creates a
# function sort(what, OUT state, OUT message, OUT left_over), which returns the
# sort's SQLSTATE ('wrong' for a wrong result), the sort's message, and the
# result of left_by_sort().
my $prepare = q{
CREATE EXTENSION ptsort_test;
CREATE EXTENSION pg_buffercache;
CREATE TABLESPACE space LOCATION '';
CREATE TABLE t (id int, word text COLLATE "en_US.utf8");
INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, 3000) i;
CREATE TABLE dead AS SELECT * FROM t;
CREATE TABLE tiny AS SELECT * FROM t WHERE id <= 250;
CREATE TABLE frequent AS SELECT i AS id, 'one'::text AS word FROM generate_series(1, 150000) i;
CREATE TABLE digest AS SELECT count(*), sum(hashtext(word)) AS words, sum(hashint4(id)) AS ids FROM t;

CREATE FUNCTION same_as_before(name regclass) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	same bool;
BEGIN
	IF name = 'tiny'::regclass THEN
		RETURN (SELECT count(*) = 250 AND sum(hashtext(word)) = (SELECT sum(hashtext(md5(i::text))) FROM generate_series(1, 250) i) FROM tiny);
	END IF;
	IF name = 'frequent'::regclass THEN
		RETURN (SELECT count(*) = 150000 AND sum(id::bigint) = 150000 * 150001::bigint / 2 AND min(word) = max(word) FROM frequent);
	END IF;
	EXECUTE format('SELECT count(*) = (SELECT count FROM digest) AND sum(hashtext(word)) = (SELECT words FROM digest)
		AND sum(hashint4(id)) = (SELECT ids FROM digest) FROM %s', name) INTO same;
	RETURN same;
END $$;

CREATE FUNCTION sound(name text) RETURNS text LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
	index oid := to_regclass(name);
	tbl regclass;
	method name;
	problem text;
BEGIN
	IF index IS NULL THEN
		RETURN 'none';
	END IF;
	SELECT indrelid INTO tbl FROM pg_index WHERE indexrelid = index AND indisvalid;
	IF NOT FOUND THEN
		RETURN 'invalid';
	END IF;
	SELECT amname INTO method FROM pg_class JOIN pg_am a ON relam = a.oid WHERE pg_class.oid = index;
	IF method = 'btree' THEN
		PERFORM bt_index_parent_check(index, true, true);
	END IF;
	FOR problem IN SELECT details FROM ptsort_check(index, heap => true, workers => 0) WHERE problems > 0 LOOP
		RETURN problem;
	END LOOP;
	RETURN CASE WHEN same_as_before(tbl) THEN 'sound' ELSE 'damaged' END;
END $$;

CREATE FUNCTION cluster_it(name text, linked bool) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL ptsort.enable = off;
	EXECUTE format('CREATE INDEX before ON %I (word) TABLESPACE space', name);
	SET LOCAL ptsort.enable = on;
	ALTER INDEX before RENAME TO i;
	IF linked THEN
		EXECUTE format('UPDATE %I SET id = id WHERE id %% 100 = 0', name);
	END IF;
	EXECUTE format('CLUSTER %I USING i', name);
END $$;

CREATE FUNCTION rebuild(name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL ptsort.enable = off;
	EXECUTE format('CREATE INDEX first ON %s (id) TABLESPACE space', name);
	EXECUTE format('CREATE INDEX before ON %s (word) TABLESPACE space', name);
	SET LOCAL ptsort.enable = on;
	SET LOCAL min_parallel_table_scan_size = 0;
	ALTER INDEX before RENAME TO i;
	EXECUTE format('REINDEX TABLE %s', name);
	DROP INDEX first;
END $$;

CREATE FUNCTION renew() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM public.t WHERE id = 7;
	INSERT INTO public.t VALUES (7, md5('7'));
END $$;
CREATE FUNCTION renewing(id int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF id = 8 AND EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('public.i') AND NOT indisready) THEN
		PERFORM public.renew();
	END IF;
	RETURN id;
END $$;

CREATE FUNCTION segments() RETURNS bigint LANGUAGE sql
RETURN (SELECT count(*) FROM pg_ls_dir('pg_dynshmem') name, pg_stat_file('pg_dynshmem/' || name, true) file
	WHERE name LIKE 'mmap.%' AND file.size % (1024 * 1024) <> 0);

CREATE FUNCTION pinned() RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	FOR attempt IN 1..50 LOOP
		PERFORM FROM pg_buffercache b JOIN pg_class c ON pg_relation_filenode(c.oid) = b.relfilenode
			WHERE c.oid >= 16384 AND c.relname IN ('t', 'dead', 'tiny', 'frequent', 'i') AND pinning_backends > 0;
		IF NOT FOUND THEN
			RETURN false;
		END IF;
		PERFORM pg_sleep(0.1);
	END LOOP;
	RETURN true;
END $$;

CREATE FUNCTION left_workers() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	workers text;
BEGIN
	FOR attempt IN 1..200 LOOP
		PERFORM pg_stat_clear_snapshot();
		workers := concat_ws(', ',
			(SELECT 'workers: ' || string_agg(concat_ws(' ', pid, wait_event_type, wait_event), ', ') FROM pg_stat_activity WHERE backend_type = 'parallel worker'),
			(SELECT 'segments: ' || segments() WHERE segments() > current_setting('test.segments')::int));
		EXIT WHEN workers = '';
		PERFORM pg_sleep(0.1);
	END LOOP;
	RETURN nullif(workers, '');
END $$;

CREATE FUNCTION left_in(dir text) RETURNS SETOF text LANGUAGE sql
BEGIN ATOMIC
	SELECT name FROM pg_ls_dir(dir, true, false) name, pg_stat_file(concat(dir, '/', name), true) file
	WHERE file.size > 0 AND substring(name, '^[0-9]+')::oid NOT IN
		(SELECT pg_relation_filenode(oid) FROM pg_class WHERE pg_relation_filenode(oid) IS NOT NULL);
END;

CREATE FUNCTION left_relations() RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(name, ' ') FROM pg_tablespace s, pg_database d,
		pg_ls_dir('pg_tblspc/' || s.oid) version,
		LATERAL (SELECT left_in(format('pg_tblspc/%s/%s/%s', s.oid, version, d.oid))
			UNION ALL SELECT left_in('base/' || d.oid)) l (name)
	WHERE spcname = 'space' AND datname = current_database());

CREATE FUNCTION left_over() RETURNS text LANGUAGE sql
RETURN concat_ws(', ',
	left_workers(),
	(SELECT 'files: ' || string_agg(name, ' ') FROM pg_ls_dir('base/pgsql_tmp', true, false) name),
	(SELECT 'contexts: ' || string_agg(name, ' ') FROM pg_backend_memory_contexts WHERE name LIKE 'ptsort%'),
	(SELECT 'locks: ' || string_agg(relation::text, ' ') FROM pg_locks
		WHERE relation >= 16384 AND (relation IN (SELECT oid FROM pg_class WHERE relname IN ('t', 'dead', 'tiny', 'i'))
			OR relation NOT IN (SELECT oid FROM pg_class))),
	(SELECT 'settings' WHERE current_setting('max_parallel_maintenance_workers')::int <> 8),
	(SELECT 'pins' WHERE pinned()));

CREATE FUNCTION left_by_sort() RETURNS text LANGUAGE sql
RETURN concat_ws(', ',
	(SELECT 'files: ' || string_agg(name, ' ') FROM pg_ls_dir('base/pgsql_tmp', true, false) name),
	(SELECT 'contexts: ' || string_agg(name, ' ') FROM pg_backend_memory_contexts WHERE name LIKE 'ptsort%'),
	(SELECT 'segments: ' || segments() WHERE segments() > current_setting('test.segments', true)::int));

CREATE FUNCTION fail(what text, fault text, allocation int, allowed text[], OUT bad text, OUT state text, OUT failed bool)
LANGUAGE plpgsql AS $$
DECLARE
	result record;
BEGIN
	PERFORM set_config('ptsort_test.fault', fault, false);
	PERFORM set_config('ptsort_test.allocation', allocation::text, false);
	result := sort(what);
	failed := (SELECT f.failed > 0 OR f.acted > 0 AND fault NOT LIKE '%:_alloc' FROM ptsort_test_faults() f);
	PERFORM set_config('ptsort_test.fault', '', false);
	state := result.state;
	IF state <> ALL (allowed || '{00000}'::text[]) OR result.left_over <> '' THEN
		bad := format('%s %s: %s %s, left: %s', fault, allocation, state, result.message, result.left_over);
	END IF;
	IF allocation % 8 = 0 THEN
		result := sort(what);
		IF result.state <> '00000' OR result.left_over <> '' THEN
			bad := concat(bad, format('; after %s %s: %s %s, left: %s', fault, allocation, result.state, result.message, result.left_over));
		END IF;
	END IF;
END $$;
};

# For builds on the table "dead": adds rows and deletes them.  The returned
# session can still see these rows, so builds must index them.
sub hold_dead_rows
{
	my ($node, $config) = @_;
	return unless $config->{holds};
	$node->safe_psql('postgres', 'INSERT INTO dead SELECT id + 3000, word FROM dead WHERE id % 10 = 0');
	my $session = $node->background_psql('postgres');
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$node->safe_psql('postgres', 'DELETE FROM dead WHERE id > 3000');
	return $session;
}

# A Czech collation, or '' if the server has none.  Tests can make ptsort
# misread the collation's tables.
my $czech;

# Starts a server that always launches workers and has no background activity.
sub fault_node
{
	my ($name, $conf) = @_;
	ok(-f shortage_library(), 'the library of shortages exists') or BAIL_OUT('no library');
	local $ENV{LD_PRELOAD} = shortage_library();
	my $node = new_node($name, conf => q{
session_preload_libraries = 'ptsort'
shared_preload_libraries = 'ptsort_test'
ptsort.parallel_workers = 2
restart_after_crash = on
shared_buffers = '4MB'
max_connections = 20
} . ($conf // ''));
	delete local $ENV{LD_PRELOAD};
	$node->safe_psql('postgres', $prepare);
	$node->safe_psql('postgres', 'VACUUM ANALYZE');
	$czech = $node->safe_psql('postgres', q{
SELECT quote_ident(collname) FROM pg_collation
WHERE collname ~ '^cs_CZ\.utf-?8$' OR collname = 'cs-x-icu' ORDER BY collprovider LIMIT 1});
	$base_segments = $node->safe_psql('postgres', 'SELECT segments()');
	return $node;
}

# Starts the server again after a stop that bypassed the test framework.
sub restart_node
{
	my ($node) = @_;
	local $ENV{LD_PRELOAD} = shortage_library();
	$node->restart;
}

# Waits until the log shows that the server recovered from a crash.
sub wait_for_restart
{
	my ($node, $offset) = @_;
	foreach my $attempt (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if slurp_file($node->logfile, $offset) =~
		  /(?:reinitializing|starting PostgreSQL).*ready to accept connections/s;
		usleep(10_000);
	}
	return fail('the server does not come back');
}

# Waits until all other sessions and their workers ended.
sub wait_for_end
{
	my ($node) = @_;
	return $node->safe_psql('postgres', q{
DO $$
BEGIN
	FOR attempt IN 1..10000 LOOP
		PERFORM FROM pg_stat_activity
			WHERE backend_type IN ('client backend', 'parallel worker') AND pid <> pg_backend_pid();
		EXIT WHEN NOT FOUND;
		PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
	END LOOP;
END $$});
}

# Values of ptsort_test.turns with which the leader or the worker does all work
# that one participant can do.  With the last two values, one participant
# learns, and publishes the result only when the other participant waits for the
# result.
my $leader_scans = 'build: before scan:worker after build: after sort:leader';
my $worker_scans = 'build: before scan:leader after build: after sort:worker';
my $leader_loads = 'build: before load:worker after build: after load:leader';
my $worker_loads = 'build: before load:leader after build: after load:worker';
my $learner_waits = 'shared: publish learned after shared: wait for learning';
my %turns = (
	any => '',
	leader => "$leader_scans, $leader_loads",
	worker => "$worker_scans, $worker_loads",
	worker_scans => $worker_scans,
	leader_learns => "build: before scan:worker after shared: publish learned:leader, $learner_waits:worker",
	worker_learns => "build: before scan:leader after shared: publish learned:worker, $learner_waits:leader");

# Kinds of builds.  roles: for each process with points to test, the key in
# %turns with which the process always passes its points; points: the test uses
# only these points (at other points, chance decides which process waits for
# another to learn).  holds: another session must see dead rows.  copy: a table
# is copied before its index is built.  keeps: a failed statement leaves the index
# as it was.  logs: a pattern that the log must match.
sub configurations
{
	my $both = { leader => 'leader', worker => 'worker' };
	my $runs = 'SET ptsort_test.spill_entries = 500';
	my $serial = 'SET ptsort.parallel_workers = 0';
	my $vacuum = 'SET ptsort.enable = off; CREATE INDEX before ON t (word) TABLESPACE space; ALTER INDEX before RENAME TO i; RESET ptsort.enable; VACUUM FULL t';
	my $point = 'point(id % 50, hashint4(id))';
	my $array = '(ARRAY[word, left(word, 1), NULL])';
	return (
		{ name => 'text', setup => $runs, create => 'CREATE INDEX i ON t (word) TABLESPACE space', roles => $both },
		{ name => 'exact', setup => $runs, create => 'CREATE INDEX i ON t (id) TABLESPACE space', roles => $both },
		{ name => 'merges', setup => "$runs; SET ptsort_test.merge_order = 2; SET ptsort.max_io_rate = '1TB'",
			create => 'CREATE INDEX i ON t (id, word) TABLESPACE space', roles => $both },
		{ name => 'leader learns', setup => $runs, create => 'CREATE INDEX i ON t (word) TABLESPACE space',
			points => qr/learn/, roles => { leader => 'leader_learns', worker => 'leader_learns' } },
		{ name => 'worker learns', setup => $runs, create => 'CREATE INDEX i ON t (word) TABLESPACE space',
			points => qr/learn/, roles => { leader => 'worker_learns' } },
		{ name => 'unique with dead rows', setup => $runs, holds => 1,
			create => 'CREATE UNIQUE INDEX i ON dead (word) TABLESPACE space', roles => $both },
		# ptsort reads the tables of the collation as if the Czech "ch" were
		# two letters
		$czech eq '' ? () : { name => 'starts over', logs => qr/restarting build of index "i"/,
			setup => "$runs; SET ptsort_test.learn_tuples = 0; SET ptsort_test.trust_collations = on",
			create => qq{SELECT ptsort_test_trust_collations();
CREATE INDEX i ON t ((('{ca,ch,cz,h,d}'::text[])[1 + id % 5] || word) COLLATE $czech) TABLESPACE space}, roles => $both },
		# validation compares the page of the row that nobody sees
		{ name => 'concurrently', setup => $runs, roles => $both,
			create => q{BEGIN; INSERT INTO t VALUES (0, 'aborted'); ROLLBACK;
CREATE INDEX CONCURRENTLY i ON t (word, id) TABLESPACE space} },
		{ name => 'concurrently with a new row', setup => $runs,
			create => 'CREATE INDEX CONCURRENTLY i ON t (renewing(id)) TABLESPACE space', roles => { leader => 'any' } },
		{ name => 'copied', setup => $runs, copy => 1, create => q{SELECT cluster_it('t', false)}, roles => $both },
		{ name => 'copied by the server', setup => $runs, copy => 1, create => q{SELECT cluster_it('t', true)}, roles => $both },
		{ name => 'copied in memory', setup => $serial, copy => 1, create => q{SELECT cluster_it('t', false)},
			roles => { leader => 'any' } },
		# either process may load all slices of the index
		{ name => 'vacuumed', setup => $runs, copy => 1, keeps => 1, create => $vacuum,
			points => qr/^(?:cluster|tablecopy|copywrite|pagewrite: (?:log|write|written)$|build: (?:before|after) scan)/,
			roles => { leader => 'leader', worker => 'worker_scans' } },
		{ name => 'vacuumed in memory', setup => $serial, copy => 1, keeps => 1, create => $vacuum, roles => { leader => 'any' } },
		{ name => 'sibling', setup => $runs, create => q{SELECT rebuild('t')}, roles => $both },
		{ name => 'gist', setup => $runs, create => "CREATE INDEX i ON t USING gist ($point) TABLESPACE space", roles => $both },
		{ name => 'gist in memory', setup => $serial,
			create => "CREATE INDEX i ON t USING gist ($point) INCLUDE (word) TABLESPACE space", roles => { leader => 'any' } },
		# one key has many TIDs
		{ name => 'gin', setup => "$runs; SET ptsort_test.slices = 6", roles => $both,
			create => "CREATE INDEX i ON t USING gin ($array) TABLESPACE space" },
		{ name => 'gin in memory', setup => $serial, create => "CREATE INDEX i ON t USING gin ($array, $array) TABLESPACE space",
			roles => { leader => 'any' } },
		# the key has several leaves of its posting tree in each slice
		{ name => 'gin with a frequent key', setup => "$runs; SET ptsort_test.slices = 3", points => qr/late TIDs/,
			create => 'CREATE INDEX i ON frequent USING gin ((ARRAY[word])) TABLESPACE space', roles => { leader => 'leader' } },
		{ name => 'serial', setup => "$serial; $runs", create => 'CREATE INDEX i ON t (word) TABLESPACE space',
			roles => { leader => 'any' } },
		{ name => 'in memory', setup => $serial, create => 'CREATE UNIQUE INDEX i ON t (id) INCLUDE (word) TABLESPACE space',
			roles => { leader => 'any' } });
}

# Returns a pattern of the state of the index after a failed statement.
sub after_failure
{
	my ($config) = @_;
	return $config->{keeps} ? qr/^sound$/ : qr/^(?:none|invalid)$/;
}

# Returns the first statements of a configuration's session.
sub session_of
{
	my ($config, $role) = @_;
	return "$config->{setup}; SET ptsort_test.turns = '$turns{ $config->{roles}{$role} }';";
}

# Returns the points, sorted by name, that a process in the given role passes in
# a build without faults.
sub passed_points
{
	my ($node, $config, $role) = @_;
	my $setup = session_of($config, $role);
	my $holder = hold_dead_rows($node, $config);
	my $begin = log_end($node);
	my $out = $node->safe_psql('postgres', qq{
$setup
SELECT set_config('ptsort_test.fault', 'nowhere', false);
$config->{create};
SELECT 'passed ' || point FROM ptsort_test_points() WHERE $role > 0 ORDER BY point COLLATE "C";
SELECT 'index ' || sound('i');
DROP INDEX i});
	end_session($holder) if $holder;
	like($out, qr/^index sound$/m, "$config->{name}: sound without a fault ($role)");
	like(slurp_file($node->logfile, $begin), $config->{logs}, "$config->{name}: the log says so ($role)")
	  if $config->{logs};
	my $wanted = $config->{points} // qr/^(?!shared: wait for learning)/;
	return grep { $_ =~ $wanted } $out =~ /^passed (.*)$/mg;
}

# Returns the points that the sources name, except the points of queries.
sub source_points
{
	my ($top) = @_;
	my %points;
	foreach my $file (glob("$top/src/*.c $top/src/*/*.c"))
	{
		$points{$_} = 1 foreach slurp_file($file) =~ /\bfault_point\("((?!query: )[^"]+)"\)/g;
	}
	return sort keys %points;
}

# Returns the first SQL of a session that looks for leftovers.  The session's
# first build creates the segments that every session has.
sub prepare_session
{
	my ($config) = @_;
	return qq{
SET client_min_messages = error;
$config->{create};
DROP INDEX i;
SELECT set_config('test.segments', segments()::text, false);
};
}

# Returns the SQL of one cell: a build with a fault, a search for leftovers,
# then a build without a fault.  With "quick", the second build only needs to
# finish.  If an allocation fails while the server applies its own invalidations
# at the end of a command, its relcache entry keeps the file that the command
# made: GRANT makes the entry again.
sub cell_sql
{
	my ($config, $number, $cell) = @_;
	my $set = $cell->{set} // '';
	my $reset = $cell->{reset} // '';
	my $renew = $config->{keeps} ? 'GRANT SELECT ON t, tiny TO public;' : '';
	my $next = $cell->{quick} ? q{(SELECT 'built' FROM pg_class WHERE relname = 'i')} : q{sound('i')};
	return qq{
$set;
SET ptsort_test.fault = '$cell->{fault}';
$config->{create};
\\echo cell $number result :SQLSTATE :LAST_ERROR_MESSAGE
SELECT unnest(ARRAY['cell $number acted ' || acted, 'cell $number failed ' || failed]) FROM ptsort_test_faults();
SELECT 'cell $number counted ' || ptsort_test_allocations();
SET ptsort_test.fault = '';
$reset;
$renew
SELECT 'cell $number left ' || concat_ws(', ', left_over(), 'relations: ' || left_relations());
SELECT 'cell $number index ' || sound('i');
DROP INDEX IF EXISTS i;
$config->{create};
SELECT 'cell $number next ' || $next;
DROP INDEX IF EXISTS i;
};
}

# Runs cells in one session and returns the outcome of each: result (SQLSTATE of
# the build with the fault), message, acted, failed, counted, left, index, next.
# The first outcome also has the size of TopMemoryContext before the sixth cell
# and after the last.  If the session ends early, a cell's outcome has only the
# fields up to that point.
sub run_cells
{
	my ($node, $config, $role, @cells) = @_;
	my $sql = session_of($config, $role) . prepare_session($config);
	my $top = q{SELECT 'cell 0 WHEN ' || used_bytes FROM pg_backend_memory_contexts WHERE name = 'TopMemoryContext';};
	my $n = 0;
	foreach my $cell (@cells)
	{
		$sql .= $top =~ s/WHEN/before/r if $n == 5;
		$sql .= cell_sql($config, $n++, $cell);
	}
	$sql .= $top =~ s/WHEN/after/r;
	$sql .= "CHECKPOINT;\n\\echo end of session\n";
	my $holder = hold_dead_rows($node, $config);
	my ($ret, $out, $err) = $node->psql('postgres', $sql, on_error_stop => 0);
	end_session($holder) if $holder;
	my @results = map { {} } @cells;
	$results[$1]{$2} = $3 while $out =~ /^cell (\d+) (\w+) (.*)$/mg;
	foreach my $result (@results)
	{
		($result->{result}, $result->{message}) = split / /, $result->{result}, 2
		  if defined $result->{result};
	}
	$results[0]{session} = $out =~ /^end of session$/m ? 'ended' : $err;
	return @results;
}

# Runs one cell whose fault ends the session.  Calls $wait, then runs the rest
# of the cell in another session.  Returns ended (1 if the fault ended the
# session), message, left, index and next of the cell, and table ('true' if the
# table is unchanged).
sub run_last_cell
{
	my ($node, $config, $role, $fault, $wait) = @_;
	my ($ret, $out, $err) = $node->psql(
		'postgres', session_of($config, $role) . "SET ptsort_test.fault = '$fault'; $config->{create}",
		on_error_stop => 0,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	my %result = (ended => $ret == 2 ? 1 : 0, message => $err);
	$wait->();
	($ret, $out, $err) = $node->psql('postgres', qq{
SET test.segments = $base_segments;
$config->{setup};
SELECT 'left ' || left_over();
SELECT 'table ' || same_as_before('t');
SELECT 'index ' || sound('i');
DROP INDEX IF EXISTS i;
$config->{create};
SELECT 'next ' || sound('i');
DROP INDEX i;
}, on_error_stop => 0);
	$result{$1} = $2 while $out =~ /^(left|table|index|next) (.*)$/mg;
	$result{$_} //= $err foreach qw(left table index next);
	return \%result;
}

# Calls fail() for each (fault, allocation), all in one new session.  $what is
# the sort; $allowed has the SQLSTATEs with which the sort may fail.  Returns
# the number of calls, of failures and of right results, the bad outcomes, and
# the growth of TopMemoryContext after the first five calls.
sub run_faults
{
	my ($node, $setup, $what, $allowed, @faults) = @_;
	my $values = join ', ', map { "('$_->[0]', $_->[1])" } @faults;
	my $quoted = $what =~ s/'/''/gr;
	my $call = "fail('$quoted', fault, allocation, '{$allowed}')";
	my $top = q{(SELECT used_bytes FROM pg_backend_memory_contexts WHERE name = 'TopMemoryContext')};
	my $out = $node->safe_psql('postgres', qq{
$setup;
SET client_min_messages = error;
SELECT set_config('test.segments', (segments() + 1)::text, false);
SELECT count(*) FROM generate_series(1, 5), sort('$quoted');
CREATE TEMP TABLE faults AS SELECT * FROM (VALUES $values) v (fault, allocation);
CREATE TEMP TABLE results AS SELECT f.* FROM (SELECT * FROM faults LIMIT 5) l, $call f;
SELECT $top AS before \\gset
INSERT INTO results SELECT f.* FROM (SELECT * FROM faults OFFSET 5) l, $call f;
SELECT 'result', count(*), count(*) FILTER (WHERE failed), count(*) FILTER (WHERE state = '00000'), $top - :before FROM results;
SELECT 'bad ' || bad FROM results WHERE bad IS NOT NULL LIMIT 10;
});
	my ($n, $failed, $right, $grown) = $out =~ /^result\|(\d+)\|(\d+)\|(\d+)\|(-?\d+)$/m;
	return ($n, $failed, $right, join("\n", $out =~ /^bad (.*)$/mg), $grown);
}

# Returns the part of a list that a run has time for: all elements with
# PTSORT_FAULTS=all, otherwise every n-th element.  The date, or the number in
# PTSORT_FAULTS, decides which elements.
sub sample
{
	my ($n, @list) = @_;
	my $choice = $ENV{PTSORT_FAULTS} || int(time / 86400);
	return @list if $choice eq 'all';
	note("PTSORT_FAULTS=$choice");
	return @list[ grep { ($_ + $choice) % $n == 0 } 0 .. $#list ];
}

# Checks that the log has no forbidden line; lines that match $opt{panic} are
# allowed.
sub check_log
{
	my ($node, %opt) = @_;
	my @bad;
	foreach my $line (split /\n/, slurp_file($node->logfile))
	{
		next if $opt{panic} && $line =~ $opt{panic};
		push @bad, $line
		  if $line =~ /TRAP|PANIC|write past chunk end|\bleak|leaving index "i"/;
	}
	is(join("\n", splice(@bad, 0, 10)), '', 'the log has no forbidden line');
}

1;
