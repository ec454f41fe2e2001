-- Text in ordinary collations: even if words are useless or misleading, the
-- order is the server's.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql
\set ECHO none
\i :source/sql/include/order.sql
\set ECHO all
SET max_parallel_maintenance_workers = 4;
-- lets keys learn from any number of rows
SET ptsort_test.learn_tuples = 0;
CREATE EXTENSION IF NOT EXISTS citext;
SELECT setseed(0.25);

-- Calls same_order() for builds in memory, builds that spill and merge several
-- times, and builds with workers and slices.
CREATE FUNCTION collated_same(tbl text, columns text, kind text DEFAULT '', rest text DEFAULT '',
	condition text DEFAULT 'true')
RETURNS text LANGUAGE sql RETURN same_order(tbl, columns, ARRAY[
	'ptsort.parallel_workers = 0',
	'ptsort.parallel_workers = 2, ptsort_test.spill_entries = 70, ptsort_test.slices = 7',
	'ptsort.parallel_workers = 0, ptsort_test.spill_entries = 90, ptsort_test.merge_order = 2',
	'ptsort.parallel_workers = 1, ptsort_test.slices = 4'], kind, rest, condition);

CREATE COLLATION collated_blind (PROVIDER = icu, LOCALE = 'und-u-ks-level1', DETERMINISTIC = false);
CREATE COLLATION collated_caseless (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);

CREATE TABLE collated_data (what text, i serial, k text);
INSERT INTO collated_data (what, k)
SELECT what, CASE what
	WHEN 'all equal' THEN 'the same'
	WHEN 'empty' THEN CASE WHEN i % 3 > 0 THEN '' END
	WHEN 'case' THEN translate('case only', 'aeo', (ARRAY['aeo', 'Aeo', 'aEo', 'aeO', 'AEo', 'AEO', 'aEO'])[1 + i % 7])
	WHEN 'accents' THEN translate('accents', 'ace', U&'\00e1ce' || chr(232 + i % 4) || chr(227 + i % 3))
	WHEN 'ignored' THEN overlay('ignored' placing (ARRAY[U&'\00ad', U&'\200b', U&'\0001', U&'\0301', '-', ' ', ''])[1 + i % 7] from 1 + i % 8 for 0)
	WHEN 'marks' THEN 'a' || (ARRAY[U&'\0323\0302', U&'\0302\0323', U&'\0302', U&'\0323', ''])[1 + i % 5] || i % 3
	WHEN 'prefixes' THEN repeat('a', i * 7 % 250) || repeat('b', i % 3)
	WHEN 'long prefix' THEN repeat('https://example.com/', 15) || i * 7 % 400
	WHEN 'digraphs' THEN repeat((ARRAY['ch', 'Ch', 'c', 'h', 'dz', 'ccs', 'cs', 'll', 'aa', 'ss', U&'\00df'])[1 + i % 11], 1 + i % 5) || i % 10
	WHEN 'numbers' THEN (ARRAY['', 'a', '-', '0'])[1 + i % 4] || (random() * 1000)::int
	WHEN 'random' THEN nullif(left(md5((random() * 1000)::text), 1 + i % 12), 'a')
	ELSE chr(19968 + (random() * 2000)::int) || chr(19968 + (random() * 2000)::int) END
FROM unnest(ARRAY['all equal', 'empty', 'case', 'accents', 'ignored', 'marks', 'prefixes', 'long prefix',
	'digraphs', 'numbers', 'random', 'wide']) what, generate_series(1, 300) i
ORDER BY what, random();

CREATE TABLE collated_t (i int, k text, n int2, u uuid);
CREATE FUNCTION collated_fill(what text) RETURNS void LANGUAGE sql
BEGIN ATOMIC
	DELETE FROM collated_t;
	INSERT INTO collated_t SELECT i, k, i % 3, md5((i % 9)::text)::uuid FROM collated_data d WHERE d.what = collated_fill.what ORDER BY i;
END;
CREATE FUNCTION collated_compare(collations text[])
RETURNS TABLE (what text, results text) LANGUAGE plpgsql AS $$
BEGIN
	FOR what IN SELECT DISTINCT d.what FROM collated_data d ORDER BY d.what LOOP
		PERFORM collated_fill(what);
		SELECT string_agg(DISTINCT r, ', ') INTO results
		FROM unnest(collations) c, collated_same('collated_t', format('k COLLATE %I', c)) r;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM collated_compare(ARRAY['en_US.utf8', 'collated_blind']);

