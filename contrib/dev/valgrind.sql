-- valgrind.sql - index builds and sorts of files on a server under valgrind.
-- Builds are slow under valgrind, so the script uses small tables, and tiny
-- budgets to reach all code paths of the sort and of the load.  ptsort_check()
-- checks the indexes, sound and damaged.
-- check-valgrind.sh runs this script and then checks valgrind's logs.  The
-- script prints one line for each build, "ok N - ..."  or "not ok N - ...".  A
-- build is right if it had the expected participants, amcheck finds every row of a
-- btree and ptsort_check() no problem, or if it failed with the expected error.
\set QUIET on
\set ON_ERROR_STOP on
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION amcheck;
CREATE EXTENSION citext;
CREATE EXTENSION ptsort;
CREATE SEQUENCE builds;

-- Changes the settings of ptsort and ptsort_test for a build: "name = value,
-- ..."
CREATE FUNCTION use_settings(settings text) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
	part text;
BEGIN
	PERFORM set_config(name, reset_val, false) FROM pg_settings
	WHERE name ~ '^ptsort(_test)?[.]' AND setting <> reset_val;
	FOREACH part IN ARRAY string_to_array(settings, ', ') LOOP
		PERFORM set_config(split_part(part, ' = ', 1), split_part(part, ' = ', 2), false);
	END LOOP;
	RETURN current_setting('ptsort.parallel_workers')::int;
END $$;

-- Runs CREATE kind INDEX ON definition, with the given settings.  expected is
-- the SQLSTATE of the expected error, if any.
CREATE FUNCTION build(kind text, definition text, settings text, expected text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	workers int := use_settings(settings);
	n int := nextval('builds');
	name text := format('build_%s', n);
	said text := '';
	built int;
BEGIN
	BEGIN
		EXECUTE format('CREATE %s INDEX %I ON %s', kind, name, definition);
		SELECT count(*) INTO built FROM ptsort_last_build()
		WHERE index_name = name AND participant IS NOT NULL;
		IF built <> workers + 1 THEN
			said := format('%s participants', built);
		END IF;
		IF definition !~ 'USING gin ' THEN
			PERFORM bt_index_check(name::regclass, true);
		END IF;
		SELECT problems INTO built FROM ptsort_check(name, true, workers);
		IF built > 0 THEN
			said := said || format(' %s problems', built);
		END IF;
		EXECUTE format('DROP INDEX %I', name);
		IF expected IS NOT NULL THEN
			said := 'no error';
		END IF;
	EXCEPTION WHEN OTHERS THEN
		said := CASE WHEN SQLSTATE = expected THEN '' ELSE SQLSTATE || ' ' || SQLERRM END;
	END;
	RETURN format('%sok %s - %s %s (%s)%s', CASE WHEN said <> '' THEN 'not ' END,
		n, kind, definition, settings, nullif(': ' || said, ': '));
END $$;

-- Three ways to build: in memory; serially, with several runs and merge passes;
-- and with three participants, whose final merge has five slices.
\set memory '''ptsort.parallel_workers = 0, ptsort_test.learn_tuples = 0'''
\set serial '''ptsort.parallel_workers = 0, ptsort_test.spill_entries = 400, ptsort_test.merge_order = 3'''
\set parallel '''ptsort.parallel_workers = 2, ptsort_test.spill_entries = 300, ptsort_test.merge_order = 2, ptsort_test.slices = 5'''

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'blue');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN word AS text COLLATE "C" CHECK (length(value) > 0);
CREATE COLLATION level1 (PROVIDER = icu, LOCALE = 'und-u-ks-level1', DETERMINISTIC = false);
CREATE FUNCTION letters(i int) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN md5((i % 2000)::text);

