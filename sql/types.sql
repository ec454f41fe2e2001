-- Every operator class and every kind of type and collation: the index equals,
-- page by page, the index that the server builds.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql
SELECT setseed(0.5);

-- Types for operator classes that take any enum, range, composite and so on
CREATE TYPE mood AS ENUM ('so', 'la la', 'fine');
ALTER TYPE mood ADD VALUE 'awful' BEFORE 'so';
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN short AS text COLLATE "C" CHECK (length(VALUE) < 100);
CREATE EXTENSION IF NOT EXISTS citext;
CREATE EXTENSION IF NOT EXISTS ltree;
CREATE EXTENSION IF NOT EXISTS cube;

-- One row for each type: a value computed from r, a random whole number
CREATE TABLE types_values (type text PRIMARY KEY, value text);
INSERT INTO types_values VALUES
	('bool', 'r % 2 = 0'),
	('"char"', 'chr(32 + r % 90)'),
	('int2', 'r % 65536 - 32768'),
	('int4', 'r * 40::int8 - 2000000000'),
	('int8', 'r * 90000000000 - 4500000000000000000'),
	('oid', 'r * 40::int8'),
	('xid8', 'r::text::xid8'),
	('tid', $$format('(%s,%s)', r % 5000, r % 200 + 1)::tid$$),
	('pg_lsn', $$format('%s/%s', r % 3, to_hex(r))::pg_lsn$$),
	('float4', 'r::float4 / 3 - 1e7'),
	('float8', 'CASE r % 50 WHEN 0 THEN float8 ''-0'' WHEN 1 THEN 0 WHEN 2 THEN ''NaN'' WHEN 3 THEN ''Infinity'' ELSE (r - 5e7) * 1.1e250 END'),
	('numeric', 'CASE r % 50 WHEN 0 THEN numeric ''NaN'' WHEN 1 THEN 0.00 WHEN 2 THEN 0 ELSE (r - 50000000) / 7.0 END'),
	('money', 'r::numeric::money'),
	('date', $$CASE r % 50 WHEN 0 THEN date 'infinity' WHEN 1 THEN '-infinity' ELSE date '2000-01-01' + r % 100000 - 50000 END$$),
	('time', $$time '00:00' + r * interval '1 ms'$$),
	('timetz', $$(time '00:00' + r % 100 * interval '10 min') AT TIME ZONE make_interval(hours => r % 12)$$),
	('timestamp', $$timestamp '2000-01-01' + r * interval '7.123 s' - interval '10 years'$$),
	('timestamptz', $$timestamptz '2000-01-01 00:00+00' + r * interval '7.123 s' - interval '10 years'$$),
	('interval', $$make_interval(months => r % 7, days => r % 200, secs => r % 1000)$$),
	('uuid', 'md5(r::text)::uuid'),
	('macaddr', 'left(md5(r::text), 12)::macaddr'),
	('macaddr8', 'left(md5(r::text), 16)::macaddr8'),
	('inet', $$format('10.%s.%s.0/%s', r % 256, r % 7, 16 + r % 17)::inet$$),
	('cidr', $$format('10.%s.0.0/%s', r % 256, 16)::cidr$$),
	('bit(20)', 'r::int::bit(20)'),
	('varbit', 'r::int::bit(20)::varbit'),
	('bytea', 'decode(left(md5(r::text), r % 16 * 2), ''hex'')'),
	('text', 'left(md5(r::text), r % 33)'),
	('varchar', 'left(md5(r::text), r % 33)'),
	('bpchar', 'left(md5(r::text), r % 33)'),
	('name', 'md5(r::text)'),
	('citext', 'CASE WHEN r % 2 = 0 THEN md5((r % 999)::text) ELSE upper(md5((r % 999)::text)) END'),
	('jsonb', $$CASE r % 3 WHEN 0 THEN to_jsonb(r) WHEN 1 THEN jsonb_build_object('k', r % 100) ELSE jsonb_build_array(r, 'x') END$$),
	('int4[]', 'CASE WHEN r % 9 = 0 THEN ''{}'' ELSE ARRAY[r % 10, NULL, r % 300] END'),
	('text[]', 'ARRAY[md5((r % 10)::text), md5(r::text)]'),
	('oidvector', '(r % 50 || '' '' || r)::oidvector'),
	('int4range', 'CASE WHEN r % 9 = 0 THEN ''empty'' ELSE int4range((r % 1000)::int, (r % 1000 + r % 77)::int) END'),
	('tsrange', $$tsrange(timestamp '2000-01-01' + r * interval '1 s', NULL)$$),
	('int4multirange', 'int4multirange(int4range((r % 1000)::int, (r % 1000 + 5)::int), int4range(5000, 5000 + (r % 50)::int))'),
	('tsvector', $$to_tsvector('simple', 'w' || r % 10 || ' v' || r)$$),
	('tsquery', $$to_tsquery('simple', 'w' || r % 10 || ' & v' || r)$$),
	('mood', '(enum_range(NULL::mood))[1 + r % 4]'),
	('pair', 'ROW(r % 100, md5(r::text))::pair'),
	('positive', 'r + 1'),
	('short', 'md5(r::text)'),
	('ltree', $$format('a%s.b%s', r % 10, r)::ltree$$),
	('cube', 'cube(ARRAY[r % 10, r]::float8[], ARRAY[r, 7]::float8[])');

