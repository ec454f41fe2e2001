-- Kinds of tables: the history of their rows, their columns, their storage,
-- and their relatives.  Each index equals the server's.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql

-- Compares the server's build with builds by one, two and three participants.
-- The build by two participants reads the table by the server's scan; the
-- builds by one and three participants use ptsort's scan.
CREATE FUNCTION compared(tbl text, what text, kind text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	results text[];
BEGIN
	SET LOCAL ptsort_test.server_pages = off;
	results := ARRAY[same(tbl, what, kind, 1), same(tbl, what, kind, 3)];
	SET LOCAL ptsort_test.server_pages = on;
	results := results || same(tbl, what, kind, 2);
	RETURN CASE WHEN results = '{same,same,same}' THEN 'same' ELSE results::text END;
END $$;

-- Many columns: dropped, added later with and without a default, generated, of
-- every alignment, null in any place
CREATE TABLE columns (gone1 text, a "char", b int8, c text, gone2 int8, d int2, e float8, f bool, g text, h name, i int4,
	n int GENERATED ALWAYS AS (d * 100 + i) STORED);
INSERT INTO columns SELECT 'gone', chr(40 + i % 50)::"char", nullif(i % 70, 3) * 1e10, CASE WHEN i % 4 > 0 THEN repeat('c', i % 200) END,
	i, i % 9, i / 7.0, i % 5 = 0, md5(i::text), 'h' || i, nullif(i % 13, 4) FROM generate_series(1, 900) i;
ALTER TABLE columns DROP gone1;
ALTER TABLE columns ADD j int8 DEFAULT 77, ADD k text DEFAULT 'added', ADD l text, ADD m numeric DEFAULT 1.50;
INSERT INTO columns (a, b, c, gone2, d, e, f, g, h, i, j, k, l, m) SELECT a, b, c, gone2, d, e, f, g, h, i, i, 'k' || i, 'l' || d, e::numeric FROM columns WHERE i % 2 = 0;
ALTER TABLE columns DROP gone2, ADD o timestamptz DEFAULT '2020-01-01 00:00+00';
DELETE FROM columns WHERE d = 5;
UPDATE columns SET i = -i WHERE d = 6;
-- (stored rows still lack some columns)
SELECT count(*) FROM pg_attribute WHERE attrelid = 'columns'::regclass AND atthasmissing;
SELECT what, compared('columns', what)
FROM unnest(ARRAY['(a)', '(b)', '(c)', '(d, f)', '(e)', '(f, g)', '(g)', '(h)', '(i DESC, a)', '(j)', '(k)', '(l, j)', '(m)', '(n)', '(o, l)',
	'(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)', '(f) INCLUDE (o, k, c)', '((i + j), k)', '(m) WHERE l IS NULL', '((j * 2))']) what;

-- Values: inline and short, compressed, out of line, compressed in the index
-- only; some become large only when the build fetches them
CREATE TABLE stored (id int, plain text, extended text, external text, main text);
ALTER TABLE stored ALTER plain SET STORAGE PLAIN, ALTER external SET STORAGE EXTERNAL, ALTER main SET STORAGE MAIN;
INSERT INTO stored SELECT i, repeat('p', 300 + i % 300), repeat('extended ' || i, 1000), string_agg(md5((i * j)::text), ''), repeat('main' || i, 300)
FROM generate_series(1, 120) i, generate_series(1, 70) j GROUP BY i;
SELECT what, compared('stored', what)
FROM unnest(ARRAY['(plain)', '(extended)', '(external)', '(main)', '(external COLLATE "en_US.utf8" DESC)', '(id) INCLUDE (extended)',
	'((left(external, 400) || left(extended, 1000)))', '(left(external, 1000), main)', '(plain, extended)']) what;

-- Rows: dead, updated on the same page and elsewhere, locked, half vacuumed,
-- frozen, written by this transaction and by savepoints that it rolled back
CREATE TABLE rows (id int, a int, b text) WITH (fillfactor = 60, autovacuum_enabled = off);
CREATE INDEX rows_a ON rows (a);
INSERT INTO rows SELECT i, i % 50, 'b' || i FROM generate_series(1, 2500) i;
SELECT compared('rows', '(a, b)') AS fresh;
VACUUM (FREEZE) rows;
SELECT compared('rows', '(a, b)') AS frozen;
UPDATE rows SET b = b || 'hot' WHERE id % 10 = 1;
UPDATE rows SET a = a + 1 WHERE id % 10 = 2;
DELETE FROM rows WHERE id % 10 = 3 OR id BETWEEN 1000 AND 1400;
SELECT compared('rows', '(a, b)') AS changed;
UPDATE rows SET b = b || 'hotter' WHERE id % 10 = 1;
UPDATE rows SET b = b || 'hottest' WHERE id % 20 = 1;
SELECT compared('rows', '(a, b)') AS hot, compared('rows', '(b)', 'UNIQUE') AS uniquely;
VACUUM (INDEX_CLEANUP off) rows;
SELECT compared('rows', '(a, b)') AS pruned;
UPDATE rows SET b = b || '!' WHERE id % 7 = 1;
VACUUM rows;
UPDATE rows SET a = -a WHERE id % 7 = 2;
INSERT INTO rows SELECT -i, i % 50, 'new' || i FROM generate_series(1, 500) i;
SELECT compared('rows', '(b)') AS vacuumed;
BEGIN;
SELECT count(*) FROM (SELECT FROM rows WHERE id % 5 = 0 FOR UPDATE) s;
SAVEPOINT s;
SELECT count(*) FROM (SELECT FROM rows WHERE id % 5 < 2 FOR SHARE) s;
UPDATE rows SET a = 1000 WHERE id % 5 = 2;
DELETE FROM rows WHERE id % 11 = 2;
INSERT INTO rows SELECT i, -1, 'rolled back' FROM generate_series(1, 100) i;
ROLLBACK TO s;
SAVEPOINT s;
UPDATE rows SET b = 'mine' || id WHERE id % 5 = 3;
UPDATE rows SET a = 2000 WHERE id % 15 = 3;
DELETE FROM rows WHERE id % 11 = 3;
RELEASE s;
INSERT INTO rows SELECT 10000 + i, -1, 'mine, too ' || i FROM generate_series(1, 100) i;
SELECT same('rows', '(a, b)') AS mine, same('rows', '(b)', 'UNIQUE', 3) AS uniquely;
COMMIT;
SELECT compared('rows', '(a, b)') AS committed;
-- no live rows are left
DELETE FROM rows;
SELECT compared('rows', '(a)') AS all_dead, compared('rows', '(a)', 'UNIQUE') AS uniquely;
VACUUM (TRUNCATE off) rows;
SELECT compared('rows', '(a)') AS all_pages_empty;
INSERT INTO rows VALUES (1, 1, 'one');
SELECT compared('rows', '(a)') AS one;

-- Keys in long posting lists: all null, all equal, two values.  The table has
-- enough blocks that the bytes of TIDs sort differently from the TIDs.
CREATE TABLE keys (n int, s text, two bool, few int2) WITH (fillfactor = 10);
INSERT INTO keys SELECT NULL, 'same', i % 2 = 0, i % 20 FROM generate_series(1, 8000) i;
SELECT pg_relation_size('keys') / current_setting('block_size')::int > 300 AS blocks;
SELECT what, compared('keys', what)
FROM unnest(ARRAY['(n)', '(n, s)', '(s)', '(two)', '(few)', '(s) WITH (deduplicate_items = off)',
	'(s) WITH (fillfactor = 30)', '(two) INCLUDE (n)', '(few, s COLLATE "en_US.utf8")']) what;
SELECT compared('keys', '(n)', 'UNIQUE'), compared('keys', '(n, few) WHERE few < 0', 'UNIQUE');

-- Relatives: parents with rows of their own, children, partitions with columns
-- in another order
CREATE TABLE parent (a int, b text);
CREATE TABLE child (c int, b text, a int);
ALTER TABLE child INHERIT parent;
INSERT INTO parent SELECT i, 'p' || i FROM generate_series(1, 800) i;
INSERT INTO child SELECT i, 'c' || i, -i FROM generate_series(1, 900) i;
SELECT compared('parent', '(b)'), compared('child', '(b, a)');
CREATE TABLE parted (a int, b text, c int) PARTITION BY RANGE (a);
CREATE TABLE part2 (x int, c int, b text, a int NOT NULL);
ALTER TABLE part2 DROP x;
CREATE TABLE part1 PARTITION OF parted FOR VALUES FROM (0) TO (1000);
ALTER TABLE parted ATTACH PARTITION part2 FOR VALUES FROM (1000) TO (3000);
INSERT INTO parted SELECT i, 'b' || i, i % 7 FROM generate_series(0, 2500) i;
SELECT compared('part1', '(c, b)'), compared('part2', '(c, b)'), compared('part2', '(a)', 'UNIQUE');
CREATE INDEX parted_i ON parted (c, b DESC) WITH (parallel_workers = 2);
SELECT inhrelid::regclass, tree(inhrelid::regclass::text, false) IS NOT NULL FROM pg_inherits WHERE inhparent = 'parted_i'::regclass ORDER BY 1;
SELECT index_name, count(*) FROM ptsort_last_build() GROUP BY 1;

-- Persistence and storage: unlogged and temporary tables, another tablespace,
-- materialized views, another table access method
CREATE UNLOGGED TABLE unlogged AS SELECT i AS a, 'b' || i % 30 AS b FROM generate_series(1, 2000) i;
CREATE TEMP TABLE temporary AS SELECT * FROM unlogged;
CREATE MATERIALIZED VIEW materialized AS SELECT * FROM unlogged;
CREATE ACCESS METHOD ptsort_heap2 TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE other_am USING ptsort_heap2 AS SELECT * FROM unlogged;
SELECT compared('unlogged', '(b, a)'), compared('materialized', '(b)'), compared('other_am', '(b)'), compared('other_am', '(a)', 'UNIQUE');
SELECT same('temporary', '(b)'), same('temporary', '((a * 10), b)', 'UNIQUE') AS uniquely;
DELETE FROM temporary WHERE a % 3 = 0;
UPDATE temporary SET b = 'x' WHERE a % 3 = 1;
SELECT same('temporary', '(b)');
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE ptsort_elsewhere LOCATION '';
SELECT compared('unlogged', '(a) TABLESPACE ptsort_elsewhere');
CREATE INDEX elsewhere_i ON part2 (b) TABLESPACE ptsort_elsewhere;
SELECT pg_relation_filepath('elsewhere_i') LIKE 'pg_tblspc/%' AS elsewhere;
SELECT bt_index_parent_check('elsewhere_i', true, true);

-- Rewritten tables: their indexes equal those of the server's REINDEX
CREATE TABLE rewritten AS SELECT i % 100 AS a, md5(i::text) AS b, i AS c FROM generate_series(1, 2000) i;
CREATE INDEX rewritten_a ON rewritten (a);
CREATE UNIQUE INDEX rewritten_b ON rewritten (b) INCLUDE (c);
DELETE FROM rewritten WHERE c % 3 = 0;
CREATE FUNCTION rewrite(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ours text[] := '{}';
	servers text[] := '{}';
	indexes text[] := '{rewritten_a,rewritten_b}';
BEGIN
	SET LOCAL ptsort.enable = on;
	EXECUTE statement;
	IF NOT EXISTS (SELECT FROM ptsort_last_build() WHERE index_name = ANY (indexes) AND tuples = (SELECT count(*) FROM rewritten)) THEN
		RETURN 'built by others';
	END IF;
	FOR i IN 1 .. 2 LOOP
		PERFORM bt_index_parent_check(indexes[i]::regclass, true, true);
		ours := ours || tree(indexes[i], false)::text;
	END LOOP;
	SET LOCAL ptsort.enable = off;
	REINDEX TABLE rewritten;
	FOR i IN 1 .. 2 LOOP
		servers := servers || tree(indexes[i], false)::text;
	END LOOP;
	SET LOCAL ptsort.enable = on;
	CREATE INDEX other ON rewritten (a);
	DROP INDEX other;
	RETURN CASE WHEN ours = servers THEN 'same' ELSE 'different' END;
END $$;
SELECT rewrite('CLUSTER rewritten USING rewritten_b');
SELECT rewrite('ALTER TABLE rewritten ALTER a TYPE int8');
SELECT rewrite('ALTER TABLE rewritten ALTER a TYPE text, ALTER b TYPE varchar(40) COLLATE "C"');
SELECT rewrite('ALTER TABLE rewritten ADD d int GENERATED BY DEFAULT AS IDENTITY');
SELECT rewrite('ALTER TABLE rewritten SET UNLOGGED');
SELECT rewrite('ALTER TABLE rewritten SET ACCESS METHOD ptsort_heap2');
SELECT rewrite('ALTER TABLE rewritten SET TABLESPACE ptsort_elsewhere, ALTER c TYPE int8');
SELECT rewrite('REINDEX TABLE rewritten');
VACUUM FULL rewritten;
SELECT index_name, tuples FROM ptsort_last_build() WHERE participant IS NULL;
SELECT bt_index_parent_check('rewritten_a', true, true), bt_index_parent_check('rewritten_b', true, true);

DROP TABLE columns, stored, rows, keys, parent, child, parted, temporary, other_am, rewritten;
DROP MATERIALIZED VIEW materialized;
DROP TABLE unlogged;
DROP ACCESS METHOD ptsort_heap2;
DROP TABLESPACE ptsort_elsewhere;
DROP FUNCTION compared, rewrite;
