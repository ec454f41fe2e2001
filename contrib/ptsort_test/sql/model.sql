-- Compares ptsort with the server's tuplesort: both get the same slots.  The test
-- function compares every output tuple with the server's, in every mode.
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SET enable_incremental_sort = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';

CREATE TABLE modes (mode text, spill int, merge_order int, learn int, participants int, slices bool, random_access bool, stable bool, rounds int);
INSERT INTO modes VALUES
	('in memory', 0, 0, -1, 0, false, true, false, 1),
	('in memory, learned', 0, 0, 0, 0, false, true, false, 3),
	('in memory, stable', 0, 0, 0, 0, false, true, true, 4),
	('runs', 41, 0, -1, 0, false, false, false, 3),
	('many passes', 29, 2, 0, 0, false, false, false, 1),
	('many passes, stable', 29, 2, -1, 0, false, false, true, 2),
	('one run', 61, 3, -1, 0, false, true, false, 1),
	('leader', 0, 0, -1, 3, false, false, false, 1),
	('leader of runs', 53, 2, -1, 2, false, false, false, 1),
	('slices', 71, 0, -1, 4, true, false, false, 1),
	('slices, stable', 47, 0, -1, 3, true, false, true, 1);

CREATE FUNCTION model(modes, query text, variant text, slots text, seed int8, kb int DEFAULT 1024,
	OUT tuples int8, OUT groups int8, OUT runs int8, OUT comparisons int8, OUT peak_memory int8, OUT temp_bytes int8)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('ptsort_test.merge_order', $1.merge_order::text, true);
	PERFORM set_config('ptsort_test.learn_tuples', $1.learn::text, true);
	PERFORM set_config('ptsort_test.spill_entries', $1.spill::text, true);
	SELECT m.* INTO tuples, groups, runs, comparisons, peak_memory, temp_bytes
	FROM ptsort_test_model(query, variant, slots, kb, $1.participants, $1.slices, $1.random_access, seed,
		stable => $1.stable, rounds => $1.rounds) m;
	IF tuples > 100 AND ($1.mode LIKE 'in memory%') <> (runs = 0) THEN
		RAISE EXCEPTION '% runs in mode %', runs, $1.mode;
	END IF;
EXCEPTION WHEN internal_error THEN
	RAISE EXCEPTION '%, in mode %, %: %', SQLERRM, $1.mode, variant, query;
END $$;

