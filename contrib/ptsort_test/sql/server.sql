-- Compares ptsort's sort of heap tuples with the sort that the server uses in
-- CLUSTER.  Both sorts get the same tuples.
CREATE TABLE rows (i int8, a int4, b int8, c text, d text COLLATE "C", n numeric, u uuid, gone int, pad text) WITH (fillfactor = 80);
ALTER TABLE rows ALTER pad SET STORAGE EXTERNAL;
INSERT INTO rows
SELECT g, g % 7, hashint8(g) % 100, md5((g % 2000)::text), repeat(chr(97 + g % 26), g % 9), g % 300 / 8.0,
	CASE WHEN g % 5 > 0 THEN md5((g % 100)::text)::uuid END, 1, repeat('x', CASE g % 250 WHEN 0 THEN 2500 + g % 9 ELSE g % 11 END)
FROM generate_series(1, 3000) g;
-- A dropped column, and rows with fewer columns than the descriptor.
ALTER TABLE rows DROP COLUMN gone;
ALTER TABLE rows ADD late int DEFAULT 5, ADD later text, ADD free int;
CREATE INDEX rows_a ON rows (a);
CREATE INDEX rows_ab ON rows (a DESC NULLS LAST, b);
CREATE INDEX rows_c ON rows (c COLLATE "en-x-icu", i);
CREATE INDEX rows_text ON rows (c);
CREATE INDEX rows_d ON rows (d DESC NULLS FIRST) INCLUDE (late);
CREATE INDEX rows_n ON rows (n NULLS FIRST, c DESC);
CREATE INDEX rows_u ON rows (u DESC);
CREATE INDEX rows_late ON rows (late, later, i);
CREATE INDEX rows_pad ON rows (pad) WHERE i > 100;
CREATE INDEX rows_expression ON rows ((i % 10), upper(d), b);
CREATE FUNCTION of_row(r rows) RETURNS int8 IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN r.b % 50; END';
CREATE FUNCTION server_tuples(spill int, merge_order int, class text, index regclass, random_access bool,
	OUT tuples int8, OUT identical int8, OUT spilled bool)
LANGUAGE plpgsql AS $$
DECLARE
	s record;
BEGIN
	PERFORM set_config('ptsort_test.spill_entries', spill::text, true),
		set_config('ptsort_test.merge_order', merge_order::text, true),
		set_config('ptsort_test.key_class', class, true);
	SELECT * INTO s FROM ptsort_test_server(index, budget_kb => 8192, random_access => random_access);
	tuples := s.tuples;
	identical := s.identical;
	spilled := s.runs > 0;
END $$;
-- Updates rows (some updates are HOT), deletes, locks and inserts rows, and rolls the
-- inserts back.  While this transaction runs, no process removes these row versions.
BEGIN;
UPDATE rows SET a = NULL, later = 'x' || i WHERE i % 13 = 0;
UPDATE rows SET free = i WHERE i % 11 = 0;
SELECT pg_stat_get_xact_tuples_hot_updated('rows'::regclass) > 100 AS in_place;
DELETE FROM rows WHERE i % 17 = 0;
SELECT count(*) FROM (SELECT FROM rows WHERE i % 103 = 0 FOR UPDATE) locked;
CREATE INDEX rows_function ON rows (of_row(rows), late DESC) WHERE length(pad) < 100;
SAVEPOINT s;
INSERT INTO rows (i, a, b, late) SELECT g, g % 3, g, g % 4 FROM generate_series(3001, 3100) g;
ROLLBACK TO s;
SELECT index, min(t.tuples) AS tuples, max(t.tuples) - min(t.tuples) AS fewer, count(*) AS sorts, count(*) FILTER (WHERE t.spilled) AS spilled
FROM unnest('{rows_a,rows_ab,rows_c,rows_d,rows_n,rows_u,rows_late,rows_pad,rows_expression,rows_function,rows_text}'::regclass[]) index,
	 (VALUES (0, 0, 'auto'), (500, 0, 'auto'), (300, 2, 'auto'), (0, 0, 'prefix'), (500, 0, 'compared')) v (spill, merge_order, class),
	 unnest('{f,t}'::bool[]) random_access,
	 server_tuples(spill, merge_order, class, index, random_access) t
GROUP BY index
ORDER BY index::text COLLATE "C";
COMMIT;

-- Rows with equal keys are in the order of their TIDs.  The sort needs no
-- comparison if one word holds the key.
SELECT index, s.comparisons > 0 AS compared FROM unnest('{rows_a,rows_late}'::regclass[]) index, ptsort_test_server(index) s;
DROP FUNCTION server_tuples;
DROP TABLE rows CASCADE;
