-- Exclusion constraints: with heap, a check counts the rows that conflict with
-- another row.
\pset format unaligned \pset footer off
CREATE SCHEMA exclusion;
SET search_path = exclusion, public;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ptsort SCHEMA public;
LOAD 'ptsort_test';
-- Runs a statement while the server does not enforce the constraint.
CREATE PROCEDURE unchecked(index regclass, statement text) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE pg_index SET indisexclusion = false WHERE indexrelid = index;
	EXECUTE statement;
	UPDATE pg_index SET indisexclusion = true WHERE indexrelid = index;
END $$;
-- The result must not depend on the number of workers.
CREATE FUNCTION checked(index regclass, OUT problems int8, OUT duplicates int8, OUT details text[]) LANGUAGE plpgsql AS $$
DECLARE
	again record;
BEGIN
	SELECT c.problems, c.duplicates, c.details INTO problems, duplicates, details FROM ptsort_check(index, true, 0) c;
	SELECT c.problems, c.duplicates, c.details INTO again FROM ptsort_check(index, true, 2) c;
	IF (problems, duplicates, details) IS DISTINCT FROM (again.problems, again.duplicates, again.details) THEN
		RAISE EXCEPTION 'another result with workers: %', again;
	END IF;
END $$;
-- the number of rows that conflict, without the index
CREATE FUNCTION conflicts("table" regclass, condition text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	n int8;
BEGIN
	EXECUTE format('SELECT count(*) FROM %1$s x WHERE EXISTS (SELECT FROM %1$s y WHERE x.ctid <> y.ctid AND %2$s)', "table", condition) INTO n;
	RETURN n;
END $$;
-- GiST: two columns, NULLs, an expression, a predicate, old versions of rows
CREATE TABLE rooms (id int, room int4range, during int4range, is_open bool DEFAULT true, note text) WITH (fillfactor = 60, autovacuum_enabled = off);
ALTER TABLE rooms ADD CONSTRAINT rooms_excl EXCLUDE USING gist (room WITH =, (int4range(lower(during), upper(during) - 1, '[]')) WITH &&) WHERE (is_open);
INSERT INTO rooms SELECT g, int4range(g % 40, g % 40 + 1), int4range(g / 40 * 10, g / 40 * 10 + 8) FROM generate_series(1, 8000) g;
INSERT INTO rooms SELECT g, NULL, int4range(1, 100) FROM generate_series(1, 3) g;
INSERT INTO rooms SELECT g, int4range(5, 6), int4range(1, 100), false FROM generate_series(1, 3) g;
SELECT * FROM checked('rooms_excl');
CALL unchecked('rooms_excl', $$INSERT INTO rooms VALUES (9001, '[5,6)', '[5,12)'), (9002, '[7,8)', '[1000,1070)'), (9003, '[50,51)', '[1,2)'), (9004, '[50,51)', '[1,2)'),
	(9005, '[7,8)', '[38,39)'), (9006, NULL, '[1000,1070)')$$);
SELECT problems, duplicates, details FROM ptsort_check('rooms_excl', workers => 2);
SELECT * FROM checked('rooms_excl');
SELECT conflicts('rooms', 'x.room = y.room AND x.during && y.during AND x.is_open AND y.is_open');
-- updates, also HOT ones, and rows that another transaction deleted
UPDATE rooms SET note = 'hot' WHERE id % 2 = 1;
UPDATE rooms SET note = 'again' WHERE id % 4 = 1;
DELETE FROM rooms WHERE id IN (9003, 9004);
SELECT duplicates FROM checked('rooms_excl');
SELECT conflicts('rooms', 'x.room = y.room AND x.during && y.during AND x.is_open AND y.is_open');
SELECT index, problems, repair, wrong_rows FROM ptsort_check_all(true) WHERE "table" = 'rooms'::regclass;
-- a lossy class: circles are not their boxes
CREATE TABLE circles (c circle, EXCLUDE USING gist (c WITH &&));
INSERT INTO circles SELECT circle(point(g / 50 * 2, g % 50 * 2), 1 - 1e-3) FROM generate_series(0, 2499) g;
INSERT INTO circles SELECT circle(point(g / 50 * 2 + 1, g % 50 * 2 + 1), 0.4) FROM generate_series(0, 2499) g;
SELECT * FROM checked('circles_c_excl');
CALL unchecked('circles_c_excl', $$INSERT INTO circles VALUES ('<(41,41),1>'), ('<(-100,0),1>')$$);
SELECT duplicates, duplicates = conflicts('circles', 'x.c && y.c') AS right FROM checked('circles_c_excl');
-- btree, with an expression and a predicate that protects it
CREATE TABLE numbers (a int, b text, CONSTRAINT numbers_excl EXCLUDE USING btree (b WITH =, (1000 / a) WITH =) INCLUDE (a) WHERE (a <> 0));
INSERT INTO numbers SELECT 1000 / g, CASE WHEN g <> 7 THEN 'word ' || g END FROM generate_series(1, 1000) g;
INSERT INTO numbers SELECT 0, 'word' FROM generate_series(1, 10) g;
SELECT * FROM checked('numbers_excl');
CALL unchecked('numbers_excl', $$INSERT INTO numbers VALUES (1, 'word 1000'), (1, 'word 999'), (142, NULL)$$);
SELECT * FROM checked('numbers_excl');
-- Rows of the own transaction in a deferrable constraint are not compared yet.
CREATE TABLE later (a int, b int, CONSTRAINT later_excl EXCLUDE USING btree (a WITH =) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO later SELECT g, g FROM generate_series(1, 3000) g;
BEGIN;
INSERT INTO later VALUES (5, 0), (7, 0), (7, 1);
UPDATE later SET b = 0 WHERE a = 9;
SELECT * FROM checked('later_excl');
ROLLBACK;
CALL unchecked('later_excl', 'INSERT INTO later VALUES (5, 0), (7, 0), (7, 1)');
SELECT duplicates FROM checked('later_excl');
BEGIN;
UPDATE later SET b = 2 WHERE a = 7 AND b = 1;
SELECT duplicates FROM checked('later_excl');
ROLLBACK;
-- A table access method without parallel scans: one process looks at its rows.
CREATE EXTENSION IF NOT EXISTS ptsort_test SCHEMA public;
CREATE TABLE serial (a int, CONSTRAINT serial_excl EXCLUDE USING btree (a WITH =)) USING ptsort_test_serial;
INSERT INTO serial SELECT g FROM generate_series(1, 9000) g;
CALL unchecked('serial_excl', 'INSERT INTO serial SELECT g FROM generate_series(8991, 9000) g');
SELECT problems, duplicates FROM checked('serial_excl');
-- Entries that point to no row, and rows without entry: the server's scan does
-- not mark these entries as dead.
CREATE TABLE pointers (a int, CONSTRAINT pointers_excl EXCLUDE USING btree (a WITH =)) WITH (autovacuum_enabled = off);
INSERT INTO pointers SELECT g FROM generate_series(1, 1000) g;
UPDATE pg_index SET indisready = false WHERE indexrelid = 'pointers_excl'::regclass;
DELETE FROM pointers WHERE a <= 10;
VACUUM pointers;
INSERT INTO pointers SELECT 10 FROM generate_series(1, 20) g;
DELETE FROM pointers WHERE a <= 10 AND ctid <= '(0,10)';
VACUUM pointers;
UPDATE pg_index SET indisready = true WHERE indexrelid = 'pointers_excl'::regclass;
SELECT entries_without_row, rows_without_entry, duplicates FROM ptsort_check('pointers_excl', true, 0);
SELECT entries_without_row, rows_without_entry, duplicates FROM ptsort_check('pointers_excl', true, 0);
-- If entries are out of order, the server does not search the index.
CREATE FUNCTION compare(int, int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN btint4cmp($1, $2); END';
CREATE OPERATOR CLASS changing FOR TYPE int USING btree AS OPERATOR 3 =, FUNCTION 1 compare(int, int);
CREATE TABLE changed (a int, CONSTRAINT changed_excl EXCLUDE USING btree (a changing WITH =));
INSERT INTO changed SELECT g FROM generate_series(1, 100) g;
CALL unchecked('changed_excl', 'INSERT INTO changed VALUES (1)');
SELECT problems, duplicates FROM checked('changed_excl');
CREATE OR REPLACE FUNCTION compare(int, int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN btint4cmp($2, $1); END';
SELECT problems > 0 AS found, duplicates FROM ptsort_check('changed_excl', true, 2);
DROP SCHEMA exclusion CASCADE;
DROP EXTENSION ptsort_test;