CREATE TABLE t AS SELECT
	i AS id,
	(hashint4(i)::int8 << 20) # i AS i8,
	(hashint4(i) % 300)::int2 AS few,
	CASE WHEN i % 7 > 0 THEN hashint4(i + 1) END AS nullable,
	letters(i)::uuid AS u,
	timestamptz '2020-01-01' + i % 1000 * interval '37 minutes' AS at,
	(hashint4(i) / 977.0)::numeric AS num,
	hashint4(i) / 7.0::float8 AS f8,
	letters(i) AS txt,
	'https://www.example.org/' || left(letters(i), 3) || '/' || i % 900 || '/page' AS url,
	repeat('a', 120) AS wide,
	(ARRAY['Ärger', 'arg', 'ARG', 'coté', 'côte', 'чай', '漢字', 'ﬁ', ''])[1 + i % 9] || i % 250 AS words,
	letters(i)::bytea AS raw,
	left(letters(i), 20)::name AS nam,
	left(letters(i), 4)::char(9) AS padded,
	left(letters(i), 5)::citext AS ci,
	('x' || i % 500)::word AS dom,
	(enum_range(null::mood))[1 + i % 4] AS mood,
	ARRAY[i % 10, hashint4(i) % 100] AS arr,
	int4range(i % 100, i % 100 + i % 17 + 1) AS rng,
	ROW(i % 50, letters(i))::pair AS pair,
	jsonb_build_object('k', i % 300, 'v', left(letters(i), 6)) AS js,
	('10.' || i % 200 || '.' || i % 13 || '.1/24')::inet AS net,
	i % 100 * interval '13 hours' AS span,
	(i % 2 = 0) AS flag,
	(i % 90)::"char" AS one
FROM generate_series(1, 2500) i;
VACUUM (FREEZE, ANALYZE) t;

-- Exact keys
SELECT build('', 't (i8)', s) FROM unnest(ARRAY[:memory, :serial, :parallel]) s;
SELECT build('', 't (few, id DESC)', s) FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('', 't (u)', s) FROM unnest(ARRAY[:serial, :parallel]) s;
SELECT build('', 't (nullable DESC NULLS LAST, few)', s) FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('', 't (flag, one, mood, at) WITH (deduplicate_items = off)', :parallel);
SELECT build('', 't (few)', s || ', ptsort_test.key_class = ' || c) FROM unnest(ARRAY[:memory, :parallel]) s, unnest('{auto,prefix,compared}'::text[]) c;
SELECT build('UNIQUE', 't (i8)', s) FROM unnest(ARRAY[:memory, :parallel]) s;

-- Words that hold key prefixes, and the server's abbreviated keys
SELECT build('', 't (num)', s) FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('', 't (f8, few) INCLUDE (txt)', :parallel);
SELECT build('', 't (raw, nam)', :serial);
SELECT build('', 't (net, span)', :parallel);
SELECT build('', 't (padded, one)', :parallel);
SELECT build('', 't (txt COLLATE "C")', s) FROM unnest(ARRAY[:memory, :serial, :parallel]) s;

-- Text with collations of libc and ICU
SELECT build('', 't (url COLLATE "en_US.utf8")', s) FROM unnest(ARRAY[:memory, :serial, :parallel]) s;
SELECT build('', 't (words COLLATE "en_US.utf8", id)', s) FROM unnest(ARRAY[:memory, :parallel, :parallel || ', ptsort.use_collation_tables = off']) s;
SELECT build('', 't (words COLLATE "und-x-icu")', s) FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('', 't (words COLLATE level1)', :parallel);
SELECT build('', 't (dom)', :memory);
SELECT build('', 't (ci)', :parallel);

-- Compared keys
SELECT build('', 't (arr)', :parallel);
SELECT build('', 't (rng, pair)', :serial);
SELECT build('', 't (js)', :parallel);

-- GIN: keys of all kinds of types; many keys, and few with many TIDs
SELECT build('', format('t USING gin (%s)', keys), s) FROM unnest(ARRAY[:memory, :serial, :parallel]) s,
	unnest('{arr,js,js jsonb_path_ops,"(ARRAY[txt, ''one'', NULL])"}'::text[]) keys;
SELECT build('', format('t USING gin ((ARRAY[%s, %s]), arr)', c, c), :parallel)
FROM unnest('{i8,few,u,num,f8,raw,nam,padded,ci,dom,mood,rng,pair,net,span,flag,one,words COLLATE level1}'::text[]) c;
SELECT build('', 't USING gin ((to_tsvector(''simple'', url)))', s) FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('', 't USING gin ((ARRAY[repeat(txt, 84), wide || wide || wide])) WHERE id < 300', s) FROM unnest(ARRAY[:memory, :parallel]) s;

-- Tuples with many columns or much data; the last one has the largest size that
-- ptsort forms in place
SELECT build('', 't (id) INCLUDE (wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide)',
	s) FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('', 't (txt COLLATE "C", wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, url)', :parallel);
