-- Compares ptsort with the server's tuplesort: both get the same slots.  The test
-- function compares every output tuple with the server's, in every mode.
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SET enable_incremental_sort = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';

CREATE TABLE modes (mode text, spill int, merge_order int, learn int, participants int, slices bool, random_access bool, stable bool, rounds int, bound int);
INSERT INTO modes VALUES
	('in memory', 0, 0, -1, 0, false, true, false, 1, 0),
	('in memory, learned', 0, 0, 0, 0, false, true, false, 3, 0),
	('in memory, stable', 0, 0, 0, 0, false, true, true, 4, 0),
	('runs', 41, 0, -1, 0, false, false, false, 3, 0),
	('many passes', 29, 2, 0, 0, false, false, false, 1, 0),
	('many passes, stable', 29, 2, -1, 0, false, false, true, 2, 0),
	('one run', 61, 3, -1, 0, false, true, false, 1, 0),
	('leader', 0, 0, -1, 3, false, false, false, 1, 0),
	('leader of runs', 53, 2, -1, 2, false, false, false, 1, 0),
	('slices', 71, 0, -1, 4, true, false, false, 1, 0),
	('slices, stable', 47, 0, -1, 3, true, false, true, 1, 0),
	('bounded by 1', 0, 0, -1, 0, false, false, false, 1, 1),
	('bounded by 10, stable', 0, 0, -1, 0, false, true, true, 3, 10),
	('bounded by 399', 0, 0, -1, 0, false, true, false, 3, 399);

CREATE FUNCTION model(modes, query text, variant text, slots text, seed int8,
	OUT tuples int8, OUT method text)
LANGUAGE plpgsql AS $$
DECLARE
	runs int8;
BEGIN
	PERFORM set_config('ptsort_test.merge_order', $1.merge_order::text, true);
	PERFORM set_config('ptsort_test.learn_tuples', $1.learn::text, true);
	PERFORM set_config('ptsort_test.spill_entries', $1.spill::text, true);
	SELECT m.tuples, m.method, m.runs INTO tuples, method, runs
	FROM ptsort_test_model(query, variant, slots, 1024, $1.participants, $1.slices, $1.random_access, seed,
		stable => $1.stable, rounds => $1.rounds, bound => $1.bound) m;
	IF tuples > 100 AND ($1.spill = 0 AND $1.participants = 0) <> (runs = 0) THEN
		RAISE EXCEPTION '% runs in mode %: %', runs, $1.mode, query;
	END IF;
EXCEPTION WHEN internal_error THEN
	RAISE EXCEPTION '%, in mode %, %: %', SQLERRM, $1.mode, variant, query;
END $$;

-- The test runs each query in one out of "every" modes.
CREATE TABLE queries (part text, variant text, query text, slots text DEFAULT 'plan', every int DEFAULT 1);

-- A column of each type, as the first of two columns and as the only column, in
-- both directions.
INSERT INTO queries
SELECT 'types', variant, format('SELECT v %s %s FROM (SELECT g, CASE WHEN g %% 11 > 0 THEN (%s)::%s END AS v
	FROM (SELECT g, g %% 90 AS i FROM generate_series(1, 220) g) n
	UNION ALL SELECT 221, v FROM unnest(%L::%4$s[]) v) s ORDER BY 1 %6$s',
	substring(type FROM 'COLLATE.*'), CASE variant WHEN 'tuple' THEN ', g' END, items, split_part(type, ' COLLATE', 1),
	coalesce(extremes, '{}'), ordering), 'plan', 3
FROM pool, unnest('{tuple,datum}'::text[]) variant, unnest('{ASC,DESC,NULLS FIRST,DESC NULLS LAST}'::text[]) ordering
WHERE opclass = '' AND type NOT LIKE '%[]';
INSERT INTO queries
SELECT 'arrays', 'datum', format('SELECT %s FROM generate_series(1, 220) i ORDER BY 1', items) FROM pool WHERE type LIKE '%[]';

-- User-defined operator classes, and classes that are not the default.
INSERT INTO queries
SELECT 'classes', 'tuple', format('SELECT %s AS k, g FROM generate_series(1, 200) g ORDER BY k USING %s', expression, operator)
FROM (VALUES ('g::int8 * 7', '<%'), ('g::int8 * 7', '>%'), ('md5(g::text)', '~<~'), ('md5(g::text)', '~>~'),
		('ROW(g % 7, g::text)', '*<'), ('ROW(g % 7, g::text)', '*>')) v (expression, operator);

