-- Shapes for the other tests: each shape is an empty table with an index.  The last
-- column is the payload; the tests notice damage at either end of the payload.
CREATE EXTENSION ptsort;
CREATE EXTENSION ptsort_test;
-- All sessions of the tests have the settings of ptsort_test.
ALTER DATABASE :"DBNAME" SET session_preload_libraries = 'ptsort_test';
-- PUBLIC may call no function of ptsort_test.
SELECT p.oid::regprocedure FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ptsort_test')
	AND has_function_privilege('pg_monitor', p.oid, 'EXECUTE');
CREATE TABLE shape_int8 (k int8, pad text);
CREATE INDEX shape_int8_i ON shape_int8 (k);
CREATE TABLE shape_int4 (k int4, k2 int8, pad text);
ALTER TABLE shape_int4 ALTER pad SET STORAGE EXTERNAL;
CREATE INDEX shape_int4_i ON shape_int4 (k DESC NULLS LAST, k2 NULLS FIRST) INCLUDE (pad);
CREATE TABLE shape_text (k text COLLATE "C", k2 uuid, pad text);
CREATE INDEX shape_text_i ON shape_text (k, k2 DESC);
CREATE TABLE shape_icu (k text COLLATE "en-x-icu", pad text);
CREATE INDEX shape_icu_i ON shape_icu (k DESC);
CREATE TABLE shape_default (k text, k2 int4, pad text);
CREATE INDEX shape_default_i ON shape_default (k);
CREATE TABLE shape_name (k name, pad text);
CREATE INDEX shape_name_i ON shape_name (k);
CREATE TABLE shape_numeric (k numeric, k2 text, pad text);
CREATE INDEX shape_numeric_i ON shape_numeric (k NULLS FIRST, k2);
CREATE TABLE shape_bytea (k bytea, pad text);
CREATE INDEX shape_bytea_i ON shape_bytea (k);
CREATE TABLE shape_uuid (k uuid, pad text);
CREATE INDEX shape_uuid_i ON shape_uuid (k DESC NULLS LAST);
CREATE TABLE shape_float8 (k float8, k2 timestamptz, pad text);
CREATE INDEX shape_float8_i ON shape_float8 (k, k2);
CREATE TABLE shape_bool (k bool, k2 int2, pad text);
CREATE INDEX shape_bool_i ON shape_bool (k, k2 DESC);

-- A user-defined btree operator class: its keys have no words.
CREATE FUNCTION last_digit_cmp(int8, int8) RETURNS int4
LANGUAGE sql IMMUTABLE STRICT
RETURN btint8cmp(abs($1 % 10), abs($2 % 10));
CREATE FUNCTION last_digit_lt(int8, int8) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT RETURN abs($1 % 10) < abs($2 % 10);
CREATE FUNCTION last_digit_le(int8, int8) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT RETURN abs($1 % 10) <= abs($2 % 10);
CREATE FUNCTION last_digit_eq(int8, int8) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT RETURN abs($1 % 10) = abs($2 % 10);
CREATE FUNCTION last_digit_ge(int8, int8) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT RETURN abs($1 % 10) >= abs($2 % 10);
CREATE FUNCTION last_digit_gt(int8, int8) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT RETURN abs($1 % 10) > abs($2 % 10);
CREATE OPERATOR <% (FUNCTION = last_digit_lt, LEFTARG = int8, RIGHTARG = int8);
CREATE OPERATOR <=% (FUNCTION = last_digit_le, LEFTARG = int8, RIGHTARG = int8);
CREATE OPERATOR =% (FUNCTION = last_digit_eq, LEFTARG = int8, RIGHTARG = int8);
CREATE OPERATOR >=% (FUNCTION = last_digit_ge, LEFTARG = int8, RIGHTARG = int8);
CREATE OPERATOR >% (FUNCTION = last_digit_gt, LEFTARG = int8, RIGHTARG = int8);
CREATE OPERATOR CLASS last_digit_ops FOR TYPE int8 USING btree AS
	OPERATOR 1 <%, OPERATOR 2 <=%, OPERATOR 3 =%, OPERATOR 4 >=%, OPERATOR 5 >%,
	FUNCTION 1 last_digit_cmp(int8, int8);