SELECT build('', format('t (%s) WITH (fillfactor = 50)', string_agg((ARRAY['few', 'flag', 'nullable', 'txt', 'one', 'at'])[1 + i % 6], ', ')), :parallel)
FROM generate_series(1, 32) i;

-- Expressions and predicates
SELECT build('', 't (upper(txt), (id % 10)) WHERE few % 3 = 0', s) FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('UNIQUE', 't ((i8 + 1)) WHERE id > 100', :parallel);

-- Values that are compressed or stored out of line
CREATE TABLE toasted (id int, packed text, far text);
ALTER TABLE toasted ALTER far SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT i, repeat(letters(i), 20 + i % 40), (SELECT string_agg(letters(i * j), '') FROM generate_series(1, 80) j)
FROM generate_series(1, 300) i;
SELECT build('', 'toasted (packed)', :parallel);
SELECT build('', 'toasted (left(far, 2500), id)', s) FROM unnest(ARRAY[:memory, :parallel]) s;

-- Dead tuples, recently dead tuples, and update chains.  The prepared
-- transaction holds back the xmin horizon, so that tuples are recently dead.
BEGIN;
SELECT FROM txid_current();
PREPARE TRANSACTION 'old';
CREATE TABLE dead AS SELECT i AS id, letters(i) AS txt, 0 AS n FROM generate_series(1, 2000) i;
UPDATE dead SET n = 1 WHERE id % 5 = 0;
UPDATE dead SET n = 2 WHERE id % 20 = 0;
DELETE FROM dead WHERE id % 3 = 0;
INSERT INTO dead SELECT i, letters(i), 3 FROM generate_series(3, 2000, 6) i;
SELECT build('UNIQUE', 'dead (id)', s) FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('UNIQUE', 'dead (txt COLLATE "en_US.utf8") INCLUDE (id)', s) FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('', 'dead (n)', :parallel);
ROLLBACK PREPARED 'old';
BEGIN;
DELETE FROM dead WHERE id % 2 = 0;
SELECT build('', 'dead (txt)', :parallel);
ROLLBACK;

-- Builds by CLUSTER, REINDEX and VACUUM FULL, and builds with CONCURRENTLY
SELECT use_settings(:parallel) > 0 AND NULL;
CREATE UNIQUE INDEX t_id ON t (id);
CLUSTER t USING t_id;
REINDEX TABLE t;
VACUUM FULL t;
CREATE INDEX CONCURRENTLY t_url ON t (url);
REINDEX INDEX CONCURRENTLY t_url;
SELECT format('%sok %s - CLUSTER, VACUUM FULL, REINDEX, CONCURRENTLY', CASE WHEN NOT ours THEN 'not ' END, nextval('builds'))
FROM (SELECT count(*) = 3 AS ours FROM ptsort_last_build() WHERE index_name LIKE 't_url%' AND participant IS NOT NULL) s;
SELECT format('ok %s - the rebuilt indexes are right', nextval('builds'))
FROM (SELECT bt_index_parent_check(i, true, true) FROM unnest('{t_id,t_url}'::regclass[]) i) s;

