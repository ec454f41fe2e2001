# One scan of a table for all indexes that a statement rebuilds.  The test
# checks which builds scan, and which builds load the runs of another build's
# scan.  The indexes are sound.  The errors are the same as in the server's
# builds, and occur at the same point.  Users' functions may do anything between
# two builds.  The statements leave nothing behind.
#
# Its log may have: \(PID [0-9]+\) was terminated by signal 9: Killed
#
# Depends on the version: the server decides the order of the builds
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IndexCheck;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', conf => q{
ptsort.parallel_workers = 2
maintenance_work_mem = '32MB'
min_parallel_table_scan_size = 0
max_prepared_transactions = 2
});
create_check($node);

# Returns the builds in the log since position $offset, each with the source of
# its tuples: "name: own" (a parallel scan for this index), "name: alone" (a
# serial scan), "name: n indexes" (a scan for n indexes), "name: from other"
# (the scan that the build of the index "other" made), or "name: left" (the
# server built the index).  If a build scans again, "name: again, reason"
# precedes the build; if a build starts over, "name: restarts" follows.
sub scans_since
{
	my ($offset) = @_;
	my @scans;
	foreach (slurp_file($node->logfile, $offset) =~ /LOG:  ptsort: (.*)/g)
	{
		push @scans, "$1: again, $2" if /^scanning again for index "(\w+)": (.*)/;
		push @scans, "$1: left" if /^leaving index "(\w+)" to/;
		push @scans, "$1: restarts" if /^restarting build of index "(\w+)"/;
		next unless /^building index "(\w+)": (\d)/;
		push @scans, "$1: "
		  . (/one scan for (\d+) indexes/ ? "$1 indexes" : /from the scan for "(\w+)"/ ? "from $1" : $2 == 1 ? 'alone' : 'own');
	}
	return join '; ', grep { !/pg_toast/ } @scans;
}

# Checks that the indexes are sound that were built since the last check.
my $checked = '';

sub check_new_indexes
{
	my ($name) = @_;
	check_indexes($node, $name, "AND pg_relation_filenode(indexrelid) <> ALL ('{$checked}')");
	$checked = $node->safe_psql('postgres',
		"SELECT string_agg(pg_relation_filenode(indexrelid)::text, ',') FROM pg_index WHERE indexrelid >= 16384");
	return;
}

# Runs the SQL, which must not fail, and then the SQL in $after.  Checks that
# the indexes are sound; returns the sources of the builds' tuples.
sub rebuilt
{
	my ($sql, $name, $after) = @_;
	my $end = log_end($node);
	my ($out, $err) = try_sql($node, $sql);
	is(error_of($err), '', "$name: no error");
	$node->safe_psql('postgres', $after) if $after;
	check_new_indexes($name);
	return scans_since($end);
}

my $rows = q{
SELECT i AS id, md5(i::text) COLLATE "en_US.utf8" AS word, i % 100 AS few,
	'2020-01-01'::timestamptz + i * 7919 % 5003 * interval '1 hour' AS at, i / 7.0 AS num
FROM generate_series(1, 8000) i};
$node->safe_psql('postgres', qq{
CREATE TABLE t AS $rows;
INSERT INTO t (id) SELECT generate_series(8001, 8100);
ALTER TABLE t ADD CONSTRAINT t_pkey PRIMARY KEY (id);
CREATE INDEX t_word ON t (word);
CREATE INDEX t_two ON t (few, at);
CREATE INDEX t_partial ON t (id, num) WHERE few = 1;
CREATE INDEX t_upper ON t (upper(word));
CREATE INDEX t_hash ON t USING hash (word);
CREATE INDEX t_at ON t (at DESC NULLS FIRST) INCLUDE (few);
ALTER TABLE t ADD CONSTRAINT t_key UNIQUE (num, id) DEFERRABLE;
});


# Every statement that rebuilds all indexes of a table
my $all = 't_pkey: 3 indexes; t_word: from t_pkey; t_two: from t_pkey; t_partial: own; t_upper: own; '
  . 't_at: 2 indexes; t_key: from t_at';
