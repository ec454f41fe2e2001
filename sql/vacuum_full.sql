-- VACUUM FULL uses ptsort to copy tables in the order of their blocks.  Copies of
-- one database have the same files.  The server copies the tables of one of them,
-- and ptsort those of the others, with one to three participants.  The row
-- versions, with their headers, and their order equal those of the server's
-- copy.  Copies of chains, which another session's snapshot keeps, are in
-- t/080_table_copies.pl.
\set regression :DBNAME
CREATE DATABASE ptsort_shapes TEMPLATE template0;
\c ptsort_shapes
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
SET default_toast_compression = 'pglz';	-- since 19, the default may be lz4
CREATE EXTENSION amcheck;
CREATE EXTENSION pageinspect;

-- Returns the contents of a table: everything in its row versions except TIDs,
-- in the order of the file; how many row versions point elsewhere; other forks;
-- and data from the table's pg_class row.
CREATE FUNCTION contents(tbl text) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', md5(string_agg(v, ' ' ORDER BY b, lp)), count(*), count(*) FILTER (WHERE t_ctid <> format('(%s,%s)', b, lp)::tid),
	pg_relation_size(tbl, 'fsm'), pg_relation_size(tbl, 'vm'),
	(SELECT concat_ws(' ', reltuples, relallvisible, relfrozenxid = xmin, relminmxid) FROM pg_class WHERE oid = tbl::regclass))
FROM generate_series(0, pg_relation_size(tbl) / current_setting('block_size')::int - 1) b, heap_page_items(get_raw_page(tbl, b)),
	concat_ws(' ', t_xmin, t_xmax, t_field3, t_infomask, t_infomask2, t_hoff, t_bits, md5(t_data)) v;
$$;

-- Returns what is wrong with a table and its indexes, or 'sound'.
CREATE FUNCTION sound(tbl regclass) RETURNS text LANGUAGE sql AS $$
SELECT coalesce((SELECT string_agg(msg, ' ') FROM verify_heapam(tbl)), 'sound' ||
	(SELECT string_agg(bt_index_parent_check(indexrelid, true, true)::text, '') FROM pg_index WHERE indrelid = tbl), 'sound');
$$;

-- Rows in every state.  Before a table's copy, some row versions are dead.
CREATE TABLE plain (id int8, word text, few int2, pad text);
INSERT INTO plain SELECT hashint8(i), md5(i::text), i % 20, nullif(repeat('p', i % 90), '') FROM generate_series(1, 12000) i;
CREATE INDEX plain_word ON plain (word);
CREATE TABLE loose WITH (fillfactor = 40) AS SELECT * FROM plain;
CREATE INDEX loose_id ON loose (id);
CREATE TABLE changed WITH (fillfactor = 70) AS SELECT * FROM plain;
UPDATE changed SET few = few + 1 WHERE id % 10 = 1;
DELETE FROM changed WHERE id % 10 = 2;
BEGIN;
UPDATE changed SET id = -id WHERE id % 10 = 4;
SAVEPOINT a;
UPDATE changed SET id = -id, word = word || 'a' WHERE id % 10 = 4;
DELETE FROM changed WHERE id % 10 = 5;
ROLLBACK TO a;
SELECT count(*) FROM (SELECT FROM changed WHERE id % 10 = 6 FOR UPDATE) s;
COMMIT;
BEGIN;
DELETE FROM changed WHERE id % 10 = 7;
ROLLBACK;
CREATE TABLE frozen AS TABLE changed;
DELETE FROM frozen WHERE id % 3 = 1;
CREATE TABLE gone AS TABLE plain;
DELETE FROM gone;
CREATE TABLE nearly_gone AS TABLE plain;
DELETE FROM nearly_gone WHERE ctid NOT IN ('(0,1)', '(100,7)');
CREATE TABLE one_block AS SELECT * FROM plain LIMIT 40;