-- Types, orders and columns
SELECT collated_fill('random');
ALTER TABLE collated_t ADD v varchar(20) COLLATE "en_US.utf8", ADD b char(20) COLLATE "en_US.utf8",
	ADD s name COLLATE "en_US.utf8", ADD c citext, ADD a text[] COLLATE "en_US.utf8";
UPDATE collated_t SET v = upper(k), b = left(k, i % 4) || repeat(' ', i % 3), s = k, c = initcap(k), a = ARRAY[left(k, 2), k];
VACUUM FULL collated_t;
SELECT columns, collated_same('collated_t', columns)
FROM unnest(ARRAY['v', 'b', 's', 'c', 'a', 'b DESC', 's DESC NULLS LAST', 'c NULLS FIRST',
	'k COLLATE "en_US.utf8" DESC', 'k COLLATE "en-x-icu" NULLS FIRST', 'k COLLATE "C"', 'lower(k) COLLATE "en_US.utf8"',
	'n, v', 'n DESC, v DESC, i', 'v, n', 'b, v', 'n, i, v', 'u, v', 'left(v, 1), left(v, 2) DESC, c, b', 'n, c, v']) columns;
SELECT collated_same('collated_t', 'v', '', 'INCLUDE (k, b)'), collated_same('collated_t', 'n, v DESC', '', 'INCLUDE (i)'),
	collated_same('collated_t', 'v', '', '', 'n > 0'), collated_same('collated_t', 'v, i', 'UNIQUE', 'NULLS NOT DISTINCT');
CREATE DOMAIN collated_domain AS citext CHECK (VALUE <> 'never');
ALTER TABLE collated_t ALTER c TYPE collated_domain;
SELECT collated_same('collated_t', 'c'), collated_same('collated_t', 'n, c DESC');
ALTER DOMAIN collated_domain DROP CONSTRAINT collated_domain_check;

-- Keys learn from the rows that the sort reads before memory is full.  Later
-- rows have other characters, another prefix, or no common prefix.  The last
-- test has a prefix that ends within a character.
CREATE TABLE collated_late AS
SELECT 'https://example.com/' || hashint4(i) AS k FROM generate_series(1, 4100) i
UNION ALL
SELECT CASE i % 4 WHEN 0 THEN 'a' || i WHEN 1 THEN 'https://example.c' || i WHEN 2 THEN chr(200 + i) || 'HTTPS' || chr(1536 + i)
	ELSE upper('https://example.com/') || i END
FROM generate_series(1, 500) i;
SELECT same_order('collated_late', 'k COLLATE "en_US.utf8"', '{"ptsort.parallel_workers = 0, ptsort_test.spill_entries = 2000", "ptsort.parallel_workers = 1, ptsort_test.spill_entries = 2000"}'),
	same_order('collated_late', 'k COLLATE "C"', '{"ptsort.parallel_workers = 0, ptsort_test.spill_entries = 2000", "ptsort.parallel_workers = 1, ptsort_test.spill_entries = 2000"}'),
	same_order('collated_late', 'k COLLATE collated_blind', '{"ptsort.parallel_workers = 0, ptsort_test.spill_entries = 2000", "ptsort.parallel_workers = 1, ptsort_test.spill_entries = 2000"}');
TRUNCATE collated_late;
INSERT INTO collated_late SELECT U&'\0438\043c\044f ' || chr(1072 + i % 16) || i FROM generate_series(1, 300) i;
ALTER TABLE collated_late ALTER k TYPE citext;
SELECT collated_same('collated_late', 'k');

-- The longest strings that fit into an index when compressed
ALTER TABLE collated_late ALTER k TYPE text COLLATE "en_US.utf8";
TRUNCATE collated_late;
INSERT INTO collated_late SELECT repeat(chr(97 + i % 2), 200000) || i % 20 FROM generate_series(1, 40) i;
SELECT collated_same('collated_late', 'k'), collated_same('collated_late', 'k COLLATE collated_blind');