is(rebuilt($_, $_), $all, $_)
  foreach ('REINDEX TABLE t', 'REINDEX SCHEMA public', 'CLUSTER t USING t_word', 'VACUUM FULL t',
	'ALTER TABLE t ADD r float8 DEFAULT random()', 'ALTER TABLE t SET UNLOGGED', 'ALTER TABLE t SET LOGGED',
	'BEGIN; SAVEPOINT s; REINDEX TABLE t; RELEASE s; COMMIT');
is(rebuilt('ALTER TABLE t ALTER r TYPE int8', 'another type'), $all, 'another type of a column without index');
$all = 't_pkey: 2 indexes; t_word: from t_pkey; t_upper: own; t_key: 2 indexes; t_two: from t_key; t_partial: own; t_at: own';
is(rebuilt('ALTER TABLE t ALTER few TYPE int8', 'new indexes'), $all, 'indexes that ALTER TABLE makes anew');
is(rebuilt('REINDEX INDEX t_pkey', 'one'), 't_pkey: own', 'REINDEX INDEX');
is(rebuilt('REINDEX TABLE CONCURRENTLY t', 'concurrently'),
	't_pkey_ccnew: own; t_word_ccnew: own; t_upper_ccnew: own; t_key_ccnew: own; t_two_ccnew: own; t_partial_ccnew: own; t_at_ccnew: own',
	'CONCURRENTLY');

