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