CREATE TABLE shape_own (k int8, pad text);
CREATE INDEX shape_own_i ON shape_own (k last_digit_ops);

-- ptsort_test_sort() with settings that force a path.
CREATE FUNCTION forced_sort(variant text, index regclass, n int, budget_kb int DEFAULT 1024, workers int DEFAULT 0, shares int[] DEFAULT NULL,
	random_access bool DEFAULT false, pattern text DEFAULT 'random', distinct_keys int8 DEFAULT 0, null_every int DEFAULT 0, width int DEFAULT 0,
	slices bool DEFAULT false, stable bool DEFAULT false, bound int8 DEFAULT 0,
	merge_order int DEFAULT 0, spill int DEFAULT 0, learn int DEFAULT -1, class text DEFAULT 'auto', nslices int DEFAULT 0,
	OUT tuples int8, OUT runs int8, OUT comparisons int8, OUT peak_memory int8, OUT checksum int8, OUT filled_slices int8)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('ptsort_test.merge_order', merge_order::text, true), set_config('ptsort_test.spill_entries', spill::text, true),
		set_config('ptsort_test.learn_tuples', learn::text, true), set_config('ptsort_test.key_class', class, true),
		set_config('ptsort_test.slices', nslices::text, true);
	SELECT s.tuples, s.runs, s.comparisons, s.peak_memory, s.checksum, s.filled_slices
	INTO tuples, runs, comparisons, peak_memory, checksum, filled_slices
	FROM ptsort_test_sort(variant, index, n, budget_kb, workers, shares => shares, random_access => random_access, pattern => pattern,
		distinct_keys => distinct_keys, null_every => null_every, width => width, slices => slices, stable => stable, bound => bound) s;
END $$;

-- Returns a random number that is the same on every machine.
CREATE FUNCTION r(i int, seed int DEFAULT 0) RETURNS int8
LANGUAGE sql IMMUTABLE RETURN hashint8extended(i, seed);

-- Returns a string of letters that collations treat in different ways.
CREATE FUNCTION s(i int, len int) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN left(translate(md5(i::text), '0123456789abcdef', 'aAbB -_zZ1.cC20y'), len);

-- For each type, an expression that makes a random value from a number i, and
-- extreme values.
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN a_domain AS int8;
CREATE DOMAIN c_domain AS text COLLATE "C" CHECK (length(VALUE) < 10000);
CREATE TYPE color AS ENUM ('red', 'green', 'blue', 'Zebra', '');
ALTER TYPE color ADD VALUE 'first' BEFORE 'red';
CREATE TYPE pair AS (a int4, b text);
CREATE TYPE textrange AS RANGE (subtype = text, collation = "C");
CREATE TABLE pool (type text, opclass text, items text, extremes text);
INSERT INTO pool VALUES
('bool', '', 'i % 2 = 0', '{t,f}'),
('int2', '', '(r(i) % 32768)::int2', '{-32768,32767,0,-1,1}'),
('int4', '', '(r(i) % 2147483648)::int4', '{-2147483648,2147483647,0,-1,1}'),
('int8', '', 'r(i)', '{-9223372036854775808,9223372036854775807,0,-1,1}'),
('oid', '', '(r(i) & 4294967295)::oid', '{0,1,2147483647,2147483648,4294967295}'),
('"char"', '', '(i % 256 - 128)::"char"', NULL),
('float4', '', 'CASE WHEN i % 100 = 0 THEN float8 ''Infinity'' - ''Infinity'' ELSE ((r(i) % 1000000) || ''e'' || (i % 60 - 30))::float8 END::float4',
 '{NaN,-0,0,Infinity,-Infinity,1e-45,-1e-45,3.4e38,-3.4e38}'),
