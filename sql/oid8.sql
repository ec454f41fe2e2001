-- The type oid8 of PostgreSQL 19: ptsort makes words, and the index equals the
-- server's.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/same.sql
SELECT to_regtype('oid8') IS NULL AS missing \gset
\if :missing
\quit
\endif
CREATE TABLE oid8s AS
SELECT CASE WHEN i % 17 > 0 THEN (hashint8extended(i, 1) + 9223372036854775808::numeric)::text::oid8 END AS v, i
FROM generate_series(1, 20000) i;
INSERT INTO oid8s VALUES ('0', 0), ('1', 0), ('9223372036854775807', 0), ('9223372036854775808', 0), ('18446744073709551615', 0);
SELECT what, same('oid8s', what)
FROM unnest('{(v),(v DESC),(v NULLS FIRST),"(v, i)","(i, v DESC)"}'::text[]) what;
CREATE INDEX oid8s_v ON oid8s (v);
SELECT tuples, comparisons FROM ptsort_last_build() WHERE role = 'total';
-- ptsort sorts a query's rows in the order of the type's operator
SET ptsort.sort = on;
SET ptsort.min_sort_rows = 0;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
CREATE TABLE oid8s_sorted AS SELECT v, row_number() OVER (ORDER BY v DESC NULLS LAST, i) AS n FROM oid8s;
SELECT keys, tuples FROM ptsort_last_sort();
SELECT count(*) AS misplaced FROM (SELECT v, lag(v) OVER (ORDER BY n) AS before FROM oid8s_sorted) s WHERE v > before OR (v IS NOT NULL AND before IS NULL AND v <> '18446744073709551615');
DROP TABLE oid8s, oid8s_sorted;
