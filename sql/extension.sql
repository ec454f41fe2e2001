-- The extension: a session can load it in several ways, its script does not
-- depend on the search path, and dropping the extension drops no index.
\pset format unaligned \pset footer off
SET client_min_messages = warning;
\set SHOW_CONTEXT never
DROP EXTENSION IF EXISTS ptsort CASCADE;
SELECT current_user AS owner \gset
\c -
SET client_min_messages = warning;
CREATE TABLE extensions (a int, b text);
INSERT INTO extensions SELECT i, 'b' || i FROM generate_series(1, 5000) i;

-- Without ptsort, the server builds the indexes, and rejects ptsort's option
CREATE INDEX extensions_server ON extensions (b);
CREATE INDEX extensions_refused ON extensions (b) WITH (parallel_workers = 1);

-- A schema with look-alikes of every name in the script does no harm
CREATE SCHEMA hostile;
CREATE DOMAIN hostile.text AS pg_catalog.int4;
CREATE DOMAIN hostile.int4 AS pg_catalog.text;
CREATE DOMAIN hostile.int8 AS pg_catalog.text;
CREATE DOMAIN hostile.float8 AS pg_catalog.text;
CREATE TYPE hostile.record AS (a pg_catalog.text);
CREATE FUNCTION hostile.ptsort_last_build() RETURNS pg_catalog.text LANGUAGE sql AS $$SELECT 'hostile'::pg_catalog.text$$;
CREATE SCHEMA friendly;
SET search_path = hostile, pg_catalog;
CREATE EXTENSION ptsort SCHEMA hostile;
CREATE EXTENSION ptsort SCHEMA friendly;
RESET search_path;
SELECT DISTINCT type::regtype FROM pg_proc, unnest(proallargtypes) type WHERE oid = 'friendly.ptsort_last_build'::regproc ORDER BY 1;
SELECT prorettype::regtype, proretset, provolatile, proparallel, proisstrict FROM pg_proc WHERE oid = 'friendly.ptsort_last_build'::regproc;
SELECT pg_describe_object(classid, objid, 0) FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ptsort') AND deptype = 'e'
	AND classid <> 'pg_type'::regclass -- row types are members since 18
ORDER BY 1;
SELECT hostile.ptsort_last_build();
DROP SCHEMA hostile CASCADE;

-- The session that created the extension can use ptsort
SET ptsort.min_table_size = 0;
CREATE INDEX extensions_a ON extensions (a) WITH (parallel_workers = 2);
SELECT index_name, participant, role FROM friendly.ptsort_last_build();
CREATE UNIQUE INDEX extensions_b ON extensions (b DESC) INCLUDE (a) WITH (parallel_workers = 1, fillfactor = 70);
ALTER EXTENSION ptsort SET SCHEMA public;
SELECT index_name, participant FROM ptsort_last_build();

-- A new session loads ptsort when it calls ptsort_last_build(), or because
-- session_preload_libraries lists ptsort
\c -
SET client_min_messages = warning;
CREATE INDEX extensions_refused ON extensions (b) WITH (parallel_workers = 1);
SELECT * FROM ptsort_last_build();
CREATE INDEX extensions_c ON extensions (a) WITH (parallel_workers = 1);
DROP INDEX extensions_c;
ALTER DATABASE :"DBNAME" SET session_preload_libraries = 'ptsort';
ALTER DATABASE :"DBNAME" SET ptsort.min_table_size = 0;
CREATE ROLE ptsort_extension_user SUPERUSER LOGIN;
ALTER ROLE ptsort_extension_user SET session_preload_libraries = ptsort, ptsort_test;
ALTER ROLE ptsort_extension_user SET ptsort.parallel_workers = 1;
\c -
CREATE INDEX extensions_c ON extensions (a);
SELECT index_name, participant FROM ptsort_last_build();

ALTER DATABASE :"DBNAME" RESET session_preload_libraries;

-- No catalog entry depends on the extension, and tables and indexes work
-- without the extension
SELECT count(*) FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ptsort')
	AND classid <> 'pg_type'::regclass;
SELECT relname, amname, amhandler, reloptions FROM pg_class c JOIN pg_am a ON a.oid = c.relam
WHERE relname LIKE 'extensions\__' ORDER BY 1;
DROP EXTENSION ptsort;
\c -
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SELECT name FROM pg_settings WHERE name LIKE 'ptsort.%' AND name <> 'ptsort.min_table_size';
SELECT relname, bt_index_parent_check(oid, true, true) FROM pg_class WHERE relname LIKE 'extensions\__' ORDER BY 1;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT b FROM extensions WHERE a = 77;
SELECT b FROM extensions WHERE a = 77;
EXPLAIN (COSTS OFF) SELECT a, b FROM extensions ORDER BY b DESC LIMIT 2;
SELECT a, b FROM extensions ORDER BY b DESC LIMIT 2;
INSERT INTO extensions VALUES (0, 'b77');
INSERT INTO extensions SELECT i, 'c' || i FROM generate_series(1, 3000) i;
DELETE FROM extensions WHERE a % 3 = 0;
VACUUM extensions;
SELECT relname, bt_index_parent_check(oid, true, true) FROM pg_class WHERE relname LIKE 'extensions\__' ORDER BY 1;
REINDEX TABLE extensions;
VACUUM FULL extensions;
SELECT count(*) FROM extensions WHERE a < 100;

-- The role's settings load the library
\c - ptsort_extension_user
CREATE INDEX extensions_d ON extensions (a, b);
CREATE EXTENSION ptsort;
SELECT index_name, participant FROM ptsort_last_build();

-- A user who may not create the extension can use it.
\c - :owner
ALTER ROLE ptsort_extension_user NOSUPERUSER;
CREATE TABLE extensions_own AS SELECT i AS a FROM generate_series(1, 1000) i;
ALTER TABLE extensions_own OWNER TO ptsort_extension_user;
GRANT CREATE ON SCHEMA public TO ptsort_extension_user;
\c - ptsort_extension_user
SELECT current_user;
CREATE INDEX extensions_own_i ON extensions_own (a) WITH (parallel_workers = 2);
SELECT index_name, participant FROM ptsort_last_build();
SET ptsort.enable = off;
REINDEX TABLE extensions_own;
SELECT index_name, participant FROM ptsort_last_build();
DROP EXTENSION ptsort;
\c - :owner
DROP EXTENSION ptsort;
\c - ptsort_extension_user
CREATE EXTENSION ptsort;
\c - :owner
DROP TABLE extensions, extensions_own;
DROP SCHEMA friendly;
REVOKE CREATE ON SCHEMA public FROM ptsort_extension_user;
DROP ROLE ptsort_extension_user;
ALTER DATABASE :"DBNAME" RESET ptsort.min_table_size;