-- Fills a table of one column of this type.
CREATE FUNCTION types_fill(type text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	v text := (SELECT value FROM types_values v WHERE v.type = types_fill.type);
BEGIN
	DROP TABLE IF EXISTS types;
	EXECUTE format('CREATE TABLE types (v %s)', type);
	EXECUTE format('INSERT INTO types SELECT CASE WHEN r %% 17 > 0 THEN (%s)::%s END
		FROM (SELECT (random() * 1e8)::int4 AS r FROM generate_series(1, 1200)) s', v, type);
	ANALYZE types;
END $$;

-- All btree operator classes, except those of other extensions
CREATE TABLE types_classes AS
SELECT v.type, opcname, opcdefault
FROM types_values v JOIN pg_type t ON t.oid = v.type::regtype,
	pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod AND amname = 'btree'
WHERE c.opcintype = t.oid
	OR c.opcintype = t.typbasetype
	OR (c.opcintype = 'anyarray'::regtype AND typname IN ('_int4', '_text'))
	OR (c.opcintype = 'anyenum'::regtype AND typtype = 'e')
	OR (c.opcintype = 'anyrange'::regtype AND typtype = 'r')
	OR (c.opcintype = 'anymultirange'::regtype AND typtype = 'm')
	OR (c.opcintype = 'record'::regtype AND typtype = 'c')
	OR (c.opcintype = 'text'::regtype AND typname = 'varchar')
	OR (c.opcintype = 'inet'::regtype AND typname = 'cidr');
-- all classes are covered (oid8.sql tests oid8_ops of PostgreSQL 19)
SELECT opcname, opcintype::regtype
FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod AND amname = 'btree'
WHERE c.oid < 16384 AND opcname <> 'oid8_ops' AND opcname NOT IN (SELECT opcname FROM types_classes);

CREATE FUNCTION types_compare() RETURNS TABLE (type text, class text, plain text, "desc" text)
LANGUAGE plpgsql AS $$
BEGIN
	FOR type IN SELECT v.type FROM types_values v ORDER BY v.type COLLATE "C" LOOP
		PERFORM types_fill(type);
		FOR class IN SELECT c.opcname FROM types_classes c WHERE c.type = types_compare.type
				ORDER BY c.opcname LOOP
			plain := same('types', format('(v %s)', class));
			"desc" := same('types', format('(v %s DESC)', class));
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;
SELECT * FROM types_compare();

-- Orders, with nulls and without
CREATE FUNCTION types_orders() RETURNS TABLE (type text, "nulls first" text,
	"desc nulls last" text, "not null" text, "not null desc" text)
LANGUAGE plpgsql AS $$
BEGIN
	FOREACH type IN ARRAY '{int2,int8,float8,text,numeric,uuid,timestamptz,bool,"int4[]",citext}'::text[] LOOP
		PERFORM types_fill(type);
		"nulls first" := same('types', '(v NULLS FIRST)');
		"desc nulls last" := same('types', '(v DESC NULLS LAST)');
		DELETE FROM types WHERE v IS NULL;
		ALTER TABLE types ALTER v SET NOT NULL;
		"not null" := same('types', '(v)');
		"not null desc" := same('types', '(v DESC)');
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM types_orders();

-- Several columns: each pair of a short column and another column, in both
-- orders
CREATE TABLE types_columns AS
SELECT i % 3 = 0 AS a_bool, (i % 5)::int2 AS an_int2, nullif(i % 7, 3) AS an_int4,
	(i % 40)::int8 * 1234567 AS an_int8, (i % 6 - 3)::float8 * 0 AS a_float8,
	md5((i % 300)::text) COLLATE "C" AS in_c, md5((i % 50)::text) AS in_default,
	md5((i % 90)::text)::uuid AS a_uuid, nullif(i % 70, 30)::numeric AS a_numeric,
	date '2020-01-01' + i % 30 AS a_date
FROM (SELECT (random() * 1e8)::int4 AS i FROM generate_series(1, 1200)) s;
SELECT a.attname AS first, count(*) AS pairs, count(*) FILTER (WHERE result = 'same') AS same
FROM pg_attribute a, pg_attribute b,
	same('types_columns', format('(%I, %I DESC)', a.attname, b.attname)) result
WHERE a.attrelid = 'types_columns'::regclass AND b.attrelid = a.attrelid
	AND a.attnum > 0 AND b.attnum > 0 AND a.attnum <> b.attnum AND a.attlen IN (1, 2, 4, 16)
GROUP BY a.attnum, a.attname ORDER BY a.attnum;
SELECT what, same('types_columns', what)
FROM unnest(ARRAY[
	'(a_bool, an_int2, an_int4 DESC NULLS LAST, a_date)',
	'(an_int2 DESC, an_int8, a_uuid)',
	'(a_float8, a_numeric NULLS FIRST, an_int4 NULLS FIRST)',
	'(in_c, in_default, a_bool)',
	'(in_default, in_default DESC)',
	'(an_int4, an_int4 DESC, an_int4 NULLS FIRST)',
	'(an_int4) INCLUDE (in_c, a_bool)',
	'(an_int4, a_bool) INCLUDE (an_int4)',
	'(an_int2, an_int8) WITH (fillfactor = 50)',
	'(an_int2) WITH (deduplicate_items = off)',
	'(an_int2, in_c) WITH (fillfactor = 100, deduplicate_items = off)']) what;

-- Collations
CREATE COLLATION blind (PROVIDER = icu, LOCALE = 'und-u-ks-level1', DETERMINISTIC = false);
CREATE COLLATION numbers (PROVIDER = icu, LOCALE = 'en-u-kn-true');
CREATE TABLE types_words AS
SELECT CASE i % 5 WHEN 0 THEN upper(w) WHEN 1 THEN initcap(w) WHEN 2 THEN replace(w, 'a', U&'\00e1')
	WHEN 3 THEN w || ' ' || i % 100 ELSE w END AS w
FROM (SELECT i, left(translate(md5(i::text), '0123456789', 'ghijklmnop'), 2 + i % 5) AS w
	FROM (SELECT (random() * 1e8)::int4 AS i FROM generate_series(1, 1500)) s) t;
INSERT INTO types_words VALUES (''), (NULL), (' '), ('-'), (U&'\+01F600'), ('co-op'), ('coop'), ('CO-OP'), ('co op'), (repeat('x', 2000));
SELECT name, same('types_words', format('(w COLLATE %s)', name)),
	same('types_words', format('(w COLLATE %s DESC, w)', name)) AS two_columns
FROM unnest(ARRAY['"C"', '"POSIX"', '"en_US.utf8"', '"C.utf8"', '"en-x-icu"', '"und-x-icu"', 'blind', 'numbers']) name;
-- collations that only some servers have
SELECT collname, result
FROM pg_collation, same('types_words', format('(w COLLATE %I)', collname)) result
WHERE collname IN ('unicode', 'ucs_basic', 'pg_c_utf8', 'pg_unicode_fast') AND result <> 'same';
-- an operator class that ignores the collation
SELECT same('types_words', '(w text_pattern_ops)'), same('types_words', '(w COLLATE "en_US.utf8" text_pattern_ops DESC)');
-- the collation decides which values are equal
ALTER TABLE types_words ALTER w TYPE text COLLATE blind;
SELECT same('types_words', '((left(w, 3)))');
TRUNCATE types_words;
INSERT INTO types_words VALUES ('aa'), ('b'), ('ba'), (U&'B\00c1');
CREATE UNIQUE INDEX ON types_words (w);

-- Users' operator classes: one treats different values as equal, one has the
-- default comparison under another name, one reverses the order
CREATE FUNCTION parity_cmp(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT
	RETURN (abs($1) % 2 - abs($2) % 2) * 3 + sign(abs($1) / 2 - abs($2) / 2)::int4;
CREATE FUNCTION parity_lt(int4, int4) RETURNS bool LANGUAGE sql IMMUTABLE STRICT RETURN parity_cmp($1, $2) < 0;
CREATE FUNCTION parity_le(int4, int4) RETURNS bool LANGUAGE sql IMMUTABLE STRICT RETURN parity_cmp($1, $2) <= 0;
CREATE FUNCTION parity_eq(int4, int4) RETURNS bool LANGUAGE sql IMMUTABLE STRICT RETURN parity_cmp($1, $2) = 0;
CREATE FUNCTION parity_ge(int4, int4) RETURNS bool LANGUAGE sql IMMUTABLE STRICT RETURN parity_cmp($1, $2) >= 0;
CREATE FUNCTION parity_gt(int4, int4) RETURNS bool LANGUAGE sql IMMUTABLE STRICT RETURN parity_cmp($1, $2) > 0;
CREATE OPERATOR <@@ (FUNCTION = parity_lt, LEFTARG = int4, RIGHTARG = int4);
CREATE OPERATOR <=@@ (FUNCTION = parity_le, LEFTARG = int4, RIGHTARG = int4);
CREATE OPERATOR =@@ (FUNCTION = parity_eq, LEFTARG = int4, RIGHTARG = int4);
CREATE OPERATOR >=@@ (FUNCTION = parity_ge, LEFTARG = int4, RIGHTARG = int4);
CREATE OPERATOR >@@ (FUNCTION = parity_gt, LEFTARG = int4, RIGHTARG = int4);
CREATE OPERATOR CLASS parity_ops FOR TYPE int4 USING btree AS
	OPERATOR 1 <@@, OPERATOR 2 <=@@, OPERATOR 3 =@@, OPERATOR 4 >=@@, OPERATOR 5 >@@,
	FUNCTION 1 parity_cmp(int4, int4);
CREATE OPERATOR CLASS int4_again_ops FOR TYPE int4 USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btint4cmp(int4, int4);
CREATE FUNCTION int4_backwards(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT
	RETURN btint4cmp($2, $1);
CREATE OPERATOR CLASS int4_backwards_ops FOR TYPE int4 USING btree AS
	OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <,
	FUNCTION 1 int4_backwards(int4, int4), FUNCTION 4 btequalimage(oid);
SELECT types_fill('int4');
INSERT INTO types SELECT i / 3 * (i % 2 * 2 - 1) FROM generate_series(1, 900) i;
SELECT class, same('types', format('(v %s)', class)), same('types', format('(v %s DESC, v)', class)) AS two_columns
FROM unnest('{parity_ops,int4_again_ops,int4_backwards_ops,int4_ops}'::text[]) class;

DROP TABLE types, types_values, types_classes, types_columns, types_words;
DROP FUNCTION types_fill, types_compare, types_orders;
DROP OPERATOR FAMILY parity_ops USING btree;
DROP OPERATOR FAMILY int4_again_ops USING btree;
DROP OPERATOR FAMILY int4_backwards_ops USING btree;
DROP OPERATOR <@@ (int4, int4), <=@@ (int4, int4), =@@ (int4, int4), >=@@ (int4, int4), >@@ (int4, int4);
DROP FUNCTION parity_lt, parity_le, parity_eq, parity_ge, parity_gt, parity_cmp, int4_backwards;
DROP COLLATION blind, numbers;
DROP EXTENSION citext, ltree, cube;
DROP TYPE mood, pair, positive, short;
