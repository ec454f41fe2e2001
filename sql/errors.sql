-- Builds that fail: the message, SQLSTATE and hints are the server's, the build
-- leaves nothing behind, and the session can then build another index (see
-- attempt() in same.sql).
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql

-- Rows larger than a third of a page, and rows larger than the limit of an
-- index tuple: in the key, in INCLUDE, and in an index that has only these
-- rows.
CREATE TABLE errors (id int, small text, large text, huge text, more text);
ALTER TABLE errors ALTER large SET STORAGE EXTERNAL, ALTER huge SET STORAGE EXTERNAL;
INSERT INTO errors SELECT i, 's' || i FROM generate_series(1, 3000) i;
UPDATE errors SET large = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 85) i),
	huge = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 2000) i),
	more = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 60) i) WHERE id = 1234;
SELECT what, attempt('CREATE INDEX attempted ON errors ' || what)
FROM unnest(ARRAY['(large)', '(huge)', '(large COLLATE "C")', '(huge COLLATE "C" DESC)', '(small, large)', '(small) INCLUDE (huge)',
	'(more, (more || id))', '((large || small)) WHERE id > 1000', '(id) INCLUDE (large)', '(id) INCLUDE (huge)', '(more)', '(id) INCLUDE (more)']) what;
SELECT attempt('CREATE UNIQUE INDEX attempted ON errors (large, id)');
SELECT attempt('ALTER TABLE errors ADD CONSTRAINT attempted UNIQUE (huge)');
-- the largest rows that fit, and the next larger ones
CREATE TABLE errors_third (id int, word text COLLATE "C");
ALTER TABLE errors_third ALTER word SET STORAGE EXTERNAL;
INSERT INTO errors_third SELECT i, 'w' FROM generate_series(1, 100) i;
INSERT INTO errors_third SELECT 101, string_agg(md5(i::text), '') FROM generate_series(1, 90) i;
CREATE FUNCTION cut(word text, size int) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql RETURN left(word, size);
SELECT size, attempt(format('CREATE INDEX attempted ON errors_third (cut(word, %s))', size))
FROM unnest('{2688,2692,2693,2712}'::int[]) size;
SELECT size, same('errors_third', format('(cut(word, %s))', size)), same('errors_third', format('(cut(word, %s), id)', size - 8), '', 2)
FROM unnest('{2680,2688}'::int[]) size;
-- what a user sees when the build fails
CREATE INDEX errors_i ON errors (large);
CREATE INDEX errors_i ON errors (huge) WITH (parallel_workers = 2);
\set VERBOSITY sqlstate
CREATE INDEX errors_i ON errors (large);
CREATE INDEX errors_i ON errors (huge) WITH (parallel_workers = 2);
\set VERBOSITY default

-- Types and collations that have no comparison
CREATE TABLE errors_types (j json, p point, t text COLLATE "C");
INSERT INTO errors_types SELECT '{}', '(1,1)', 'b' || i FROM generate_series(1, 10) i;
SELECT what, attempt('CREATE INDEX attempted ON errors_types ' || what)
FROM unnest(ARRAY['(j)', '(p)', '((t || (t COLLATE "en_US.utf8")))', '(t int4_ops)', '(t) INCLUDE ((t || ''x''))', '(nothing)']) what;
-- a comparison function that fails for one value
CREATE FUNCTION fussy_cmp(int4, int4) RETURNS int4 IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
$$BEGIN
	IF $1 = 1500 OR $2 = 1500 THEN RAISE EXCEPTION 'not with me' USING ERRCODE = 'PT002', HINT = 'Leave 1500 out.'; END IF;
	RETURN CASE WHEN $1 < $2 THEN -1 WHEN $1 > $2 THEN 1 ELSE 0 END;
END$$;
CREATE OPERATOR CLASS fussy_ops FOR TYPE int4 USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 fussy_cmp(int4, int4);
SELECT what, attempt('CREATE INDEX attempted ON errors ' || what)
FROM unnest(ARRAY['(id fussy_ops)', '(id fussy_ops) WHERE id <> 1500', '(small, id fussy_ops)']) what;

-- Settings: a value out of range changes nothing
SET ptsort.parallel_workers = 1025;
SET ptsort.parallel_workers = -2;
SET ptsort.parallel_workers = '3MB';
SHOW ptsort.parallel_workers;
SELECT index_name, count(*) FROM ptsort_last_build() GROUP BY 1;
CREATE INDEX errors_i ON errors (id) WITH (parallel_workers = -1);
CREATE INDEX errors_i ON errors USING hash (id) WITH (parallel_workers = 2);
CREATE INDEX errors_i ON errors USING brin (id) WITH (parallel_workers = 2);
CREATE INDEX errors_i ON errors (id) WITH (parallel_workers = 2, fillfactor = 5);
CREATE INDEX errors_i ON errors (id) WITH (parallel_workers = 2, nonsense = 5);
CREATE INDEX errors_i ON errors (id) WITH (parallel_workers = 2) TABLESPACE nowhere;
CREATE INDEX errors_i ON nowhere (id) WITH (parallel_workers = 2);

-- Statements that fail late, after the index is built
BEGIN;
CREATE INDEX errors_i ON errors (id) WITH (parallel_workers = 2);
SELECT 1 / 0;
ROLLBACK;
SELECT attempt('ALTER TABLE errors ADD CONSTRAINT attempted UNIQUE (id), ADD CHECK (id < 2000)');
BEGIN READ ONLY;
CREATE INDEX errors_i ON errors (id) WITH (parallel_workers = 2);
ROLLBACK;
BEGIN;
CREATE INDEX CONCURRENTLY errors_i ON errors (id) WITH (parallel_workers = 2);
ROLLBACK;
CREATE FUNCTION slow(int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(0.01); RETURN $1; END$$;
BEGIN;
SET LOCAL statement_timeout = 50;
CREATE INDEX errors_i ON errors (slow(id)) WITH (parallel_workers = 2);
ROLLBACK;
SET temp_file_limit = 0;
SET ptsort_test.spill_entries = 100;
SET maintenance_work_mem = '16MB';	-- no runs in memory
\set VERBOSITY sqlstate
CREATE INDEX errors_i ON errors (small) WITH (parallel_workers = 0);
CREATE INDEX errors_i ON errors (small) WITH (parallel_workers = 2);
\set VERBOSITY default
RESET maintenance_work_mem;
RESET temp_file_limit;
RESET ptsort_test.spill_entries;

-- The failed builds left nothing behind, and the same session can build
-- another index.
SELECT relname FROM pg_class WHERE relname IN ('attempted', 'errors_i');
SELECT count(*) FROM pg_ls_tmpdir();
SELECT count(*) FROM pg_locks WHERE locktype NOT IN ('virtualxid') AND pid = pg_backend_pid() AND relation >= 16384;
CREATE INDEX errors_i ON errors (small) WITH (parallel_workers = 2);
SELECT index_name, participant, role FROM ptsort_last_build();
SELECT bt_index_parent_check('errors_i', true, true);

DROP TABLE errors, errors_third, errors_types;
DROP OPERATOR FAMILY fussy_ops USING btree;
DROP FUNCTION cut, slow, fussy_cmp;