-- The leader copies the rest of a table from its first page with a long row.
CREATE FUNCTION with_long(name text, long int[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I AS SELECT i, CASE WHEN i = ANY (%L) THEN (SELECT string_agg(md5((i * j)::text), %L) FROM generate_series(1, 100) j) ELSE md5(i::text) END AS word FROM generate_series(1, 20000) i', name, long, '');
	EXECUTE format('DELETE FROM %I WHERE i %% 9 = 1 AND length(word) = 32', name);
END $$;
SELECT with_long('long_first', '{5}'), with_long('long_middle', '{10000}'), with_long('long_last', '{20000}'), with_long('long_often', '{8000, 9000, 9001, 15000, 5000}');

-- Columns: dropped, added without a default, and added with a default, which
-- makes the copied rows longer
CREATE TABLE columns (gone text, id int, a "char", gone2 int8, b text);
INSERT INTO columns SELECT repeat('g', i % 300), -i, 'a', i, nullif(i % 3, 1)::text FROM generate_series(1, 5000) i;
ALTER TABLE columns DROP gone, ADD c text DEFAULT repeat('c', 300), ADD d int;
INSERT INTO columns SELECT i, 'b', i, 'b', 'c', i FROM generate_series(1, 500) i;
ALTER TABLE columns DROP gone2;
CREATE INDEX columns_id ON columns (id);
CREATE TABLE narrow (a "char");
INSERT INTO narrow SELECT 'a' FROM generate_series(1, 2000);
ALTER TABLE narrow ADD b text DEFAULT repeat('b', 1900);
CREATE TABLE later_long (a int, b int);
INSERT INTO later_long SELECT i, i FROM generate_series(1, 10000) i;
ALTER TABLE later_long ADD c text DEFAULT repeat('e', 2010);

-- Values stored out of line, compressed values, long values that stay inline
CREATE TABLE stored (id int, extended text, external text, main text);
ALTER TABLE stored ALTER external SET STORAGE EXTERNAL, ALTER main SET STORAGE MAIN;
INSERT INTO stored SELECT i, NULL, NULL, repeat(md5(i::text), i % 5 * 9) FROM generate_series(1, 3000) i;
INSERT INTO stored SELECT i * 7919 % 997, repeat('extended ' || i, i % 40 * 100), repeat('external', i % 3 * 400), repeat(md5(i::text), i % 5 * 50)
FROM generate_series(1, 400) i;

-- Unlogged tables, partitions, materialized views, tables of an inheritance
CREATE UNLOGGED TABLE unlogged AS TABLE plain;
CREATE TABLE parted (id int8, word text) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (0);
CREATE TABLE parted_2 (word text, gone int, id int8);
ALTER TABLE parted_2 DROP gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (0) TO (MAXVALUE);
INSERT INTO parted SELECT id, word FROM plain;
UPDATE parted SET id = -id WHERE id % 7 = 1;	-- moves rows to the other partition
CREATE MATERIALIZED VIEW seen AS SELECT * FROM plain;
CREATE TABLE parent (id int8, word text);
CREATE TABLE child (few int2, word text, id int8);
ALTER TABLE child INHERIT parent;
INSERT INTO parent SELECT id, word FROM plain WHERE id < 0;
INSERT INTO child SELECT few, word, id FROM plain WHERE id > 0;

CREATE VIEW shapes AS SELECT relname::text AS name FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'm') AND relname !~ '^(paths|ptsort_)' ORDER BY relname;
CREATE TABLE paths (name text, participants bigint, leader bigint, tuples bigint);
CREATE VIEW copies AS
SELECT format('VACUUM (FULL%s) %I', CASE WHEN name = 'frozen' THEN ', FREEZE' END, name) AS copy,
	format('INSERT INTO paths SELECT %L, count(*) - 1, sum(tuples) FILTER (WHERE participant = 0), sum(tuples) FILTER (WHERE participant IS NULL) FROM ptsort_last_copy() WHERE index_name IS NULL', name) AS note
FROM shapes;
-- Returns the tables that differ from the server's, or are not sound, or have
-- many pages that are not full.
CREATE FUNCTION differences(contents jsonb, pages jsonb) RETURNS TABLE (name text, server text, ptsort text, sound text) LANGUAGE sql AS $$
SELECT name, contents->>name, contents(name), sound(name::regclass) FROM shapes JOIN paths USING (name)
WHERE contents(name) <> contents->>name OR sound(name::regclass) <> 'sound' OR pg_relation_size(name) / 8192 NOT BETWEEN (pages->>name)::int AND (pages->>name)::int * 1.1 + 3;
$$;
\c :regression
CREATE DATABASE ptsort_one TEMPLATE ptsort_shapes;
CREATE DATABASE ptsort_two TEMPLATE ptsort_shapes;
CREATE DATABASE ptsort_three TEMPLATE ptsort_shapes;
CREATE DATABASE ptsort_rests TEMPLATE ptsort_shapes;

-- the server
\c ptsort_shapes
\set ECHO errors
TABLE copies
\gexec
\set ECHO all
SELECT jsonb_object_agg(name, contents(name)) AS contents, jsonb_object_agg(name, pg_relation_size(name) / 8192) AS pages FROM shapes
\gset

-- ptsort, with one to three participants
\c ptsort_one
\i :source/sql/include/session.sql
SET maintenance_work_mem = '1MB';
\i :source/sql/include/copies.sql
SELECT participants, count(*), min(name) FROM paths GROUP BY 1;
\c ptsort_two
\i :source/sql/include/session.sql
SET ptsort_test.all_workers = on;
SET ptsort.parallel_workers = 1;
SET maintenance_work_mem = '2MB';
\i :source/sql/include/copies.sql
SELECT participants, count(*), min(name) FROM paths GROUP BY 1;
\c ptsort_three
\i :source/sql/include/session.sql
SET ptsort_test.all_workers = on;
SET ptsort.parallel_workers = 2;
\i :source/sql/include/copies.sql
SELECT participants, count(*), min(name) FROM paths GROUP BY 1;
-- a leader that rests copies only rows for the server's functions
\c ptsort_rests
\i :source/sql/include/session.sql
SET ptsort_test.all_workers = on;
SET ptsort.parallel_workers = 3;
SET max_parallel_maintenance_workers = 3;
SET ptsort_test.leader_participates = off;
SET maintenance_work_mem = '1MB';
\i :source/sql/include/copies.sql
-- since 18, the last copy of VACUUM FULL parent is that of its child
SELECT * FROM paths WHERE name <> 'parent' ORDER BY name;

-- A temporary table, and its twin that the server copies
BEGIN;
CREATE TEMP TABLE temporary AS TABLE changed;
CREATE TEMP TABLE twin AS TABLE changed;
COMMIT;
VACUUM FULL temporary;
SELECT role, tuples, peak_memory_bytes > 200000 AS pages FROM ptsort_last_copy();
SET ptsort.enable = off;
VACUUM FULL twin;
SELECT count(DISTINCT regexp_replace(contents(name), '^\S+', '')) FROM unnest(ARRAY['temporary', 'twin']) name;
SELECT (SELECT md5(string_agg(t::text, ' ')) FROM temporary t) = (SELECT md5(string_agg(t::text, ' ')) FROM twin t) AS same;

\c :regression
DROP DATABASE ptsort_shapes;
DROP DATABASE ptsort_one;
DROP DATABASE ptsort_two;
DROP DATABASE ptsort_three;
DROP DATABASE ptsort_rests;