-- A build that fills memory
TRUNCATE collated_late;
INSERT INTO collated_late SELECT hashint4(i) FROM generate_series(1, 30000) i;
SET maintenance_work_mem = '1MB';
SELECT same_order('collated_late', 'k', '{"ptsort.parallel_workers = 0", "ptsort.parallel_workers = 1"}');
RESET maintenance_work_mem;

-- Words avoid most comparisons.  Words come from the collation's tables:
-- without the tables, text in a collation of the C library has no words.
CREATE FUNCTION collated_comparisons(name text, setting text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	result float8;
BEGIN
	PERFORM set_config('ptsort_test.key_class', 'auto', true), set_config('ptsort.use_collation_tables', 'on', true),
		set_config('ptsort.parallel_workers', '0', true), set_config(name, setting, true);
	CREATE INDEX collated_i ON collated_late (k);
	SELECT comparisons::float8 / tuples INTO result FROM ptsort_last_build() WHERE index_name = 'collated_i' AND participant = 0;
	DROP INDEX collated_i;
	RETURN result;
END $$;
SELECT name, setting, collated_comparisons(name, setting) / collated_comparisons('ptsort_test.key_class', 'compared') < 0.2 AS few
FROM (VALUES ('ptsort_test.key_class', 'auto'), ('ptsort.use_collation_tables', 'off')) v (name, setting);

-- Duplicates that are equal only in the collation
CREATE TABLE collated_unique AS SELECT i, md5(i::text) AS k FROM generate_series(1, 1000) i;
SELECT what, collated_same('collated_unique', what, 'UNIQUE')
FROM unnest(ARRAY['k COLLATE collated_blind', 'k COLLATE collated_caseless DESC', '(k::citext)']) what;
INSERT INTO collated_unique SELECT 2000, upper(k) FROM collated_unique WHERE i = 500;
CREATE FUNCTION collated_attempts(what text, kind text DEFAULT 'UNIQUE', rest text DEFAULT '')
RETURNS TABLE (result text, attempts int8) LANGUAGE plpgsql AS $$
BEGIN
	-- since version 17, an index build has a restricted search path
	RETURN QUERY SELECT replace(attempt(format('CREATE %s INDEX attempted ON collated_unique (%s) %s', kind, what, rest),
		chance => '(?i)cee6[0-9a-f]*'), 'public.', ''), count(*)
	FROM (VALUES (0), (90)) v (spill),
		set_config('ptsort_test.spill_entries', spill::text, true) a
	GROUP BY 1;
END $$;
SELECT * FROM collated_attempts('k COLLATE collated_blind');
SELECT * FROM collated_attempts('k COLLATE collated_caseless DESC');
SELECT * FROM collated_attempts('(k::citext)');
SELECT * FROM collated_attempts('k COLLATE "en_US.utf8"');
DELETE FROM collated_unique WHERE i = 2000;
INSERT INTO collated_unique VALUES (2000, NULL), (2001, NULL);
SELECT * FROM collated_attempts('k COLLATE collated_blind');
SELECT * FROM collated_attempts('k COLLATE collated_blind', rest => 'NULLS NOT DISTINCT');

DROP TABLE collated_data, collated_t, collated_late, collated_unique CASCADE;
DROP FUNCTION collated_same, collated_compare, collated_comparisons, collated_attempts;
DROP DOMAIN collated_domain;
DROP COLLATION collated_blind;
DROP COLLATION collated_caseless;
DROP FUNCTION same_order, rows_by_index;
DROP SEQUENCE same_order_calls;

-- All strings have a prefix that ends within an element of the collation
-- br_FR.utf8.  No comparison contradicts the collation's tables.  (Without this
-- collation, the test builds no index.)
CREATE TABLE collated_prefix AS
SELECT CASE WHEN i % 2 = 0 THEN 'c''h' ELSE 'c''z' END || md5(i::text) AS x FROM generate_series(1, 100000) i;
DO $$DECLARE
	name text;
BEGIN
	FOR name IN SELECT quote_ident(collname) FROM pg_collation WHERE collname = 'br_FR.utf8' LOOP
		EXECUTE format('CREATE INDEX ON collated_prefix (x COLLATE %s)', name);
	END LOOP;
END$$;
DROP TABLE collated_prefix;
