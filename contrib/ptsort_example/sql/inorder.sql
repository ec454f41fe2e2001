-- Copies a table in the order of an index.
CREATE EXTENSION ptsort_example CASCADE;
LOAD 'ptsort_test';	-- settings that force rare paths
CREATE TABLE rows (n int, name text, gone int, big text);
ALTER TABLE rows ALTER big SET STORAGE EXTERNAL;
INSERT INTO rows SELECT hashint4(i) % 1000, CASE WHEN i % 9 > 0 THEN md5(i::text) END, 1, repeat('x', i % 7 * CASE i % 100 WHEN 0 THEN 2000 ELSE 1 END)
FROM generate_series(1, 5000) i;
ALTER TABLE rows DROP gone, ADD late int DEFAULT 7;
UPDATE rows SET late = n WHERE n % 10 = 0;
DELETE FROM rows WHERE n % 11 = 0;
CREATE INDEX rows_n ON rows (n DESC);
CREATE INDEX rows_name ON rows (upper(name) COLLATE "C" NULLS FIRST, late);
CREATE TABLE copy (n int, name text, gone int, big text, late int);
ALTER TABLE copy DROP gone;
-- Counts the copied rows, the rows that are not at the position that ORDER BY
-- gives them, and the rows that only one of the two tables has.
CREATE FUNCTION copied(index regclass, key text, OUT copied bigint, OUT misplaced bigint, OUT different bigint)
LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE copy;
	copied := copy_in_order(index, 'copy');
	EXECUTE format('SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY ctid) i, ROW(%1$s) k FROM copy) c
		FULL JOIN (SELECT row_number() OVER (ORDER BY %1$s, ctid) i, ROW(%1$s) k FROM rows) r USING (i)
		WHERE c.k::text IS DISTINCT FROM r.k::text', key) INTO misplaced;
	SELECT count(*) INTO different FROM ((TABLE copy EXCEPT ALL TABLE rows) UNION ALL (TABLE rows EXCEPT ALL TABLE copy)) d;
END $$;
SELECT * FROM copied('rows_n', '-n');
SELECT * FROM copied('rows_name', 'coalesce(upper(name) COLLATE "C", ''''), late');
SET maintenance_work_mem = '1MB';
SET ptsort_test.spill_entries = 400;
SELECT * FROM copied('rows_name', 'coalesce(upper(name) COLLATE "C", ''''), late');
RESET ptsort_test.spill_entries;
RESET maintenance_work_mem;

-- Invalid calls.
SELECT copy_in_order('rows_n', 'rows');
SELECT copy_in_order(0, 'copy');
SELECT copy_in_order('rows_n', 'pg_views');
CREATE INDEX rows_hash ON rows USING hash (n);
SELECT copy_in_order('rows_hash', 'copy');
CREATE ROLE ptsort_example_other;
SET ROLE ptsort_example_other;
SELECT copy_in_order('rows_n', 'copy');
RESET ROLE;
GRANT EXECUTE ON FUNCTION copy_in_order TO ptsort_example_other;
SET ROLE ptsort_example_other;
SELECT copy_in_order('rows_n', 'copy');
RESET ROLE;
GRANT SELECT ON rows TO ptsort_example_other;
SET ROLE ptsort_example_other;
SELECT copy_in_order('rows_n', 'copy');
RESET ROLE;
REVOKE ALL ON FUNCTION copy_in_order FROM ptsort_example_other;
REVOKE ALL ON rows FROM ptsort_example_other;
DROP ROLE ptsort_example_other;
BEGIN READ ONLY;
SELECT copy_in_order('rows_n', 'copy');
ROLLBACK;

-- Tables for which an INSERT does more than store values, and tables with row
-- security
CREATE TABLE wide (name varchar(9), n int);
INSERT INTO wide VALUES ('too long', 1);
CREATE INDEX wide_n ON wide (n);
CREATE TABLE narrow (name varchar(3), n int);
CREATE TABLE generated (name varchar(9), n int GENERATED ALWAYS AS (length(name)) STORED);
CREATE TABLE parts (name varchar(9), n int) PARTITION BY LIST (n);
CREATE TABLE part PARTITION OF parts FOR VALUES IN (2);
CREATE TABLE secured (name varchar(9), n int);
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE TABLE checked (name varchar(9), n int CHECK (n > 1));
CREATE TABLE plain (name varchar(9), n int);
CREATE FUNCTION copy_of_wide(target regclass) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN copy_in_order('wide_n', target);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
SELECT copy_of_wide(target) FROM unnest('{narrow,generated,part,secured,checked,plain}'::regclass[]) target;
ALTER TABLE wide ENABLE ROW LEVEL SECURITY;
SELECT copy_in_order('wide_n', 'plain');
TABLE plain;
DROP FUNCTION copy_of_wide;
DROP TABLE narrow, wide, generated, parts, secured, checked, plain;
DROP FUNCTION copied;
DROP TABLE rows, copy;
DROP EXTENSION ptsort_example;
