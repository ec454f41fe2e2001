-- Hints (ordinary collations), wherever they are wrong, useless or in the way: the
-- order is the server's.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql
\set ECHO none
\i :source/sql/include/order.sql
\set ECHO all
SET max_parallel_maintenance_workers = 4;
-- however few rows there are
SET ptsort_test.learn_tuples = 0;
CREATE EXTENSION IF NOT EXISTS citext;
SELECT setseed(0.25);

-- In memory, spilled and merged often, with workers and slices; and with hints that
-- are wrong: all of them, every second one, ...
CREATE FUNCTION hints_same(tbl text, columns text, kind text DEFAULT '', rest text DEFAULT '',
	condition text DEFAULT 'true')
RETURNS text LANGUAGE sql RETURN same_order(tbl, columns, ARRAY[
	'ptsort.parallel_workers = 0',
	'ptsort.parallel_workers = 2, ptsort_test.spill_entries = 70, ptsort_test.slices = 7',
	'ptsort.parallel_workers = 0, ptsort.debug_wrong_hints = 1',
	'ptsort.parallel_workers = 0, ptsort.debug_wrong_hints = 2, ptsort_test.spill_entries = 90, ptsort_test.merge_order = 2',
	'ptsort.parallel_workers = 1, ptsort.debug_wrong_hints = 10, ptsort_test.slices = 4'], kind, rest, condition);

CREATE COLLATION blind_hints (PROVIDER = icu, LOCALE = 'und-u-ks-level1', DETERMINISTIC = false);
CREATE COLLATION caseless_hints (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);

CREATE TABLE hints_data (what text, i serial, k text);
INSERT INTO hints_data (what, k)
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

CREATE TABLE hints_t (i int, k text, n int2, u uuid);
CREATE FUNCTION hints_fill(what text) RETURNS void LANGUAGE sql
BEGIN ATOMIC
	DELETE FROM hints_t;
	INSERT INTO hints_t SELECT i, k, i % 3, md5((i % 9)::text)::uuid FROM hints_data d WHERE d.what = hints_fill.what ORDER BY i;
END;
CREATE FUNCTION hints_compare(collations text[])
RETURNS TABLE (what text, results text) LANGUAGE plpgsql AS $$
BEGIN
	FOR what IN SELECT DISTINCT d.what FROM hints_data d ORDER BY d.what LOOP
		PERFORM hints_fill(what);
		SELECT string_agg(DISTINCT r, ', ') INTO results
		FROM unnest(collations) c, hints_same('hints_t', format('k COLLATE %I', c)) r;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM hints_compare(ARRAY['en_US.utf8', 'blind_hints']);

-- Types, orders and columns
SELECT hints_fill('random');
ALTER TABLE hints_t ADD v varchar(20) COLLATE "en_US.utf8", ADD b char(20) COLLATE "en_US.utf8",
	ADD s name COLLATE "en_US.utf8", ADD c citext, ADD a text[] COLLATE "en_US.utf8";
UPDATE hints_t SET v = upper(k), b = left(k, i % 4) || repeat(' ', i % 3), s = k, c = initcap(k), a = ARRAY[left(k, 2), k];
VACUUM FULL hints_t;
SELECT columns, hints_same('hints_t', columns)
FROM unnest(ARRAY['v', 'b', 's', 'c', 'a', 'b DESC', 's DESC NULLS LAST', 'c NULLS FIRST',
	'k COLLATE "en_US.utf8" DESC', 'k COLLATE "en-x-icu" NULLS FIRST', 'k COLLATE "C"', 'lower(k) COLLATE "en_US.utf8"',
	'n, v', 'n DESC, v DESC, i', 'v, n', 'b, v', 'n, i, v', 'u, v', 'left(v, 1), left(v, 2) DESC, c, b', 'n, c, v']) columns;
SELECT hints_same('hints_t', 'v', '', 'INCLUDE (k, b)'), hints_same('hints_t', 'n, v DESC', '', 'INCLUDE (i)'),
	hints_same('hints_t', 'v', '', '', 'n > 0'), hints_same('hints_t', 'v, i', 'UNIQUE', 'NULLS NOT DISTINCT');
CREATE DOMAIN hints_domain AS citext CHECK (VALUE <> 'never');
ALTER TABLE hints_t ALTER c TYPE hints_domain;
SELECT hints_same('hints_t', 'c'), hints_same('hints_t', 'n, c DESC');
ALTER DOMAIN hints_domain DROP CONSTRAINT hints_domain_check;

-- What the rows that are learned from, those before memory is full, have not: other characters, another
-- prefix, none at all.  A prefix that ends within a character
CREATE TABLE hints_late AS
SELECT 'https://example.com/' || hashint4(i) AS k FROM generate_series(1, 4100) i
UNION ALL
SELECT CASE i % 4 WHEN 0 THEN 'a' || i WHEN 1 THEN 'https://example.c' || i WHEN 2 THEN chr(200 + i) || 'HTTPS' || chr(1536 + i)
	ELSE upper('https://example.com/') || i END