-- One scan of a table with dead rows fills indexes with several kinds of keys:
-- exact keys, prefixes and text.  ptsort builds the last index from another
-- index's scan, except in three cases: there are too many indexes, the last
-- index's sort failed because a row may be too large, or an earlier index has a
-- duplicate.  statement rebuilds the indexes of "many".  taken is true if the
-- test expects that ptsort builds the last index from another index's scan.
CREATE TABLE many AS SELECT id, few, nullable, txt, wide FROM t WHERE id <= 1000;
DELETE FROM many WHERE id % 3 = 0;
-- An index on an expression ends a group of indexes that share a scan, so this
-- test creates it first.
CREATE INDEX many_3 ON many ((ROW(few, txt)::pair));
CREATE UNIQUE INDEX many_1 ON many (id, nullable);
CREATE INDEX many_2 ON many (txt COLLATE "en_US.utf8", id DESC) INCLUDE (few);
CREATE INDEX many_4 ON many (few) WITH (deduplicate_items = off);
CREATE INDEX many_5 ON many (txt COLLATE "C", wide);
CREATE FUNCTION rebuild(statement text, settings text, taken bool, expected text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	workers int := use_settings(settings);
	said text := '';
	found bool;
BEGIN
	BEGIN
		EXECUTE statement;
		SELECT count(*) = workers + 1 AND bool_and(scan_ms IS NULL) INTO found FROM ptsort_last_build()
		WHERE index_name = 'many_5' AND participant IS NOT NULL;
		IF found IS DISTINCT FROM taken THEN
			said := format('from the scan of another index: %s', found);
		END IF;
		PERFORM bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 'many'::regclass;
		IF expected IS NOT NULL THEN
			said := 'no error';
		END IF;
	EXCEPTION WHEN OTHERS THEN
		said := CASE WHEN SQLSTATE = expected THEN '' ELSE SQLSTATE || ' ' || SQLERRM END;
	END;
	RETURN format('%sok %s - %s (%s)%s', CASE WHEN said <> '' THEN 'not ' END,
		nextval('builds'), statement, settings, nullif(': ' || said, ': '));
END $$;
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '20MB';
SELECT rebuild('REINDEX TABLE many', :parallel, true);
SELECT rebuild('CLUSTER many USING many_2', 'ptsort.parallel_workers = 1, ptsort.indexes_per_scan = 3', false);
ALTER TABLE many ALTER wide SET STORAGE EXTERNAL;
BEGIN;
UPDATE pg_index SET indisready = false WHERE indexrelid = 'many_5'::regclass;
INSERT INTO many SELECT id, few, nullable, txt, repeat(wide, 100) FROM t WHERE id = 3;
UPDATE pg_index SET indisready = true WHERE indexrelid = 'many_5'::regclass;
SELECT rebuild('REINDEX TABLE many', :parallel, false, '54000');
ROLLBACK;
BEGIN;
UPDATE pg_index SET indisunique = true WHERE indexrelid = 'many_4'::regclass;
SELECT rebuild('REINDEX TABLE many', :parallel, NULL, '23505');
ROLLBACK;
RESET min_parallel_table_scan_size;
RESET maintenance_work_mem;

-- Errors: duplicates, tuples that are too large, an expression that fails, and
-- a comparison that fails
DROP INDEX t_id;
INSERT INTO t SELECT * FROM t WHERE id = 1234;
SELECT build('UNIQUE', 't (id)', s, '23505') FROM unnest(ARRAY[:memory, :serial, :parallel]) s;
SELECT build('UNIQUE', 't (url COLLATE "en_US.utf8", id)', s, '23505') FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('UNIQUE', 't (nullable, few) NULLS NOT DISTINCT', :parallel, '23505');
SELECT build('', 'toasted ((far || packed))', s, '54000') FROM unnest(ARRAY[:memory, :parallel]) s;
SELECT build('', 't ((1 / (id - 2000)))', :parallel, '22012');
CREATE FUNCTION fussy_cmp(int4, int4) RETURNS int4 IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
$$BEGIN
	IF $1 = 2222 OR $2 = 2222 THEN RAISE EXCEPTION 'not with me' USING ERRCODE = 'PT002'; END IF;
	RETURN sign($1 - $2);
END$$;
CREATE OPERATOR CLASS fussy_ops FOR TYPE int4 USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 fussy_cmp(int4, int4);
SELECT build('', 't (id fussy_ops)', :parallel, 'PT002');
SELECT build('', 't (id)', :memory);

-- Sorts of files of records: with and without workers, in one pass and in two,
-- with and without direct output, and with other record sizes and keys.  A sort is
-- right if the output has the input's records, in order.
CREATE EXTENSION sortbench;
CREATE FUNCTION place(name text) RETURNS text LANGUAGE sql
RETURN current_setting('data_directory') || '/' || name;
CREATE FUNCTION sort_files(arguments text, same text DEFAULT 'record_size => 100')
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	settings int := use_settings('ptsort_test.spill_entries = 300, ptsort_test.merge_order = 2, ptsort_test.slices = 5');
	sorted record;
	input record;
	output record;
BEGIN
	EXECUTE format('SELECT * FROM sortbench_sort(ARRAY[%L], ARRAY[%L, %L], %s, memory => ''16MB'', overwrite => true, %s)',
		place('file_in'), place('file_1'), place('file_2'), arguments, same) INTO sorted;
	EXECUTE format('SELECT * FROM sortbench_validate(ARRAY[%L], %s)', place('file_in'), same) INTO input;
	EXECUTE format('SELECT * FROM sortbench_validate(ARRAY[%L, %L], %s)', place('file_1'), place('file_2'), same) INTO output;
	RETURN format('%sok %s - files, %s, %s: %s records, %s participants',
		CASE WHEN output.unordered = 0 AND output.records = input.records AND output.checksum = input.checksum THEN '' ELSE 'not ' END,
		nextval('builds'), arguments, same, sorted.records, sorted.participants);
END $$;
SELECT count(sortbench_generate(place('file_in'), 3000, 0, kind, true)) > 0 AND NULL
FROM unnest('{terasort,uniform,skewed,ascii,ascii skewed}'::text[]) kind;
SELECT sort_files(format('%s, passes => %s, direct_output => %L', workers, passes, direct))
FROM unnest('{0,2}'::int[]) workers, unnest('{1,2}'::int[]) passes, unnest('{false,true}'::bool[]) direct;
SELECT sort_files(format('2, passes => %s', passes), same)
FROM unnest('{1,2}'::int[]) passes, unnest(ARRAY['record_size => 75, key_length => 2', 'record_size => 5000, key_length => 19']) same;
SELECT sort_files('2, passes => 2', 'key_length => 30');
SELECT format('%sok %s - the report of a sort of files', CASE WHEN count(*) < 10 THEN 'not ' END, nextval('builds')) FROM sortbench_report();

-- Checks of damaged indexes.  Each check sees an index with one wrong byte: a
-- page's first bytes and its last ones, its line pointers, or any byte.  The
-- bytes are wrong in buffers only, so the file has the right ones.  An error is
-- as good as a problem: a data type rejects a value.
SELECT use_settings('ptsort.parallel_workers = 0') > 0 AND NULL;
CREATE EXTENSION ptsort_test;
CREATE TABLE damaged AS SELECT DISTINCT ON (id) id, few, num, txt, words, f8, nam, padded FROM t WHERE id <= 1500;
CREATE UNIQUE INDEX damaged_1 ON damaged (id);
CREATE INDEX damaged_2 ON damaged (few);
CREATE INDEX damaged_3 ON damaged (num, f8 DESC);
CREATE INDEX damaged_4 ON damaged (words COLLATE "en_US.utf8");
CREATE INDEX damaged_5 ON damaged ((repeat(txt, 40)) COLLATE "C");
CREATE INDEX damaged_6 ON damaged (nam, padded COLLATE "und-x-icu") INCLUDE (txt);
CHECKPOINT;
CREATE FUNCTION check_damaged(index regclass, flips int, workers int) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	file text := pg_relation_filepath(index);
	pages int := pg_relation_size(index) / 8192;
	found int := 0;
	"block" int;
	place int;
	byte bytea;
BEGIN
	FOR flip IN 1 .. flips LOOP
		"block" := floor(random() * pages);
		place := CASE flip % 4 WHEN 0 THEN floor(random() * 24) WHEN 1 THEN 8191 - floor(random() * 16)
			WHEN 2 THEN 24 + floor(random() * 200) ELSE floor(random() * 8192) END;
		byte := pg_read_binary_file(file, 8192 * "block" + place, 1);
		PERFORM ptsort_test_write_page(index, "block", place,
			set_byte(byte, 0, get_byte(byte, 0) # (1 + floor(random() * 255)::int)));
		BEGIN
			found := found + (SELECT (problems > 0)::int FROM ptsort_check(index, flip % 3 = 0, workers, flip % 5 = 0));
		EXCEPTION WHEN OTHERS THEN
			found := found + 1;
		END;
		PERFORM ptsort_test_write_page(index, "block", place, byte);
	END LOOP;
	RETURN format('%sok %s - %s, %s bytes damaged, %s workers', CASE WHEN found < flips / 4 OR
		(SELECT problems > 0 FROM ptsort_check(index, true)) THEN 'not ' END, nextval('builds'), index, flips, workers);
END $$;
SELECT setseed(0.42) IS NULL AND NULL;
SELECT check_damaged(format('damaged_%s', i)::regclass, 20, 0) FROM generate_series(1, 6) i;
SELECT check_damaged('damaged_1', 8, 2);