$node->safe_psql('postgres', qq{
CREATE MATERIALIZED VIEW m AS $rows;
CREATE UNIQUE INDEX m_id ON m (id);
CREATE INDEX m_word ON m (word);
CREATE TABLE parts (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (5000);
CREATE TABLE part2 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM t;
CREATE INDEX parts_id ON parts (id);
CREATE INDEX parts_word ON parts (word);
});
is(rebuilt('REFRESH MATERIALIZED VIEW m', 'refresh'), 'm_id: 2 indexes; m_word: from m_id', 'REFRESH MATERIALIZED VIEW');
is(rebuilt('REINDEX TABLE parts', 'partitions'),
	'part1_id_idx: 2 indexes; part1_word_idx: from part1_id_idx; part2_id_idx: 2 indexes; part2_word_idx: from part2_id_idx',
	'partitions');
$node->safe_psql('postgres', 'DROP TABLE parts; DROP MATERIALIZED VIEW m');


# Settings: indexes per scan, memory for sorts, temporary files, workers
my $none = $all =~ s/: (?:\d indexes|from \w+)/: own/gr;
is(rebuilt('SET ptsort.indexes_per_scan = 1; REINDEX TABLE t', 'one per scan'), $none, 'one per scan');
is(rebuilt('SET ptsort.indexes_per_scan = 2; REINDEX TABLE t', 'two per scan'),
	't_pkey: 2 indexes; t_word: from t_pkey; t_upper: own; t_key: 2 indexes; t_two: from t_key; t_partial: own; t_at: own', 'two per scan');
is(rebuilt(q{SET maintenance_work_mem = '9MB'; REINDEX TABLE t}, 'memory for three'),
	$all, 'memory for three');
is(rebuilt(q{SET maintenance_work_mem = '4MB'; REINDEX TABLE t}, 'little memory'), $none, 'little memory');
is(rebuilt(q{SET temp_file_limit = '100MB'; REINDEX TABLE t}, 'temp_file_limit'), $none, 'temp_file_limit');
is(rebuilt(q{SET ptsort_test.leader_participates = off; REINDEX TABLE t}, 'leader rests'), $all, 'the leader rests');
is(rebuilt(q{SET ptsort_test.server_pages = on; REINDEX TABLE t}, q{server's pages}), $all, q{the server's scan});
is(rebuilt(q{SET ptsort_test.spill_entries = 500; SET ptsort_test.merge_order = 2; REINDEX TABLE t}, 'runs'), $all, 'many runs');
my $alone = $none =~ s/own/alone/gr;
is(rebuilt("SET $_ = 0; REINDEX TABLE t", "no $_"), $alone, "$_ = 0")
  foreach ('ptsort.parallel_workers', 'max_parallel_workers');
is(rebuilt(q{SET ptsort.min_table_size = '1GB'; REINDEX TABLE t}, 'small table'), $none =~ s/own/left/gr, 'a small table');
is(rebuilt('SET min_parallel_table_scan_size = 10000; REINDEX TABLE t', 'no parallel scan'), $none, 'a table that would not be read in parallel');
is(rebuilt(q{CREATE TEMP TABLE temp AS SELECT * FROM t; CREATE INDEX ON temp (id); CREATE INDEX ON temp (word); REINDEX TABLE temp},
		'temporary'),
	'temp_id_idx: alone; temp_word_idx: alone; temp_id_idx: alone; temp_word_idx: alone', 'a temporary table');

# A collation contradicts its tables, because ptsort reads the tables as if the
# Czech "ch" were two letters.  The sort for a sibling (a later index of the
# shared scan) meets the contradiction and leaves no runs.  So the sibling's
# build scans the table, meets the contradiction as well, and starts over.
# Then keys of later builds do not follow the tables, so these builds cannot
# use the runs of the shared scan: the keys in these runs follow the tables.
my $czech = $node->safe_psql('postgres', q{
SELECT quote_ident(collname) FROM pg_collation
WHERE collname ~ '^cs_CZ\.utf-?8$' OR collname = 'cs-x-icu' ORDER BY collprovider LIMIT 1});
SKIP:
{
	skip('no Czech collation', 1) if $czech eq '';
	$node->safe_psql('postgres', qq{
CREATE TABLE czech AS SELECT id, ('{ca,ch,cz,h,d}'::text[])[1 + id % 5] || word COLLATE $czech AS word, few FROM t;
CREATE INDEX czech_id ON czech (id);
CREATE INDEX czech_word ON czech (word);
CREATE INDEX czech_two ON czech (few, word)});
	my $end = log_end($node);
	$node->safe_psql('postgres', 'SET client_min_messages = error; SET ptsort_test.learn_tuples = 0; SET ptsort_test.trust_collations = on; REINDEX TABLE czech');
	check_new_indexes('a contradiction');
	is(scans_since($end), 'czech_id: 3 indexes; czech_word: own; czech_word: restarts; '
		  . 'czech_two: again, settings changed; czech_two: own', 'a contradiction');
	$node->safe_psql('postgres', 'DROP TABLE czech');
}

# ptsort_last_build() after a shared scan, and the counts in pg_class
is($node->safe_psql('postgres', q{
CREATE INDEX t_last ON t (id DESC);
REINDEX TABLE t;
SELECT index_name, participant, scan_ms IS NULL, merge_load_ms IS NOT NULL FROM ptsort_last_build() WHERE participant IS NOT NULL;
SELECT tuples, pages = pg_relation_size('t_last') / 8192, temp_bytes > 0 FROM ptsort_last_build() WHERE participant IS NULL}),
	join("\n", map({ "t_last|$_|t|t" } 0 .. 2), '8100|t|t'), 'ptsort_last_build()');
is($node->safe_psql('postgres', q{
DROP INDEX t_last;
UPDATE pg_class SET reltuples = 0 WHERE relname ~ '^t(_[^h]|$)';
REINDEX TABLE t;
SELECT DISTINCT reltuples FROM pg_class WHERE relname ~ '^t_[^hp]'}), '8100', 'numbers of tuples');


# Broken HOT chains: the catalogs afterwards equal those of the server's builds.
$node->safe_psql('postgres', q{
CREATE TABLE hot (id int, a int, b int) WITH (fillfactor = 50);
INSERT INTO hot SELECT i, i, i FROM generate_series(1, 2000) i;
CREATE INDEX hot_id ON hot (id)});
my %checks;
foreach my $enable ('off', 'on')
{
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS hot_a, hot_b; VACUUM hot');
	my $old = $node->background_psql('postgres');
	$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$node->safe_psql('postgres', 'UPDATE hot SET a = a + 1, b = b + 1 WHERE id % 10 = 0');
	my $checks = q{SELECT string_agg(relname || indcheckxmin, ' ' ORDER BY relname) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE relname ~ '^hot'};
	my $end = log_end($node);
	$checks{$enable} = $node->safe_psql('postgres', qq{
SET ptsort.enable = $enable;
CREATE INDEX hot_a ON hot (a); CREATE INDEX hot_b ON hot (b);
$checks; REINDEX TABLE hot; $checks});
	end_session($old);
	$checks{$enable} .= "\n" . $node->safe_psql('postgres', "SET ptsort.enable = $enable; REINDEX TABLE hot; $checks");
	like(scans_since($end), qr/(?:; hot_id: 3 indexes; hot_a: from hot_id; hot_b: from hot_id){2}$/, 'HOT chains: shared') if $enable eq 'on';
}
is($checks{on}, $checks{off}, 'HOT chains: the server\'s indcheckxmin');
is($checks{on}, "hot_atrue hot_btrue hot_idfalse\n" x 2 . 'hot_afalse hot_bfalse hot_idfalse', 'HOT chains: they were broken');
check_new_indexes('HOT chains');


# The server and ptsort report the same duplicate, with the same message.  A
# duplicate in a sibling is an error of the sibling's build, even if the shared
# scan's sort found the duplicate.
$node->safe_psql('postgres', q{
CREATE TABLE dups (id int, word text COLLATE "en_US.utf8", few int);
INSERT INTO dups SELECT i, md5(i::text), i FROM generate_series(1, 5000) i;
CREATE INDEX dups_id ON dups (id);
CREATE INDEX dups_word ON dups (word);
CREATE INDEX dups_few ON dups (few) NULLS NOT DISTINCT;
UPDATE pg_index SET indisunique = true WHERE indexrelid IN ('dups_id'::regclass, 'dups_word'::regclass, 'dups_few'::regclass);
});
my $segments = dsm_segments($node);
foreach my $case (
	[ 'a word', q{UPDATE dups SET word = (SELECT word FROM dups WHERE id = 3) WHERE id = 4}, 'dups_word' ],
	[ 'a number', 'UPDATE dups SET few = 3 WHERE id = 4', 'dups_few' ],
	[ 'nulls', 'UPDATE dups SET few = NULL WHERE id IN (3, 4)', 'dups_few' ],
	[ 'all', q{UPDATE dups SET few = 3, id = 3, word = 'x' WHERE id IN (3, 4)}, 'dups_id' ],
	[ 'two', q{UPDATE dups SET few = 3, word = 'x' WHERE id IN (3, 4)}, 'dups_word' ])
{
	my ($name, $update, $index) = @$case;
	my $sql = "SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; BEGIN; UPDATE pg_index SET indisunique = false WHERE indrelid = 'dups'::regclass; $update; "
	  . q{UPDATE pg_index SET indisunique = true WHERE indrelid = 'dups'::regclass;};
	my ($out, $server) = try_sql($node, "SET ptsort.enable = off; $sql REINDEX TABLE dups");
	like(error_of($server), qr/^ERROR:  23505: could not create unique index "$index"\nDETAIL:  Key .* is duplicated\.$/, "duplicates, $name: the server");
	my $end = log_end($node);
	my ($out2, $ours) = try_sql($node, "$sql REINDEX TABLE dups");
	is(error_of($ours), error_of($server), "duplicates, $name: the same error");
	like(scans_since($end), qr/^dups_id: 3 indexes/, "duplicates, $name: one scan");
	check_nothing_left($node, "duplicates, $name", $segments);
}
is(rebuilt('REINDEX TABLE dups', 'no duplicates'), 'dups_id: 3 indexes; dups_word: from dups_id; dups_few: from dups_id', 'no duplicates');
# a copy of a table does not check for duplicates: the old table had none
is(rebuilt('VACUUM FULL dups', 'VACUUM FULL'), 'dups_id: 3 indexes; dups_word: from dups_id; dups_few: from dups_id', 'duplicates: not checked');


# The server and ptsort also raise the same errors about rows.  Here a row is
# too large for a later index, and another index has a duplicate.
$node->safe_psql('postgres', q{
CREATE TABLE late (id int, few int, wide text);
INSERT INTO late SELECT i, i, 'x' FROM generate_series(1, 3000) i;
CREATE INDEX late_id ON late (id);
CREATE INDEX late_few ON late (few);
CREATE INDEX late_wide ON late (wide, id);
UPDATE pg_index SET indisunique = true WHERE indexrelid = 'late_few'::regclass;
});

# REINDEX TABLE by the server and by ptsort after changes that update no index
sub late
{
	my ($name, $change, $scans) = @_;
	my @errors;
	my $end;
	foreach my $enable ('off', 'on')
	{
		$end = log_end($node);
		my ($out, $err) = try_sql($node, qq{
SET ptsort.enable = $enable; SET enable_indexscan = off; SET enable_bitmapscan = off;
BEGIN;
UPDATE pg_index SET indisready = false WHERE indrelid = 'late'::regclass;
$change;
UPDATE pg_index SET indisready = true WHERE indrelid = 'late'::regclass;
REINDEX TABLE late;
SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 'late'::regclass});
		push @errors, error_of($err);
	}
	is($errors[1], $errors[0], "late, $name: as by the server");
	is(scans_since($end), $scans, "late, $name: scans");
	check_nothing_left($node, "late, $name", $segments);
	return $errors[0];
}
my $wide = q{UPDATE late SET wide = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 600) i) WHERE id = 7};
like(late('duplicate, too large', "$wide; UPDATE late SET few = 3 WHERE id IN (3, 4)", 'late_id: 3 indexes; late_few: 2 indexes'),
	qr/23505: could not create unique index "late_few"/, 'late: the duplicate comes first');