-- Strings in several collations, including ICU collations that treat different
-- strings as equal.
CREATE COLLATION level1 (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE COLLATION shifted (provider = icu, locale = 'en-u-ka-shifted-ks-level3', deterministic = false);
CREATE TABLE strings (style text, expression text);
INSERT INTO strings VALUES
	('random', 'md5(h::text)'),
	('late', 'repeat(''x'', 300) || h % 500'),
	('urls', '''https://www.example.com/'' || (ARRAY[''shop'',''news'',''a''])[1 + h % 3] || ''/'' || h % 1000'),
	('mixed', 'translate(md5(h::text), ''0123456789abcdef'', '' aAbBzZ09-_.,!xX'')'),
	('accents', 'translate(left(md5(h::text), 9), ''0123456789abcdef'', ''aàäAÀßsSœoéeEñž '')'),
	('scripts', 'translate(left(md5(h::text), (h % 28)::int4), ''0123456789abcdef'', ''aбЯωאب中文ก日ㄱ가😀ἀ1.'')'),
	('blanks', 'repeat('' '', (h % 3)::int4) || h % 100 || repeat('' '', (h % 4)::int4)');
INSERT INTO queries
SELECT 'strings', variant, format('SELECT (%s) COLLATE %I AS k %s FROM (SELECT g, hashint8extended(g %% 200, 7) & 4611686018427387903 AS h FROM generate_series(1, 250) g) s ORDER BY 1 DESC',
	expression, collname, CASE variant WHEN 'tuple' THEN ', g' END), 'plan', 4
FROM strings, unnest('{tuple,datum}'::text[]) variant,
	(SELECT DISTINCT collname FROM pg_collation WHERE collname IN
		('C', 'POSIX', 'ucs_basic', 'default', 'en_US.utf8', 'cs_CZ.utf8', 'th_TH.utf8', 'en-x-icu', 'sv-x-icu', 'level1', 'shifted')) c;

-- Rows of every width, in slots of every kind, with dropped columns, columns that
-- older rows lack, and values that are compressed, out of line or expanded.
CREATE TABLE mixed (id int, gone text, k1 int8, k2 text COLLATE "C", k3 numeric, long text, packed text, pad text);
ALTER TABLE mixed ALTER long SET STORAGE EXTERNAL;
INSERT INTO mixed SELECT g, 'gone', g % 7, left(md5((g % 30)::text), g % 4), (g % 5)::numeric(5,2), repeat(md5(g::text), CASE WHEN g % 50 = 0 THEN 100 ELSE 0 END),
	repeat('packed', CASE WHEN g % 20 = 0 THEN 600 ELSE 1 END), 'pad' FROM generate_series(1, 250) g;
ALTER TABLE mixed ADD late int DEFAULT 3, ADD later text DEFAULT 'later';
ALTER TABLE mixed DROP gone;
INSERT INTO mixed SELECT 250 + g, g % 7, md5(g::text), g % 5, md5(g::text), NULL, NULL, g % 6, NULL FROM generate_series(1, 150) g;
INSERT INTO queries
SELECT 'rows, slots ' || slots, 'tuple', 'SELECT * FROM mixed ORDER BY ' || ordering, slots
FROM unnest('{plan,virtual,heap,minimal,scan}'::text[]) slots,
	unnest('{"late, k1 DESC, id","later NULLS FIRST, k3 DESC, k2","k1, k2, k3 DESC, late, later DESC","packed, id DESC","long DESC NULLS LAST, k3, k1","k3"}'::text[]) ordering;
INSERT INTO queries
SELECT 'values of rows', variant, format('SELECT %s FROM mixed ORDER BY 1 DESC', columns)
FROM (VALUES ('datum', 'long'), ('datum', 'packed'), ('datum', 'later'), ('datum', 'late'), ('datum', 'array_append(ARRAY[k1, NULL], id::int8)'),
		('tuple', 'array_append(ARRAY[k1, NULL], id::int8), id'), ('tuple', 'mixed'), ('datum', 'mixed')) v (variant, columns);
INSERT INTO queries
SELECT 'numbers of columns', 'tuple', format('SELECT %s %s FROM generate_series(1, 180) g ORDER BY %s',
	(SELECT string_agg(CASE i % 3 WHEN 0 THEN '(g * 7 % 5)' WHEN 1 THEN 'left(md5((g % 9)::text), 2)' ELSE 'nullif(g % 4, 1)::numeric' END, ', ')
	 FROM generate_series(1, keys) i),
	(SELECT string_agg(CASE i % 4 WHEN 0 THEN ', g' WHEN 1 THEN ', md5(g::text)' WHEN 2 THEN ', NULL::text' ELSE ', g % 2 = 0' END, '')
	 FROM generate_series(1, others) i),
	(SELECT string_agg(i || CASE i % 2 WHEN 0 THEN ' DESC' ELSE ' NULLS FIRST' END, ', ') FROM generate_series(1, keys) i))
FROM unnest('{0,1,7,30}'::int[]) others, unnest('{1,3,5}'::int[]) keys;

-- Different orders of the input; zero, one and two tuples.
INSERT INTO queries
SELECT 'order of the input', variant, format('SELECT %s %s FROM generate_series(1, 400) g ORDER BY 1', expression, others)
FROM unnest('{g,-g,g - g,g % 3,(g % 4) * 1000 + g,g / 40,(g * 7919) % 1000,g # 1,power(g % 20 / 20.0\, 8) * 100,nullif(g\, g)}'::text[]) expression,
	(VALUES ('tuple', ', g, md5(g::text)'), ('datum', '')) v (variant, others);
INSERT INTO queries
SELECT 'few tuples', variant, format('SELECT md5(g::text) FROM generate_series(1, %s) g ORDER BY 1', n)
FROM unnest('{tuple,datum}'::text[]) variant, generate_series(0, 2) n;

SELECT part, variant, count(DISTINCT mode) AS modes, count(*) > 20 AS sorts, min(m.tuples) AS least, max(m.tuples) AS most
FROM queries, modes, model(modes, query, variant, slots, hashtext(query) & 1023) m
WHERE hashtext(query || mode) % every = 0
GROUP BY part, variant ORDER BY part COLLATE "C", variant COLLATE "C";
SELECT mode, m.method FROM modes, model(modes, 'SELECT g FROM generate_series(1, 400) g ORDER BY 1', 'tuple', 'plan', 1) m
ORDER BY mode COLLATE "C";

-- Sorts that really fill their memory, and sorts of large values; with more memory,
-- all tuples fit.
SELECT kb, variant, query, s.tuples, s.runs > 1 AS runs, s.peak_memory <= kb * 1024 OR query LIKE '%repeat%' AS within_budget
FROM unnest('{1024,2048,65536}'::int[]) kb,
	(VALUES ('tuple', 'SELECT g, md5(g::text) FROM generate_series(1, 30000) g ORDER BY 2'),
		('datum', 'SELECT md5(g::text) COLLATE "C" FROM generate_series(1, 30000) g ORDER BY 1'),
		('datum', 'SELECT -g FROM generate_series(1, 150000) g ORDER BY 1'),
		('datum', 'SELECT repeat(md5((g % 7)::text), 1000 << g) COLLATE "C" FROM generate_series(1, 9) g ORDER BY 1 DESC'),
		('tuple', 'SELECT g, repeat(md5(g::text), 10000) FROM generate_series(1, 20) g ORDER BY g % 10, 2')) q (variant, query),
	LATERAL ptsort_test_model(query, variant, budget_kb => kb) s
ORDER BY kb, query COLLATE "C";
-- Large sorts between small ones: a reset frees the memory of a large sort.
SELECT s.tuples, s.runs > 1 AS runs
FROM ptsort_test_model('SELECT g, md5(g::text) FROM generate_series(1, 60000) g ORDER BY 2', budget_kb => 2048, rounds => 20) s;

-- Compressed strings: ptsort decompresses them only for their words, and
-- leaves no decompressed copy.
CREATE TABLE squeezed AS
SELECT md5((i % 100)::text) || repeat('x', 5000) COLLATE "en_US.utf8" AS k, i FROM generate_series(1, 500) i;
SELECT count(*) > 0 AS compressed FROM squeezed WHERE pg_column_size(k) < 500;
SELECT count(*) AS sorts, min(s.tuples) AS tuples
FROM (VALUES ('datum', 'SELECT k FROM squeezed ORDER BY 1'), ('tuple', 'SELECT k, i FROM squeezed ORDER BY k, i')) q (variant, query),
	unnest('{0,29}'::int[]) spill, unnest('{0,3}'::int[]) participants,
	ptsort_test_model(query, variant, 'plan', CASE set_config('ptsort_test.spill_entries', spill::text, true) WHEN '' THEN 0 ELSE 16384 END, participants) s;
DROP FUNCTION model;
DROP TABLE modes, queries, strings, mixed, squeezed;
