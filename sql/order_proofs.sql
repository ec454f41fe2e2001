-- ptsort_order_proofs: which index or table is known to be right after an order
-- changed.  The collation becomes Czech, and American again: "ch" follows "h".
\pset format unaligned \pset footer off
SET client_min_messages = warning;
\set SHOW_CONTEXT never
DROP EXTENSION IF EXISTS ptsort CASCADE;
CREATE SCHEMA proofs;
SET search_path = proofs;
CREATE EXTENSION ptsort SCHEMA proofs;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_proofs LOCATION '';
CREATE COLLATION order_of FROM "en_US.utf8";
CREATE TABLE t AS SELECT g AS id, ((ARRAY['a', 'ch', 'd', 'h', 'i'])[1 + g % 5] || g) COLLATE order_of AS s FROM generate_series(1, 300) g;
CREATE INDEX t_first ON t (s);
CREATE INDEX t_second ON t (s DESC, id);
CREATE INDEX t_brin ON t USING brin (s);
CREATE TYPE words AS RANGE (subtype = text, collation = order_of);
CREATE TABLE other AS SELECT id, words(s, s, '[]') AS r, ARRAY[s] AS a FROM t;
CREATE INDEX other_gist ON other USING gist (r);
CREATE INDEX other_gin ON other USING gin (a);
CREATE TABLE few AS SELECT * FROM t WHERE s < 'd' COLLATE order_of;
CREATE INDEX few_s ON few (s) WHERE id < 0;
ALTER TABLE few ADD CHECK (s < 'd' COLLATE order_of);
CREATE TABLE parts (id int, s text COLLATE order_of) PARTITION BY RANGE (s);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM ('a') TO ('b');
CREATE VIEW proofs AS
SELECT relname, is_doubtful AS doubt, is_proved AS proved FROM ptsort_order_proofs JOIN pg_class c ON c.oid = relation
WHERE relnamespace = 'proofs'::regnamespace;
CREATE VIEW verdict AS SELECT verdict, reason FROM ptsort_collations() WHERE "collation" = 'order_of'::regcollation;
CREATE FUNCTION set_order(locale text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE pg_collation SET collcollate = locale WHERE collname = 'order_of';
	UPDATE ptsort_collation_digests d SET locale = $1 WHERE collation_name = 'order_of';
END $$;
CREATE PROCEDURE check_all() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM FROM ptsort_check_all(changed_collations => true);
END $$;
CALL check_all();
REINDEX INDEX t_brin;
SELECT remembered FROM ptsort_remember_collations() WHERE "collation" = 'order_of'::regcollation;
SELECT * FROM verdict;
SELECT set_order('cs_CZ.utf8');
\c
SET search_path = proofs;
SET client_min_messages = warning;
SELECT * FROM verdict;
SELECT index, "table", problems > 0 AS wrong, repair, wrong_rows FROM ptsort_check_all(changed_collations => true) WHERE "table"::text ~ '^(t|few|part|other)';
SELECT relname, needs_rows FROM ptsort_order_proofs JOIN pg_class c ON c.oid = relation
WHERE relname ~ '^(t|few|other)_' AND relnamespace = 'proofs'::regnamespace ORDER BY 1;
SELECT * FROM proofs ORDER BY 1;
-- copies of a file and of a table, and other names, prove nothing
ALTER INDEX t_first SET TABLESPACE regress_proofs;
ALTER INDEX t_brin SET TABLESPACE regress_proofs;
VACUUM FULL few;
ALTER INDEX t_second RENAME TO t_third;
ALTER INDEX few_s RENAME TO t_second;
SELECT * FROM proofs ORDER BY 1;
ALTER INDEX t_brin SET TABLESPACE pg_default;
-- a partition that the check did not see
CREATE TABLE part_2 (id int, s text COLLATE order_of);
ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES FROM ('b') TO ('c');
SELECT * FROM proofs WHERE relname = 'parts';
-- a rebuild proves what ptsort cannot check; it checks the others
REINDEX TABLE CONCURRENTLY t;
REINDEX TABLE other;
SELECT * FROM proofs ORDER BY 1;
CALL check_all();
SELECT * FROM proofs ORDER BY 1;
-- a check that proves less does not remove a proof
SELECT sum(problems), count(*) FILTER (WHERE problems IS NULL) AS unchecked FROM ptsort_check_all() WHERE index::text ~ '^(t|other)_';
SELECT * FROM proofs WHERE relname ~ '^(t|other)_' ORDER BY 1;
SELECT remembered, reason FROM ptsort_remember_collations() WHERE "collation" = 'order_of'::regcollation;
DELETE FROM few WHERE s >= 'd';
CALL check_all();
SELECT * FROM proofs WHERE relname = 'few';
SELECT remembered, reason FROM ptsort_remember_collations() WHERE "collation" = 'order_of'::regcollation;
-- another order, and back without remembering: the rebuilt indexes are wrong
SELECT set_order('en_US.utf8');
\c
SET search_path = proofs;
SET client_min_messages = warning;
CALL check_all();
REINDEX TABLE t;
SELECT set_order('cs_CZ.utf8');
\c
SET search_path = proofs;
SET client_min_messages = warning;
SELECT * FROM verdict;
SELECT index, problems > 0 AS wrong FROM ptsort_check_all(changed_collations => true) WHERE "table" = 't'::regclass;
REINDEX TABLE t;
CALL check_all();
SELECT remembered, reason FROM ptsort_remember_collations() WHERE "collation" = 'order_of'::regcollation;
SELECT * FROM verdict;
-- a table that disappears does not end a call
SELECT count(*) FROM ptsort_wrong_rows(1);
DROP SCHEMA proofs CASCADE;
DROP TABLESPACE regress_proofs;