-- For each type that has an order, an expression that makes a value from a number,
-- and special values.  Some types are user-defined, here or in setup.sql.
CREATE TYPE color AS ENUM ('red', 'green', 'blue', 'Zebra', '');
ALTER TYPE color ADD VALUE 'first' BEFORE 'red';
CREATE DOMAIN words AS text COLLATE "C" CHECK (length(VALUE) < 10000);
CREATE DOMAIN small AS int4;
CREATE TYPE model_pair AS (a int4, b text);
CREATE TYPE textrange AS RANGE (subtype = text, collation = "C");
CREATE TABLE kinds (type text, expression text, specials text[] DEFAULT '{}');
INSERT INTO kinds VALUES
	('bool', 'g % 2 = 0', '{}'),
	('int2', '(h % 65536 - 32768)', '{32767,-32768}'),
	('int4', '(h % 4294967296 - 2147483648)', '{2147483647,-2147483648,0,-1}'),
	('int8', 'h * 2 - 4611686018427387904', '{9223372036854775807,-9223372036854775808,0}'),
	('oid', 'h % 4294967296', '{0,4294967295}'),
	('"char"', '(h % 256 - 128)::int4', '{}'),
	('float4', '(h % 100000) / 7.0 - 5000', '{NaN,-0,0,Infinity,-Infinity,1e-40}'),
	('float8', '(h % 1000000007) / 7.0 - 5e7', '{NaN,-0,0,Infinity,-Infinity,1e-310}'),
	('numeric', '(h % 1000003)::numeric / 1000 - 500', '{NaN,Infinity,-Infinity,0,0.000,1.0,1.00,1e-30,1e100}'),
	('money', '((h % 1000000007)::numeric / 100)', '{}'),
	('date', '''1970-01-01''::date + (h % 200000)::int4', '{infinity,-infinity,0044-03-15 BC}'),
	('time', '''00:00''::time + h % 86400000 * ''1 ms''::interval', '{24:00}'),
	('timetz', '(''00:00''::time + h % 86400 * ''1 s''::interval)::text || ''+0'' || h % 7', '{}'),
	('timestamp', '''2000-01-01''::timestamp + h % 1000000007 * ''1 ms''::interval', '{infinity,-infinity}'),
	('timestamptz', '''2000-01-01''::timestamptz + h % 1000000007 * ''1 ms''::interval', '{infinity,-infinity}'),
	('interval', 'h % 1000 * ''1 day''::interval + h % 86400 * ''1 s''::interval', '{1 mon,30 days,720:00}'),
	('uuid', 'md5(h::text)', '{00000000-0000-0000-0000-000000000000}'),
	('inet', '''10.0.0.0/8''::inet + h % 16777216', '{::1,10.0.0.0/24,fe80::1/10}'),
	('macaddr', 'lpad(to_hex(h % 281474976710656), 12, ''0'')', '{}'),
	('macaddr8', 'lpad(to_hex(h), 16, ''0'')', '{}'),
	('tid', 'format(''(%s,%s)'', h % 100000, 1 + h % 60)', '{}'),
	('xid8', 'h::text', '{}'),
	('pg_lsn', '''0/0''::pg_lsn + h::numeric', '{FFFFFFFF/FFFFFFFF}'),
	('bit(13)', '(h % 8192)::int4::bit(13)', '{}'),
	('varbit', 'substring(h::bit(64) FROM 1 FOR (h % 64)::int4)', '{"",0,00}'),
	('bytea', 'decode(md5(h::text), ''hex'')', '{"",\\x00,\\x0000}'),
	('name', 'left(md5(h::text), (h % 5)::int4)', '{""}'),
	('text', 'left(md5(h::text), (h % 7)::int4)', '{""," ",a,A,~}'),
	('char(9)', 'left(md5(h::text), (h % 7)::int4)', '{""," ",a,A}'),
	('tsvector', 'to_tsvector(''simple'', h % 100 || '' fat cat '' || h)', '{""}'),
	('tsquery', 'h % 50 || '' & !'' || h', '{}'),
	('jsonb', 'CASE h % 3 WHEN 0 THEN to_jsonb(h) WHEN 1 THEN to_jsonb(h::text) ELSE jsonb_build_object(''k'', h) END', '{null,"{}",[],1.0,1.00}'),
	('oidvector', 'format(''%s %s'', h % 100, h % 7)', '{}'),
	('int4[]', 'ARRAY[(h % 100)::int4, NULL, (h % 3)::int4]', '{"{}","{{1,2},{3,4}}","[0:1]={1,2}"}'),
	('text[]', 'ARRAY[(h % 10)::text, md5(h::text)]', '{"{}","{NULL}"}'),
	('numrange', 'numrange((h % 1000)::numeric, NULL)', '{empty,"(,)","[1.0,1.00]"}'),
	('textrange', 'textrange(md5(h::text), NULL)', '{empty}'),
	('int4multirange', 'int4multirange(int4range((h % 50)::int4, (h % 50 + 1 + h % 3)::int4))', '{"{}"}'),
	('color', '(enum_range(NULL::color))[1 + h % 6]', '{}'),
	('words', 'md5(h::text)', '{""}'),
	('small', '(h % 1000)::int4', '{}'),
	('model_pair', 'ROW((h % 10)::int4, h::text)', '{"(,)","(1,)"}');

-- The table covers all types with an order: one array type stands for all array
-- types, one range type for all range types, and so on.  (PostgreSQL 19 added oid8.)
SELECT opcintype::regtype FROM pg_opclass
WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'btree') AND opcdefault AND oid < 16384
	AND opcintype NOT IN (SELECT type::regtype::oid FROM kinds)
	AND opcintype::regtype::text NOT IN ('anyarray', 'anyenum', 'anyrange', 'anymultirange', 'record', 'oid8')
ORDER BY 1;

CREATE FUNCTION values_of(kinds, rows int, distinct_values int8) RETURNS text
LANGUAGE sql AS $$
SELECT format('SELECT CASE WHEN g %% 11 = 0 THEN NULL %s ELSE (%s)::%s END AS k, g
FROM (SELECT g, hashint8extended(g %% %s, 3) & 4611686018427387903 AS h FROM generate_series(1, %s) g) s',
	(SELECT string_agg(format('WHEN g %% 37 = %s THEN %L::%s', i, special, $1.type), ' ')
	 FROM unnest($1.specials) WITH ORDINALITY u (special, i)), $1.expression, $1.type, distinct_values, rows) $$;

-- The test sorts a column of each type, as the first of two columns and as the only
-- column.  Each mode tests two of the four combinations of direction and position of
-- nulls.
SELECT variant, mode, count(*) AS sorts, min(s.tuples) AS tuples, max(s.tuples) AS of_tuples,
	count(DISTINCT type) AS types
FROM kinds, modes,
	(VALUES ('tuple'), ('datum')) v (variant),
	(VALUES (1, 'k'), (2, 'k DESC'), (3, 'k NULLS FIRST'), (4, 'k DESC NULLS LAST')) o (seed, ordering),
	LATERAL model(modes, CASE variant WHEN 'tuple' THEN values_of(kinds, 220, 90) ELSE
		format('SELECT k FROM (%s OFFSET 0) q', values_of(kinds, 220, 90)) END || ' ORDER BY ' || ordering,
		variant, 'plan', seed) s
WHERE (hashtext(type || mode) + seed) % 2 = 0
GROUP BY variant, mode ORDER BY variant, mode COLLATE "C";

-- User-defined operator classes, and classes that are not the default.
SELECT count(DISTINCT operator) AS operators, count(*) AS sorts, min(s.tuples) AS least
FROM modes, (VALUES ('g::int8 * 7', '<%'), ('g::int8 * 7', '>%'), ('md5(g::text)', '~<~'), ('md5(g::text)', '~>~'),
		('ROW(g % 7, g::text)', '*<'), ('ROW(g % 7, g::text)', '*>')) v (expression, operator),
	LATERAL model(modes, format('SELECT %s AS k, g FROM generate_series(1, 200) g ORDER BY k USING %s', expression, operator),
		'tuple', 'plan', 5) s;

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
SELECT variant, count(DISTINCT collname) >= 5 AS collations, count(DISTINCT style) AS styles, min(s.tuples) AS least
FROM strings, modes, (VALUES ('tuple'), ('datum')) v (variant),
	(SELECT collname FROM pg_collation WHERE collname IN
		('C', 'POSIX', 'ucs_basic', 'default', 'en_US.utf8', 'cs_CZ.utf8', 'th_TH.utf8', 'en-x-icu', 'sv-x-icu', 'level1', 'shifted')) c,
	LATERAL model(modes, format('SELECT (%s) COLLATE %I AS k %s FROM (SELECT g, hashint8extended(g %% 200, 7) & 4611686018427387903 AS h FROM generate_series(1, 250) g) s ORDER BY 1 DESC',
		expression, collname, CASE variant WHEN 'tuple' THEN ', g' END), variant, 'plan', 1) s
WHERE mode IN ('in memory', 'in memory, learned', 'many passes', 'slices, stable')
GROUP BY variant ORDER BY variant;

-- Rows of every width, in slots of every kind, with dropped columns, columns that
-- older rows lack, and values that are compressed, out of line or expanded.
CREATE TABLE mixed (id int, gone text, k1 int8, k2 text COLLATE "C", k3 numeric, long text, packed text, pad text);
ALTER TABLE mixed ALTER long SET STORAGE EXTERNAL;
INSERT INTO mixed SELECT g, 'gone', g % 7, left(md5((g % 30)::text), g % 4), (g % 5)::numeric(5,2), repeat(md5(g::text), CASE WHEN g % 50 = 0 THEN 100 ELSE 0 END),
	repeat('packed', CASE WHEN g % 20 = 0 THEN 600 ELSE 1 END), 'pad' FROM generate_series(1, 250) g;
ALTER TABLE mixed ADD late int DEFAULT 3, ADD later text DEFAULT 'later';
ALTER TABLE mixed DROP gone;
INSERT INTO mixed SELECT 250 + g, g % 7, md5(g::text), g % 5, md5(g::text), NULL, NULL, g % 6, NULL FROM generate_series(1, 150) g;
SELECT slots, count(*) AS sorts, min(s.tuples) AS least, max(s.tuples) AS most
FROM modes, unnest('{plan,virtual,heap,minimal,scan}'::text[]) slots,
	unnest('{"late, k1 DESC, id","later NULLS FIRST, k3 DESC, k2","k1, k2, k3 DESC, late, later DESC","packed, id DESC","long DESC NULLS LAST, k3, k1","k3"}'::text[]) ordering,
	LATERAL model(modes, 'SELECT * FROM mixed ORDER BY ' || ordering, 'tuple', slots, 1) s
GROUP BY slots ORDER BY slots COLLATE "C";
SELECT variant, count(*) AS sorts, min(s.tuples) AS least
FROM modes, (VALUES ('datum', 'long'), ('datum', 'packed'), ('datum', 'later'), ('datum', 'late'), ('datum', 'array_append(ARRAY[k1, NULL], id::int8)'),
		('tuple', 'array_append(ARRAY[k1, NULL], id::int8), id'), ('tuple', 'mixed'), ('datum', 'mixed')) v (variant, columns),
	LATERAL model(modes, format('SELECT %s FROM mixed ORDER BY 1 DESC', columns), variant, 'plan', 2) s
GROUP BY variant ORDER BY variant;
SELECT others, keys, min(s.tuples) AS least
FROM modes, unnest('{0,1,7,30}'::int[]) others, unnest('{1,3,5}'::int[]) keys,
	LATERAL (SELECT format('SELECT %s %s FROM generate_series(1, 180) g ORDER BY %s',
		(SELECT string_agg(CASE i % 3 WHEN 0 THEN '(g * 7 % 5)' WHEN 1 THEN 'left(md5((g % 9)::text), 2)' ELSE 'nullif(g % 4, 1)::numeric' END, ', ')
		 FROM generate_series(1, keys) i),
		(SELECT string_agg(CASE i % 4 WHEN 0 THEN ', g' WHEN 1 THEN ', md5(g::text)' WHEN 2 THEN ', NULL::text' ELSE ', g % 2 = 0' END, '')
		 FROM generate_series(1, others) i),
		(SELECT string_agg(i || CASE i % 2 WHEN 0 THEN ' DESC' ELSE ' NULLS FIRST' END, ', ') FROM generate_series(1, keys) i)) AS query) q,
	LATERAL model(modes, query, 'tuple', 'plan', 3) s
GROUP BY others, keys ORDER BY others, keys;

-- Different orders of the input.
CREATE TABLE patterns (pattern text, expression text);
INSERT INTO patterns VALUES ('ascending', 'g'), ('descending', '-g'), ('constant', 'g - g'), ('few', 'g % 3'), ('in parts', '(g % 4) * 1000 + g'),
	('repeated', 'g / 40'), ('mixed', '(g * 7919) % 1000'), ('neighbours', 'g # 1'), ('skewed', 'power(g % 20 / 20.0, 8) * 100'), ('nulls', 'nullif(g, g)');
SELECT variant, mode, count(*) AS sorts, sum(s.tuples) AS tuples, min(s.groups) AS least_groups
FROM modes, patterns, (VALUES ('tuple', ', g, md5(g::text)'), ('datum', '')) v (variant, others),
	LATERAL model(modes, format('SELECT %s %s FROM generate_series(1, 400) g ORDER BY 1', expression, others), variant, 'plan', 1) s
GROUP BY variant, mode ORDER BY variant, mode COLLATE "C";

-- Bounded sorts, which return only the first tuples.
SELECT variant, bound, count(*) AS sorts, min(s.tuples) AS least
FROM patterns, (VALUES ('tuple', ', g, md5(g::text)'), ('datum', '')) v (variant, others), unnest('{1,10,399,1000}'::int[]) bound,
	(VALUES (false, 1), (true, 3)) o (stable, rounds),
	LATERAL ptsort_test_model(format('SELECT %s %s FROM generate_series(1, 400) g ORDER BY 1', expression, others), variant,
		bound => bound, stable => stable, rounds => rounds, random_access => stable) s
GROUP BY variant, bound ORDER BY variant, bound;

-- Zero, one and two tuples; more participants than tuples.
SELECT variant, n, participants, slices, s.tuples
FROM (VALUES ('tuple'), ('datum')) v (variant), generate_series(0, 2) n, (VALUES (0, false), (3, false), (3, true)) p (participants, slices),
	LATERAL ptsort_test_model(format('SELECT md5(g::text) FROM generate_series(1, %s) g ORDER BY 1', n), variant,
		participants => participants, slices => slices, random_access => participants = 0) s
ORDER BY 1, 2, 3, 4;

-- Sorts that really fill their memory, and sorts of large tuples; with more memory,
-- all tuples fit.
SELECT kb, variant, query, s.tuples, s.runs > 1 AS runs, s.peak_memory <= kb * 1024 OR query LIKE '%repeat%' AS within_budget
FROM unnest('{1024,2048,65536}'::int[]) kb,
	(VALUES ('tuple', 'SELECT g, md5(g::text) FROM generate_series(1, 30000) g ORDER BY 2'),
		('datum', 'SELECT md5(g::text) COLLATE "C" FROM generate_series(1, 30000) g ORDER BY 1'),
		('datum', 'SELECT -g FROM generate_series(1, 150000) g ORDER BY 1'),
		('tuple', 'SELECT g, repeat(md5(g::text), 10000) FROM generate_series(1, 20) g ORDER BY g % 10, 2')) q (variant, query),
	LATERAL ptsort_test_model(query, variant, budget_kb => kb) s
ORDER BY kb, query COLLATE "C";

-- The test notices mistakes.
\set VERBOSITY terse
SELECT ptsort_test_model('SELECT md5(g::text) FROM generate_series(1, 100) g ORDER BY 1', spoil => 'drop');
SELECT ptsort_test_model('SELECT g % 5, md5(g::text) FROM generate_series(1, 100) g ORDER BY 1', spoil => 'replace');
SELECT ptsort_test_model('SELECT g % 5, md5(g::text) FROM generate_series(1, 100) g ORDER BY 1', spoil => 'order');
SELECT ptsort_test_model('SELECT nullif(g % 5, 3), md5(g::text) FROM generate_series(1, 100) g ORDER BY 1', spoil => 'nulls');
SELECT ptsort_test_model('SELECT g FROM generate_series(1, 100) g ORDER BY 1', 'datum', random_access => true, spoil => 'step');
SELECT ptsort_test_model('SELECT md5(g::text) FROM generate_series(1, 100) g ORDER BY 1', participants => 3, spoil => 'drop');
SELECT ptsort_test_model('SELECT g FROM generate_series(1, 100) g ORDER BY 1', 'datum', participants => 3, slices => true, spoil => 'order');
SELECT ptsort_test_model('SELECT g % 5, md5(g::text) FROM generate_series(1, 100) g ORDER BY 1', stable => true, spoil => 'ties');
SELECT ptsort_test_model('SELECT g % 5, md5(g::text) FROM generate_series(1, 100) g ORDER BY 1', participants => 3, slices => true, stable => true, spoil => 'ties');

-- Compressed strings: ptsort decompresses them only for their words, and
-- leaves no decompressed copy.
CREATE TABLE squeezed AS
SELECT md5((i % 100)::text) || repeat('x', 5000) COLLATE "en_US.utf8" AS k, i FROM generate_series(1, 500) i;
SELECT count(*) > 0 AS compressed FROM squeezed WHERE pg_column_size(k) < 500;
SELECT variant, count(*) AS sorts, min(s.tuples) AS tuples
FROM modes m, unnest('{tuple,datum}'::text[]) variant,
	 model(m, CASE variant WHEN 'datum' THEN 'SELECT k FROM squeezed ORDER BY 1' ELSE 'SELECT k, i FROM squeezed ORDER BY k, i' END, variant, 'plan', 5, 16384) s
WHERE NOT slices OR variant = 'datum'
GROUP BY variant ORDER BY variant;
DROP TABLE squeezed;