like(late('too large', $wide, 'late_id: 3 indexes; late_few: from late_id; late_wide: own'),
	qr/54000: index row requires \d+ bytes/, 'late: the large row comes last');
is(late('compressed', q{UPDATE late SET wide = repeat('x', 20000) WHERE id = 7}, 'late_id: 3 indexes; late_few: from late_id; late_wide: from late_id'),
	'', 'late: no error');


# A user's comparison function may do anything, so an index that uses such a
# function does not share the scan.  The function here fails at a row; an
# earlier index's error comes first.
$node->safe_psql('postgres', q{
CREATE FUNCTION fussy_cmp(int4, int4) RETURNS int4 IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
	IF $1 = 2222 OR $2 = 2222 THEN
		RAISE 'not with me';
	END IF;
	RETURN sign($1 - $2);
END $$;
CREATE OPERATOR CLASS fussy_ops FOR TYPE int4 USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 fussy_cmp(int4, int4);
DROP INDEX late_wide;
DELETE FROM late WHERE id = 2222;
VACUUM late;
CREATE INDEX late_fussy ON late (few, id fussy_ops);
CREATE INDEX late_last ON late (id DESC);
});
my $fussy = 'INSERT INTO late VALUES (2222, 5000)';
like(late('duplicate, failing comparison', "$fussy; INSERT INTO late VALUES (9999, 5000)", 'late_id: 2 indexes; late_few: own'),
	qr/23505: could not create unique index "late_few"/, 'late: the duplicate comes first');