FROM generate_series(1, 500) i;
SELECT same_order('hints_late', 'k COLLATE "en_US.utf8"', '{"ptsort.parallel_workers = 0, ptsort_test.spill_entries = 2000", "ptsort.parallel_workers = 1, ptsort_test.spill_entries = 2000"}'),
	same_order('hints_late', 'k COLLATE "C"', '{"ptsort.parallel_workers = 0, ptsort_test.spill_entries = 2000", "ptsort.parallel_workers = 1, ptsort_test.spill_entries = 2000"}'),
	same_order('hints_late', 'k COLLATE blind_hints', '{"ptsort.parallel_workers = 0, ptsort_test.spill_entries = 2000", "ptsort.parallel_workers = 1, ptsort_test.spill_entries = 2000"}');
TRUNCATE hints_late;
INSERT INTO hints_late SELECT U&'\0438\043c\044f ' || chr(1072 + i % 16) || i FROM generate_series(1, 300) i;
ALTER TABLE hints_late ALTER k TYPE citext;
SELECT hints_same('hints_late', 'k');

-- Long strings, as far as they fit into an index when compressed
ALTER TABLE hints_late ALTER k TYPE text COLLATE "en_US.utf8";
TRUNCATE hints_late;
INSERT INTO hints_late SELECT repeat(chr(97 + i % 2), 200000) || i % 20 FROM generate_series(1, 40) i;
SELECT hints_same('hints_late', 'k'), hints_same('hints_late', 'k COLLATE blind_hints');

-- Memory that is full, so that what was wrong is mended in little room
TRUNCATE hints_late;
INSERT INTO hints_late SELECT hashint4(i) FROM generate_series(1, 30000) i;
SET maintenance_work_mem = '1MB';
SELECT same_order('hints_late', 'k', '{"ptsort.parallel_workers = 0, ptsort.debug_wrong_hints = 1",
	"ptsort.parallel_workers = 0, ptsort.debug_wrong_hints = 2", "ptsort.parallel_workers = 1, ptsort.debug_wrong_hints = 3"}');
RESET maintenance_work_mem;

-- However wrong hints are, there are hardly more comparisons than without any
CREATE FUNCTION hints_comparisons(name text, setting text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	result float8;
BEGIN
	PERFORM set_config('ptsort_test.key_class', 'auto', true), set_config('ptsort.debug_wrong_hints', '0', true),
		set_config('ptsort.parallel_workers', '0', true), set_config(name, setting, true);
	CREATE INDEX hints_i ON hints_late (k);
	SELECT comparisons::float8 / tuples INTO result FROM ptsort_last_build() WHERE index_name = 'hints_i' AND participant = 0;
	DROP INDEX hints_i;
	RETURN result;
END $$;
SELECT wrong, hints_comparisons('ptsort.debug_wrong_hints', wrong::text) / hints_comparisons('ptsort_test.key_class', 'compared') < most AS few
FROM (VALUES (0, 0.2), (100, 0.3), (10, 0.5), (3, 0.9), (2, 1.1), (1, 1.1)) v (wrong, most);

-- Duplicates that are equal by the collation only
CREATE TABLE hints_unique AS SELECT i, md5(i::text) AS k FROM generate_series(1, 1000) i;
SELECT what, hints_same('hints_unique', what, 'UNIQUE')
FROM unnest(ARRAY['k COLLATE blind_hints', 'k COLLATE caseless_hints DESC', '(k::citext)']) what;
INSERT INTO hints_unique SELECT 2000, upper(k) FROM hints_unique WHERE i = 500;
CREATE FUNCTION hints_attempts(what text, kind text DEFAULT 'UNIQUE', rest text DEFAULT '')
RETURNS TABLE (result text, attempts int8) LANGUAGE plpgsql AS $$
BEGIN
	-- since 17, what an index build says is said without a search path
	RETURN QUERY SELECT replace(attempt(format('CREATE %s INDEX attempted ON hints_unique (%s) %s', kind, what, rest),
		chance => '(?i)cee6[0-9a-f]*'), 'public.', ''), count(*)
	FROM (VALUES (0, 0), (90, 0), (0, 1), (90, 3)) v (spill, wrong),
		set_config('ptsort_test.spill_entries', spill::text, true) a, set_config('ptsort.debug_wrong_hints', wrong::text, true) b
	GROUP BY 1;
END $$;
SELECT * FROM hints_attempts('k COLLATE blind_hints');
SELECT * FROM hints_attempts('k COLLATE caseless_hints DESC');
SELECT * FROM hints_attempts('(k::citext)');
SELECT * FROM hints_attempts('k COLLATE "en_US.utf8"');
DELETE FROM hints_unique WHERE i = 2000;
INSERT INTO hints_unique VALUES (2000, NULL), (2001, NULL);
SELECT * FROM hints_attempts('k COLLATE blind_hints');
SELECT * FROM hints_attempts('k COLLATE blind_hints', rest => 'NULLS NOT DISTINCT');

DROP TABLE hints_data, hints_t, hints_late, hints_unique CASCADE;
DROP FUNCTION hints_same, hints_compare, hints_comparisons, hints_attempts;
DROP DOMAIN hints_domain;
DROP COLLATION blind_hints;
DROP COLLATION caseless_hints;
DROP FUNCTION same_order, rows_by_index;
DROP SEQUENCE same_order_calls;