('float8', '', 'CASE WHEN i % 100 = 0 THEN float8 ''Infinity'' - ''Infinity'' ELSE ((r(i) % 1000000) || ''e'' || (i % 580 - 290))::float8 END::float8',
 '{NaN,-0,0,Infinity,-Infinity,4.9e-324,-4.9e-324,1.79e308,-1.79e308}'),
('numeric', '', '(r(i) || ''e'' || (i % 800 - 400))::numeric',
 '{NaN,Infinity,-Infinity,0,0.000,1,1.0,1.00000000000000000000000001,-1,-1.00,1e-300,-1e-300,1e500,-1e500,9999,10000,-9999,-10000}'),
('money', '', '(r(i) / 1000)::money',
 '{-92233720368547758.08,92233720368547758.07,0}'),
('date', '', 'date ''2000-01-01'' + (r(i) % 700000)::int4',
 '{infinity,-infinity,"4714-11-24 BC",5874897-12-31,"0001-01-01 BC",0001-01-01}'),
('time', '', 'time ''00:00'' + make_interval(secs => abs(r(i) % 86400))', '{00:00,24:00,00:00:00.000001}'),
('timetz', '', '(time ''00:00'' + make_interval(secs => abs(r(i) % 86400)) || to_char(r(i, 1) % 15, ''S00''))::timetz',
 '{00:00+15:59,00:00-15:59,24:00+15:59,24:00-15:59,12:00+00,13:00+01,11:00-01}'),
('timestamp', '', 'timestamp ''2000-01-01'' + make_interval(secs => r(i) % 50000000000)',
 '{infinity,-infinity,"4714-11-24 00:00:00 BC","294276-12-31 23:59:59.999999","2000-01-01 00:00:00"}'),
('timestamptz', '', 'timestamptz ''2000-01-01'' + make_interval(secs => r(i) % 50000000000)',
 '{infinity,-infinity,"4714-11-24 00:00:00+00 BC","294276-12-31 23:59:59.999999+00"}'),
('interval', '', 'make_interval(secs => r(i) % 100000000)', '{"178000000 years","-178000000 years",0,"1 mon","30 days","720:00"}'),
('uuid', '', 'md5(i::text)::uuid',
 '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,00000000-0000-0000-0000-000000000001}'),
('macaddr', '', 'left(md5(i::text), 12)::macaddr', '{00:00:00:00:00:00,ff:ff:ff:ff:ff:ff}'),
('macaddr8', '', 'left(md5(i::text), 16)::macaddr8', '{00:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff,7f:ff:ff:ff:80:00:00:00}'),
('inet', '', 'CASE WHEN i % 3 = 0
	THEN set_masklen((regexp_replace(left(md5((i % 100)::text), 32), ''(....)(?!$)'', ''\1:'', ''g''))::inet, i % 129)
	ELSE set_masklen(inet ''0.0.0.0'' + (r(i % 500) & 4294967295), i % 33) END',
 '{0.0.0.0/0,0.0.0.0,255.255.255.255,255.255.255.255/0,10.0.0.1/8,10.0.0.1/9,10.0.0.1/32,::/0,::,::1,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/64}'),