is(late('comparison in PL/pgSQL', 'SELECT 1', 'late_id: 2 indexes; late_few: from late_id; late_fussy: own; late_last: own'),
	'', 'late: no error of a comparison');
$node->safe_psql('postgres', 'DROP TABLE late');


# A function in another index may do anything between the shared scan and the
# sibling's build.
$node->safe_psql('postgres', q{
CREATE EXTENSION ptsort_test;
CREATE TABLE acts (act text);
INSERT INTO acts VALUES ('SELECT 1');
CREATE FUNCTION act(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
	IF i = 77 THEN
		EXECUTE (SELECT act FROM acts);
	END IF;
	RETURN i;
END $$;
CREATE FUNCTION act_and_fail() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ptsort_test_delete('between_them', '(0,2)');
	RAISE 'taken back';
EXCEPTION WHEN raise_exception THEN
	NULL;
END $$;
CREATE FUNCTION left_here() RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(name, ' ') FROM pg_ls_dir('base/pgsql_tmp', true, false) name);
CREATE FUNCTION try(what text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE what;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM || ', ' || coalesce(left_here(), 'nothing left');
END $$;
CREATE TABLE between_them AS SELECT id, word, few FROM dups;
CREATE INDEX b1 ON between_them (id);
CREATE INDEX b2 ON between_them (act(id));
CREATE INDEX b3 ON between_them (word);
CREATE INDEX b4 ON between_them (few);
});

sub between
{
	my ($act) = @_;
	$node->safe_psql('postgres', 'UPDATE acts SET act = $act$' . $act . '$act$');
	return rebuilt('REINDEX TABLE between_them', "between: $act", q{UPDATE acts SET act = 'SELECT 1'});
}
my $shared = 'b1: own; b2: alone; b3: 2 indexes; b4: from b3';
foreach my $act ('SELECT 1', q{SELECT ptsort_test_delete('between_them', '(0,1)')}, 'SELECT act_and_fail()',
	q{SELECT set_config('track_counts', 'off', false), ptsort_test_delete('between_them', '(0,3)'), set_config('track_counts', 'on', false)},
	q{SELECT try('SELECT 1/0')}, q{SELECT set_config('ptsort.parallel_workers', '1', false)})
{
	is(between($act), $shared, "between: $act");
}
is(rebuilt('SET track_counts = off; REINDEX TABLE between_them', 'nothing is counted'), $shared, 'nothing is counted');

# Two other kinds of builds share no scan: builds on a table with statistics on
# expressions, and builds on arrays.  Planning evaluates the constants in the
# expressions, and may call user functions.  Functions of the element type,
# which may be user functions, compare arrays.
$node->safe_psql('postgres', q{
CREATE STATISTICS between_stats ON (few + 1), id FROM between_them});
is(rebuilt('REINDEX TABLE between_them', 'statistics'), 'b1: own; b2: alone; b3: own; b4: own', 'statistics');
$node->safe_psql('postgres', q{
DROP STATISTICS between_stats;
CREATE STATISTICS between_stats ON few, id FROM between_them;
ALTER TABLE between_them ADD list int[];
CREATE INDEX b5 ON between_them (list);
CREATE INDEX b6 ON between_them USING hash (few);
CREATE INDEX b7 ON between_them (word COLLATE "C")});
is(rebuilt('REINDEX TABLE between_them', 'array'), "$shared; b5: own; b7: own", 'an array');
$node->safe_psql('postgres', 'DROP INDEX b5');
is(rebuilt('REINDEX TABLE between_them', 'hash'), 'b1: own; b2: alone; b3: 3 indexes; b4: from b3; b7: from b3', 'a hash index between them');
$node->safe_psql('postgres', 'DROP INDEX b6, b7');

# After an error between the scan and a sibling's build, the shared scan leaves
# nothing behind, and a session that catches the error can continue.
$node->safe_psql('postgres', q{UPDATE acts SET act = 'SELECT 1/0'});
is($node->safe_psql('postgres', q{
BEGIN;
SELECT try('REINDEX TABLE between_them');
UPDATE acts SET act = 'SELECT 2';
SELECT try('REINDEX TABLE between_them'), left_here();
COMMIT}), "division by zero, nothing left\ndone|", 'an error is caught');
check_nothing_left($node, 'an error is caught', $segments);
check_new_indexes('an error is caught');

# Another session cancels or kills the build while runs wait for later builds.
# Before that, the progress view shows the sibling's build.
foreach my $end ('pg_cancel_backend', 'pg_terminate_backend', 'kill')
{
	my $pause = pause_points($node);
	my $psql = start_psql($node, q{SET ptsort_test.fault = 'build: before load:2:pause:leader'}, 'REINDEX TABLE dups');
	ok(wait_for_point($node, 'build: before load'), "$end: a sibling is built");
	is($node->safe_psql('postgres', q{
SELECT command, phase, index_relid::regclass, tuples_total, blocks_total FROM pg_stat_progress_create_index}),
		'REINDEX|building index: loading tuples in tree|dups_word|5000|0', "$end: progress");
	is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp') name}), '2', "$end: files wait");
	my $pid = $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_progress_create_index');
	$node->safe_psql('postgres', "SELECT $end($pid)") if $end ne 'kill';
	if ($end eq 'kill')
	{
		$node->append_conf('postgresql.conf', 'restart_after_crash = on');
		$node->reload;
		kill 'KILL', $pid;
	}
	$psql->{run}->finish;
	$pause->{run}->finish if $end eq 'kill';
	end_session($pause) if $end ne 'kill';
	isnt($psql->{err}, '', "$end: ended");
	wait_until_back($node) if $end eq 'kill';
	check_nothing_left($node, $end, $end eq 'kill' ? undef : $segments);
}
check_new_indexes('ended');

# The server stops while runs wait for later builds, and starts again
my $pause = pause_points($node);
my $psql = start_psql($node, q{SET ptsort_test.fault = 'siblings: take:1:pause:leader'}, 'REINDEX TABLE dups');
ok(wait_for_point($node, 'siblings: take'), 'stop: runs wait');
$node->stop('immediate');
$psql->{run}->finish;
$pause->{run}->finish;
$node->start;
check_nothing_left($node, 'stop');
check_new_indexes('stop');
is(rebuilt('REINDEX TABLE dups', 'after the stop'), 'dups_id: 3 indexes; dups_word: from dups_id; dups_few: from dups_id', 'after the stop');

# The scan leaves out an index that another session locked; the build of that
# index scans the table later.
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; ALTER INDEX dups_word SET TABLESPACE pg_default');
my $end = log_end($node);
$psql = start_psql($node, 'REINDEX TABLE dups');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = 'dups_word'::regclass})
  or fail('no session waits');
