-- ptsort_wrong_rows(): the rows that break a constraint of their table, of their
-- partition, or of a column's domain.  Constraints call a function, and the
-- function changes, as the order of a collation does.
\pset format unaligned \pset footer off
CREATE SCHEMA wrong_rows;
SET search_path = wrong_rows, public;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ptsort SCHEMA public;
CREATE FUNCTION weight(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
-- CHECK constraints, except those that are NOT VALID; a result of NULL is no violation
CREATE TABLE plain (a int CONSTRAINT "A small" CHECK (weight(a) < 1000), gone int, b text COLLATE "C");
ALTER TABLE plain DROP COLUMN gone;
INSERT INTO plain SELECT g, 'b' || g FROM generate_series(1, 500) g;
INSERT INTO plain VALUES (NULL, NULL);
ALTER TABLE plain ADD CONSTRAINT long CHECK (length(b) > 2) NOT VALID;
ALTER TABLE plain ADD CONSTRAINT place CHECK (tableoid = 'plain'::regclass);
-- a column that the old rows do not have
ALTER TABLE plain ADD COLUMN late int DEFAULT 7 CONSTRAINT late_small CHECK (weight(late) < 10);
SELECT w."constraint", count(*), min(a), max(a) FROM ptsort_wrong_rows('plain') w JOIN plain p ON p.ctid = w.ctid GROUP BY 1 ORDER BY 1;
CREATE OR REPLACE FUNCTION weight(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN CASE WHEN $1 > 490 THEN 1000 + $1 ELSE $1 END; END';
\c
SET search_path = wrong_rows, public;
SET client_min_messages = warning;
SELECT w."table", w."constraint", count(*), min(a), max(a) FROM ptsort_wrong_rows('plain') w JOIN plain p ON p.ctid = w.ctid GROUP BY 1, 2 ORDER BY 2;
-- the statement's snapshot: not the deleted rows, and new versions
BEGIN;
DELETE FROM plain WHERE a > 492;
UPDATE plain SET b = 'changed' WHERE a < 10;
SELECT w."constraint", count(*), min(a), max(a) FROM ptsort_wrong_rows('plain') w JOIN plain p ON p.ctid = w.ctid GROUP BY 1 ORDER BY 1;
ROLLBACK;
-- Partitions on two levels, with a default partition, bounds of text and ranges
-- of an expression.  A partition's columns have another order.
CREATE OR REPLACE FUNCTION weight(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE TABLE parts (a int, b text COLLATE "C") PARTITION BY RANGE (weight(a));
CREATE TABLE part_low PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE "Part High" (b text COLLATE "C", c int, a int);
ALTER TABLE "Part High" DROP COLUMN c;
ALTER TABLE parts ATTACH PARTITION "Part High" FOR VALUES FROM (100) TO (200);
CREATE TABLE part_text PARTITION OF parts FOR VALUES FROM (200) TO (300) PARTITION BY LIST (b);
CREATE TABLE part_text_x PARTITION OF part_text FOR VALUES IN ('x', NULL);
CREATE TABLE part_text_rest PARTITION OF part_text DEFAULT;
CREATE TABLE part_rest PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT g, CASE g % 3 WHEN 0 THEN 'x' WHEN 1 THEN 'y' END FROM generate_series(0, 399) g;
INSERT INTO parts VALUES (NULL, 'n'), (-5, 'n');
SELECT * FROM ptsort_wrong_rows('parts');
CREATE OR REPLACE FUNCTION weight(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 + 10; END';
\c
SET search_path = wrong_rows, public;
SET client_min_messages = warning;
SELECT w."table", w."constraint", count(*), min(a), max(a) FROM ptsort_wrong_rows('parts') w
JOIN parts p ON p.tableoid = w."table" AND p.ctid = w.ctid GROUP BY 1, 2 ORDER BY 1, 2;
-- the server's own test of the same rows
SELECT tableoid::regclass, count(*) FROM parts WHERE NOT CASE tableoid::regclass::text
	WHEN 'part_low' THEN weight(a) >= 0 AND weight(a) < 100
	WHEN '"Part High"' THEN weight(a) >= 100 AND weight(a) < 200
	WHEN 'part_rest' THEN a IS NULL OR weight(a) < 0 OR weight(a) >= 300
	ELSE weight(a) >= 200 AND weight(a) < 300 END GROUP BY 1 ORDER BY 1;
-- one partition, and a part of the tree
SELECT count(*) FROM ptsort_wrong_rows('part_low');
SELECT "table", count(*) FROM ptsort_wrong_rows('part_text') GROUP BY 1 ORDER BY 1;
-- hash partitions, and no partitions
CREATE TABLE hashed (a int) PARTITION BY HASH (a);
SELECT count(*) FROM ptsort_wrong_rows('hashed');
CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO hashed SELECT generate_series(1, 100);
SELECT count(*) FROM ptsort_wrong_rows('hashed');
-- partitions in other servers are left out
CREATE FOREIGN DATA WRAPPER regress_wrong_rows;
CREATE SERVER regress_wrong_rows FOREIGN DATA WRAPPER regress_wrong_rows;
CREATE TABLE mixed (a int) PARTITION BY LIST (weight(a));
CREATE TABLE mixed_11 PARTITION OF mixed FOR VALUES IN (11);
CREATE FOREIGN TABLE mixed_12 PARTITION OF mixed FOR VALUES IN (12) SERVER regress_wrong_rows;
INSERT INTO mixed VALUES (1);
SELECT count(*) FROM ptsort_wrong_rows('mixed');
SELECT count(*) FROM ptsort_wrong_rows('mixed_12');
-- Domains, also of domains
CREATE FUNCTION fine(text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
CREATE DOMAIN base AS text COLLATE "C" CONSTRAINT "Base check" CHECK (fine(VALUE));
CREATE DOMAIN "Top" AS base CONSTRAINT top_check CHECK (VALUE <> 'z') NOT NULL;
CREATE TABLE typed (a int, t "Top", other base, many base[]);
INSERT INTO typed SELECT g, 't' || g, CASE WHEN g < 5 THEN 'o' || g END, '{}' FROM generate_series(1, 20) g;
SELECT * FROM ptsort_wrong_rows('typed');
CREATE OR REPLACE FUNCTION fine(text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN $1 !~ '3'; END$$;
\c
SET search_path = wrong_rows, public;
SET client_min_messages = warning;
SELECT w."constraint", array_agg(a ORDER BY a) FROM ptsort_wrong_rows('typed') w JOIN typed p ON p.ctid = w.ctid GROUP BY 1 ORDER BY 1;
-- A subquery without a row makes a NULL that the domain refuses.
CREATE DOMAIN filled AS int NOT NULL;
CREATE TABLE nulls (a int, f filled);
INSERT INTO nulls VALUES (1, 1);
UPDATE nulls SET f = (SELECT f FROM nulls n WHERE n.a = 2);
SELECT * FROM ptsort_wrong_rows('nulls');
-- an error in a constraint ends the search in this table
CREATE OR REPLACE FUNCTION fine(text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE 'not for %', $1; END$$;
SELECT * FROM ptsort_wrong_rows('typed');
-- other relations, and other users
CREATE VIEW seen AS SELECT 1 AS a;
CREATE INDEX plain_a ON plain (a);
SELECT * FROM ptsort_wrong_rows(NULL);
SELECT * FROM ptsort_wrong_rows('seen');
\set VERBOSITY sqlstate
SELECT * FROM ptsort_wrong_rows('plain_a');
\set VERBOSITY default
SELECT count(*) FROM ptsort_wrong_rows('pg_class');
CREATE ROLE regress_wrong_rows;
GRANT USAGE ON SCHEMA wrong_rows TO regress_wrong_rows;
GRANT SELECT ON ALL TABLES IN SCHEMA wrong_rows TO regress_wrong_rows;
ALTER TABLE part_low OWNER TO regress_wrong_rows;
SET ROLE regress_wrong_rows;
SELECT * FROM ptsort_wrong_rows('plain');
SELECT count(*) FROM ptsort_wrong_rows('part_low');
SELECT count(*) FROM ptsort_wrong_rows('parts');
RESET ROLE;
DROP SCHEMA wrong_rows CASCADE;
DROP FOREIGN DATA WRAPPER regress_wrong_rows CASCADE;
DROP ROLE regress_wrong_rows;
