-- CLUSTER uses ptsort to copy tables.  The rows, the transaction data in their
-- headers, the order and the statistics equal those of the server's copy.  The
-- tests have rows in every state, and one to three participants.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE EXTENSION IF NOT EXISTS pageinspect;
SET maintenance_work_mem = '4MB';
CREATE SCHEMA clustered;
SET search_path = clustered, public;

-- Returns the contents of a table: everything in its row versions except TIDs,
-- the order of the visible rows, and data from the table's pg_class row.
CREATE FUNCTION contents(tbl text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	pages int8 := pg_relation_size(tbl) / current_setting('block_size')::int;
BEGIN
	EXECUTE format('SELECT md5(string_agg(t::text, %L)) FROM ONLY %s t', ' ', tbl) INTO result;
	SELECT concat_ws(' ', result, md5(string_agg(v, ' ' ORDER BY v)), count(*)) INTO result
	FROM generate_series(0, pages - 1) b, heap_page_items(get_raw_page(tbl, b)),
		LATERAL (SELECT concat_ws(' ', t_xmin, t_xmax, t_field3, t_infomask, t_infomask2, t_hoff, t_bits, md5(t_data)) v) w;
	RETURN result || (SELECT concat_ws(' ', '', reltuples, relfrozenxid, relminmxid) FROM pg_class WHERE oid = tbl::regclass);
END $$;

-- Copies a table twice, by the server and by ptsort, and rolls both copies
-- back.  Returns 'same', the number of participants, and 'unsorted' if several
-- participants did not sort the rows; or the difference.
CREATE FUNCTION copied(tbl text, index text, workers int DEFAULT 2) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ours bool;
	found text;
	expected text;
	problem text;
	participants text;
BEGIN
	FOREACH ours IN ARRAY ARRAY[false, true] LOOP
		expected := found;
		BEGIN
			PERFORM set_config('ptsort.enable', ours::text, true), set_config('ptsort.parallel_workers', workers::text, true);
			EXECUTE format('CLUSTER %s USING %s', tbl, index);
			found := contents(tbl);
			SELECT string_agg(msg, ' ') INTO problem FROM verify_heapam(tbl);
			SELECT count(*) - 1 || CASE WHEN count(*) > 2 AND sum(runs) = 0 THEN ', unsorted' ELSE '' END INTO participants
			FROM ptsort_last_copy() WHERE index_name = index;
			RAISE SQLSTATE 'TAKEN' USING message = 'back';
		EXCEPTION WHEN SQLSTATE 'TAKEN' THEN
			NULL;
		END;
		IF problem IS NOT NULL THEN
			RETURN problem;
		END IF;
	END LOOP;
	IF found <> expected THEN
		RETURN 'server: ' || expected || ', ptsort: ' || found;
	END IF;
	RETURN 'same, ' || participants;
END $$;

-- Keys of every class.  No index has many equal keys, because the server copies
-- rows with equal keys in any order.
CREATE TABLE t (id int8, word text, few int2, num numeric, at timestamptz, pad text);
INSERT INTO t SELECT hashint8(i), md5(i::text) || ' ' || i, i % 20, (i * 7919 % 10007) / 7.0, '2020-01-01 00:00+00'::timestamptz + i % 5003 * interval '1 day', repeat('p', i % 90)
FROM generate_series(1, 3000) i;
CREATE INDEX t_id ON t (id);
CREATE INDEX t_word ON t (word DESC);
CREATE INDEX t_german ON t (word COLLATE "de-x-icu" NULLS FIRST);
CREATE INDEX t_two ON t (few, id);
CREATE INDEX t_num ON t (num, id);
CREATE INDEX t_at ON t (at DESC, word);
CREATE INDEX t_expr ON t ((id % 1000), lower(word));
SELECT index, copied('t', index, 0), copied('t', index, 1), copied('t', index, 2)
FROM unnest(ARRAY['t_id', 't_word', 't_german', 't_two', 't_num', 't_at', 't_expr']) index;

-- copies with many slices, with little memory, with pages that are not full
SET ptsort_test.slices = 20;
SET maintenance_work_mem = '1MB';
SELECT copied('t', 't_word'), copied('t', 't_two');
ALTER TABLE t SET (fillfactor = 40);
SELECT copied('t', 't_word');
SET ptsort_test.leader_participates = off;
SELECT copied('t', 't_id');
RESET ptsort_test.leader_participates;
SET ptsort_test.spill_entries = 100;
SELECT copied('t', 't_id');
RESET ptsort_test.spill_entries;

-- Rows: dead, updated, deleted, locked; some changed in savepoints or in this
-- transaction
UPDATE t SET few = few + 1 WHERE id % 10 = 1;
DELETE FROM t WHERE id % 10 = 2;
SELECT copied('t', 't_two');
BEGIN;
SELECT count(*) FROM (SELECT FROM t WHERE id % 10 = 3 FOR UPDATE) s;
SELECT copied('t', 't_id');
UPDATE t SET id = -id WHERE id % 10 = 4;
SAVEPOINT a;
UPDATE t SET id = -id, word = word || 'a' WHERE id % 10 = 4;
DELETE FROM t WHERE id % 10 = 5;
ROLLBACK TO a;
SELECT count(*) FROM (SELECT FROM t WHERE id % 10 = 6 FOR SHARE) s;
SAVEPOINT b;
SELECT count(*) FROM (SELECT FROM t WHERE id % 10 = 6 FOR UPDATE) s;
DELETE FROM t WHERE id % 10 = 6;
SELECT copied('t', 't_id'), copied('t', 't_id', 0);
COMMIT;
SELECT copied('t', 't_id');
VACUUM t;
SELECT copied('t', 't_id');

-- Columns: dropped, added without a default, and added with a default, which
-- makes the copied rows longer
CREATE TABLE columns (gone text, id int, a "char", gone2 int8, b text);
INSERT INTO columns SELECT repeat('g', i % 300), -i, 'a', i, nullif(i % 3, 1)::text FROM generate_series(1, 2000) i;
ALTER TABLE columns DROP gone, ADD c text DEFAULT repeat('c', 300), ADD d int;
INSERT INTO columns SELECT i, 'b', i, 'b', 'c', i FROM generate_series(1, 500) i;
ALTER TABLE columns DROP gone2;
CREATE INDEX columns_id ON columns (id);
CREATE INDEX columns_c ON columns (c, id);
SELECT copied('columns', 'columns_id'), copied('columns', 'columns_c');
ALTER TABLE columns ADD e text DEFAULT repeat('e', 2000);
SELECT copied('columns', 'columns_id');

-- Values stored out of line, compressed values, long values that stay inline
CREATE TABLE stored (id int, extended text, external text, main text);
ALTER TABLE stored ALTER external SET STORAGE EXTERNAL, ALTER main SET STORAGE MAIN;
INSERT INTO stored SELECT i * 7919 % 997, repeat('extended ' || i, i % 40 * 100), repeat('external', i % 3 * 400), repeat(md5(i::text), i % 5 * 50)
FROM generate_series(1, 400) i;
CREATE INDEX stored_id ON stored (id);
CREATE INDEX stored_main ON stored (left(main, 100), id);
SELECT copied('stored', 'stored_id'), copied('stored', 'stored_main');

-- Temporary and unlogged tables, partitions, materialized views
CREATE TEMP TABLE temporary AS SELECT * FROM t;
CREATE INDEX temporary_id ON temporary (id);
SELECT copied('temporary', 'temporary_id');
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM t;
CREATE INDEX unlogged_id ON unlogged (id);
SELECT copied('unlogged', 'unlogged_id');
CREATE TABLE parted (id int8, word text) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (0);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (0) TO (MAXVALUE);
INSERT INTO parted SELECT id, word FROM t;
CREATE INDEX parted_word ON parted (word);
UPDATE parted SET id = -id WHERE id % 7 = 1;	-- moves rows to the other partition
SELECT copied('parted_1', 'parted_1_word_idx'), copied('parted_2', 'parted_2_word_idx');
CREATE MATERIALIZED VIEW seen AS SELECT * FROM t;
CREATE INDEX seen_id ON seen (id);
SELECT copied('seen', 'seen_id');

-- Inheritance: a copy has the table's own rows, not the rows of child tables
CREATE TABLE parent (id int8, word text);
CREATE TABLE child (few int2, word text, id int8);
ALTER TABLE child INHERIT parent;
CREATE INDEX parent_word ON parent (word);
CREATE INDEX child_word ON child (word);
INSERT INTO parent SELECT id, word FROM t WHERE id < 0;
INSERT INTO child SELECT few, word, id FROM t WHERE id > 0;
SELECT copied('parent', 'parent_word'), copied('child', 'child_word');

-- A table that is in the order of its index, as statistics say; then with equal
-- keys, with a late row out of order, with updated rows, and with a long row
CREATE TABLE ordered (id int8, word text, big text);
ALTER TABLE ordered ALTER big SET STORAGE EXTERNAL;
INSERT INTO ordered SELECT i, md5(i::text) FROM generate_series(1, 20000) i;
DELETE FROM ordered WHERE id % 20 = 0;
CREATE INDEX ordered_id ON ordered (id);
CREATE INDEX ordered_two ON ordered (id, word);
CREATE INDEX ordered_expr ON ordered (id, lower(word));
CREATE INDEX ordered_desc ON ordered (id DESC);
CREATE INDEX ordered_word ON ordered (word);
ANALYZE ordered;
SELECT index, copied('ordered', index, 0), copied('ordered', index, 1), copied('ordered', index)
FROM unnest(ARRAY['ordered_id', 'ordered_two', 'ordered_expr', 'ordered_desc', 'ordered_word']) index;
INSERT INTO ordered SELECT 20001 + i / 100, 'equal ' || i FROM generate_series(1, 200) i;
INSERT INTO ordered SELECT FROM generate_series(1, 200) i;
SELECT copied('ordered', 'ordered_id'), copied('ordered', 'ordered_two');
BEGIN;
INSERT INTO ordered VALUES (77, 'late');
SELECT copied('ordered', 'ordered_id'), copied('ordered', 'ordered_id', 0);
-- the server needs no temporary files
DROP INDEX ordered_two, ordered_expr, ordered_desc, ordered_word;
SET LOCAL temp_file_limit = '300kB';
CLUSTER ordered USING ordered_id;
ROLLBACK;
SELECT copied('ordered', 'ordered_id');
BEGIN;
UPDATE ordered SET big = repeat('b', 9000) WHERE id = 19999;
SELECT copied('ordered', 'ordered_id');
COMMIT;

-- CLUSTER copies all partitions, each in a transaction of its own.
CLUSTER parted USING parted_word;
SELECT index_name, role, tuples FROM ptsort_last_copy() WHERE participant IS NULL;
SELECT count(*), count(*) FILTER (WHERE word < before) FROM (SELECT word, lag(word) OVER (ORDER BY ctid) AS before FROM parted_1) s;

DISCARD ALL;
SELECT count(*) FROM ptsort_last_copy();