('cidr', '', 'network(set_masklen(inet ''0.0.0.0'' + (r(i % 500) & 4294967295), i % 33))', '{0.0.0.0/0,::/0,10.0.0.0/8,10.0.0.0/32}'),
('pg_lsn', '', 'pg_lsn ''0/0'' + (r(i) & 9223372036854775807)::numeric', '{0/0,FFFFFFFF/FFFFFFFF,7FFFFFFF/FFFFFFFF,80000000/0}'),
('xid8', '', '(r(i) & 9223372036854775807)::text::xid8', '{0,1,18446744073709551615,9223372036854775808}'),
('tid', '', 'format(''(%s,%s)'', r(i) & 4294967295, r(i, 1) & 65535)::tid', '{"(0,0)","(4294967295,65535)","(0,65535)","(1,0)"}'),
('bytea', '', 'decode(left(md5(i::text), i % 16 * 2), ''hex'')', '{"","\\x00","\\x0000","\\x00000000000000000000","\\xff","\\xffffffffffffffffff","\\x61","\\x6100"}'),
('text COLLATE "C"', '', 's(i, i % 24)', '{"",a,"a ",A,éa,zzzzzzzzz,zzzzzzzz}'),
('text COLLATE "en-x-icu"', '', 's(i, i % 24)', '{"",a,A,á,ä,ab,aB,Ab,"a b",a-b,ﬀ,ß,ss,zzzzzzzzzzz}'),
('text COLLATE "de-x-icu"', '', 's(i, i % 24)', '{"",a,A,á,ä,ab,aB,Ab,"a b",a-b,ﬀ,ß,ss}'),
('text COLLATE any_case', '', 's(i, i % 24)', '{"",a,A,á,ä,ab,aB,Ab,"a b",a-b}'),
('text', 'text_pattern_ops', 's(i, i % 24)', '{"",a,A,á}'),
('text COLLATE "C.utf8"', '', 's(i, i % 24)', '{"",a,A,á}'),
('varchar(20) COLLATE "C"', '', 's(i, i % 20)::varchar(20)', '{"",a}'),
('char(10) COLLATE "C"', '', 's(i, i % 10)::char(10)', '{"",a,"a ","a	"}'),
('char(10) COLLATE "en-x-icu"', '', 's(i, i % 10)::char(10)', '{"",a,"a "}'),
('name', '', 's(i, i % 20)::name', '{"",a}'),
('int8', 'last_digit_ops', 'r(i)', '{-9223372036854775808,9223372036854775807,0,-1,1}'),
('int8', 'named_ops', 'r(i)', '{-9223372036854775808,9223372036854775807,0,-1,1}'),
('a_domain', '', 'r(i)::a_domain', '{-9223372036854775808,9223372036854775807,0,-1,1}'),
('int4range', '', 'int4range((r(i) % 1000)::int4, NULL)', '{empty,"(,)"}'),
('jsonb', '', 'to_jsonb(r(i))', '{"{}","null","[]"}'),
('bit(8)', '', '(i % 256)::bit(8)', NULL),
('varbit', '', 'substring(r(i)::bit(64) FROM 1 FOR i % 64)::varbit', '{"",0,00}'),
('tsvector', '', 'to_tsvector(''simple'', i % 100 || '' fat cat '' || i)', '{""}'),
('tsquery', '', '(i % 50 || '' & !'' || i)::tsquery', NULL),
('oidvector', '', 'format(''%s %s'', i % 100, i % 7)::oidvector', NULL),
('int4[]', '', 'ARRAY[i % 100, NULL, i % 3]', NULL),
('text[]', '', 'ARRAY[(i % 10)::text, md5(i::text)]', NULL),
('numrange', '', 'numrange(i % 1000, NULL)', '{empty,"(,)","[1.0,1.00]"}'),
('textrange', '', 'textrange(md5(i::text), NULL)', '{empty}'),
('int4multirange', '', 'int4multirange(int4range(i % 50, i % 50 + 1 + i % 3))', '{"{}"}'),
('color', '', '(enum_range(NULL::color))[1 + i % 6]', NULL),
('c_domain', '', 'md5(i::text)::c_domain', '{""}'),
('pair', '', 'ROW(i % 10, i::text)::pair', '{"(,)","(1,)"}');

-- An operator class with the server's comparison, but without sort support.
CREATE OPERATOR CLASS named_ops FOR TYPE int8 USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btint8cmp(int8, int8);

-- The table has all types with an order: one array type stands for all array types,
-- one range type for all range types, and so on.  (PostgreSQL 19 added oid8.)
SELECT opcintype::regtype FROM pg_opclass
WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'btree') AND opcdefault AND oid < 16384
	AND opcintype NOT IN (SELECT split_part(type, ' COLLATE', 1)::regtype::oid FROM pool)
	AND opcintype::regtype::text NOT IN ('anyarray', 'anyenum', 'anyrange', 'anymultirange', 'record', 'oid8')
ORDER BY 1;