$holder->query_safe('COMMIT');
end_session($holder);
$psql->{run}->finish;
is($psql->{err}, '', 'locked: no error');
is(scans_since($end), 'dups_id: own; dups_word: 2 indexes; dups_few: from dups_word', 'locked: left out');
check_new_indexes('locked');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE relation = 'dups_word'::regclass}), '0', 'locked: no lock is left');

# Another session renames an index that a table rewrite will build later.  At
# that time no process holds a lock on the index.  ptsort still builds the
# index.
foreach my $workers (0, 2)
{
	my $names = $node->safe_psql('postgres', q{SELECT string_agg(relname, ' ' ORDER BY indexrelid)
FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'dups'::regclass});
	is($names, 'dups_id dups_word dups_few', 'pending: names before');
	my $pausing = pause_points($node);
	my $from = log_end($node);
	my $vacuum = start_psql($node, qq{SET ptsort.parallel_workers = $workers; SET max_parallel_maintenance_workers = $workers; SET ptsort_test.fault = 'ambuild: begin:1:pause'},
		'VACUUM FULL dups');
	ok(wait_for_point($node, 'ambuild: begin'), 'pending: the first build begins');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE relation = 'dups_few'::regclass}), '0', 'pending: not locked');
	$node->safe_psql('postgres', 'ALTER INDEX dups_few RENAME TO dups_other');
	end_session($pausing);
	$vacuum->{run}->finish;
	is($vacuum->{err}, '', 'pending: no error');
	is(scans_since($from), $workers ? 'dups_id: 3 indexes; dups_word: from dups_id; dups_other: from dups_id' :
		'dups_id: alone; dups_word: alone; dups_other: alone', "pending: $workers workers");
	check_new_indexes('pending');
	$node->safe_psql('postgres', 'ALTER INDEX dups_other RENAME TO dups_few');
}

# An index that another session wants to lock causes no deadlock, although
# workers open the index meanwhile.  While the index's runs wait, the index
# gets a new file in another tablespace; the build can still use the runs.
$node->safe_psql('postgres', q{CREATE TABLESPACE elsewhere LOCATION ''});
$pause = pause_points($node);
$end = log_end($node);
$psql = start_psql($node, q{SET ptsort_test.fault = 'build: before launch:1:pause:leader'}, 'REINDEX TABLE dups');
ok(wait_for_point($node, 'build: before launch'), 'wanted: siblings are open');
my $mover = start_psql($node, 'ALTER INDEX dups_word SET TABLESPACE elsewhere');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = 'dups_word'::regclass})
  or fail('no session waits');
end_session($pause);
$mover->{run}->finish;
$psql->{run}->finish;
is("$mover->{err}$psql->{err}", '', 'wanted: no error');
is(scans_since($end), 'dups_id: 3 indexes; dups_word: from dups_id; dups_few: from dups_id', 'wanted: shared');
check_new_indexes('wanted');
check_nothing_left($node, 'wanted');

$node->stop;
done_testing();
