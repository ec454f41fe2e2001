-- Tests each sort's key and each sort's result.
CREATE TABLE shape_libc (k text COLLATE "en_US.utf8", k2 int8, pad text);
CREATE INDEX shape_libc_i ON shape_libc (k, k2 DESC);
CREATE TABLE shape_libc_down (k text COLLATE "en_US.utf8", pad text);
CREATE INDEX shape_libc_down_i ON shape_libc_down (k DESC NULLS LAST);
CREATE TABLE shape_mixed (k int4, k2 text COLLATE "en_US.utf8", pad text);
CREATE INDEX shape_mixed_i ON shape_mixed (k DESC, k2 NULLS FIRST);
CREATE TABLE shape_packed (k bool, k2 int2, k3 int4, k4 timestamptz, pad text);
CREATE INDEX shape_packed_i ON shape_packed (k DESC, k2 NULLS FIRST, k3, k4 DESC NULLS LAST);
CREATE TABLE shape_wide (k uuid, k2 int8, k3 numeric, pad text);
CREATE INDEX shape_wide_i ON shape_wide (k, k2, k3);

-- A sort of few tuples in an ICU collation uses the server's abbreviated keys
-- until this process loads the collation's tables.  A sort that fills more than
-- half of its memory loads these tables.
CREATE FUNCTION key_of(n int, kb int) RETURNS text LANGUAGE sql AS
	$$SELECT s.key FROM ptsort_test_sort('tuple', 'shape_icu_i', n, kb, null_every => 11) s$$;
SELECT key_of(5000, 16384) AS before, key_of(15000, 1024) AS many, key_of(5000, 16384) AS after;

-- A sort of few tuples does not learn; a sort of more tuples does.  The test
-- includes datums without images, and spilled sorts.
SELECT variant, keys, runs, few_comparisons, string_agg(index::text, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM (SELECT variant, index, string_agg(s.key, ', ' ORDER BY n) AS keys, string_agg((s.runs > 1)::text, ', ' ORDER BY n) AS runs,
		string_agg((s.comparisons <= 4 * n)::text, ', ' ORDER BY n) AS few_comparisons
	FROM unnest('{datum,tuple,index}'::text[]) variant,
		 unnest('{shape_int8_i,shape_int4_i,shape_bool_i,shape_uuid_i,shape_packed_i,shape_wide_i,shape_float8_i,shape_numeric_i,
				  shape_libc_i,shape_libc_down_i,shape_mixed_i,shape_text_i,shape_icu_i,shape_name_i,shape_own_i}'::regclass[]) index,
		 (VALUES (1500, 1024), (5000, 16384), (15000, 1024)) v (n, kb),
		 ptsort_test_sort(variant, index, n, kb, null_every => 11, width => 20) s
	GROUP BY variant, index) r
GROUP BY variant, keys, runs, few_comparisons ORDER BY variant COLLATE "C", keys COLLATE "C", runs COLLATE "C", few_comparisons COLLATE "C";

-- The number of tuples that the sort gets, not the expected number, decides whether
-- the sort learns.
SELECT n, s.key, string_agg(DISTINCT index::text, ', ') AS indexes, count(*) AS sorts
FROM unnest('{shape_libc_i,shape_icu_i,shape_text_i}'::regclass[]) index,
	 (VALUES (1999, 0), (1999, 10), (1999, 300000), (2000, 0), (2000, 10), (5000, 300000)) v (n, expected),
	 ptsort_test_sort('tuple', index, n, 16384, null_every => 11, expected_tuples => expected) s
GROUP BY n, s.key ORDER BY n, s.key COLLATE "C";

-- Text that comes in order gets no words, unless memory is full; text nearly
-- in order gets words
SELECT index, n, kb, pattern, s.tuples = n AS complete, s.runs > 0 AS runs, s.key, s.comparisons - n AS more_comparisons
FROM unnest('{shape_libc_i,shape_icu_i,shape_text_i}'::regclass[]) index,
	 (VALUES (5000, 16384, 'ascending'), (5000, 16384, 'descending'), (20000, 1024, 'ascending')) v (n, kb, pattern),
	 ptsort_test_sort('tuple', index, n, kb, pattern => pattern) s
ORDER BY 1, 2, 4;
-- Text in order gets no words, even if there are more tuples than a key learns from
SELECT s.tuples, s.runs, s.key, s.comparisons FROM ptsort_test_sort('datum', 'shape_libc_i', 450000, 65536, pattern => 'ascending') s;

-- The order is the same for every sample that the key learns from, and for every
-- budget.
SELECT variant, sum(sorts) AS sorts, bool_and(many_runs) AS many_runs,
	string_agg(CASE results WHEN 2 THEN '' ELSE results || ' RESULTS of ' END || index, ', ' ORDER BY index::text COLLATE "C") AS indexes
FROM (SELECT variant, index, count(*) AS sorts, count(DISTINCT (keys, s.checksum)) AS results, max(s.runs) > 20 AS many_runs
	FROM unnest('{datum,tuple,index}'::text[]) variant,
		 unnest('{shape_libc_i,shape_libc_down_i,shape_mixed_i,shape_text_i,shape_icu_i,shape_name_i,shape_int8_i,shape_packed_i}'::regclass[]) index,
		 unnest('{0,40}'::int[]) keys,
		 (VALUES (0, 0, 'auto', 16384, 0), (10000, 0, 'auto', 16384, 0),
				 (0, 300, 'auto', 1024, 0), (0, 97, 'auto', 1024, 0), (0, 97, 'prefix', 1024, 0), (0, 97, 'compared', 1024, 0),
				 (0, 0, 'auto', 1024, 2), (0, 100, 'auto', 1024, 2)) o (learn, spill, class, kb, workers),
		 forced_sort(variant, index, 3000, kb, workers, distinct_keys => keys, null_every => 50, learn => learn, spill => spill, class => class) s
	GROUP BY variant, index) r
GROUP BY variant ORDER BY variant COLLATE "C";

-- In a parallel sort, one participant learns for all participants.  The leader
-- reads a stream, or all participants read slices.
SET ptsort_test.learn_tuples = 0;	-- by default, these sorts do not learn
SELECT s.key, s.tuples, s.comparisons < 4 * s.tuples AS few_comparisons, count(DISTINCT slices) AS ways,
	string_agg(DISTINCT variant || ' ' || index, ', ') AS of
FROM unnest('{datum,tuple}'::text[]) variant,
	 unnest('{shape_libc_i,shape_mixed_i,shape_text_i,shape_icu_i,shape_int8_i,shape_uuid_i}'::regclass[]) index,
	 unnest('{f,t}'::bool[]) slices,
	 ptsort_test_sort(variant, index, 12000, workers => 2, shares => '{1,30,5}', slices => slices, null_every => 11) s
GROUP BY s.key, s.tuples, few_comparisons ORDER BY s.key COLLATE "C";
RESET ptsort_test.learn_tuples;

-- Random access, in memory and in a run
SELECT key, of, string_agg(n || CASE WHEN runs THEN ' with runs' ELSE '' END, ', ' ORDER BY n) AS tuples
FROM (SELECT n, s.runs > 1 AS runs, s.key, string_agg(variant || ' ' || index, ', ' ORDER BY variant COLLATE "C", index::text COLLATE "C") AS of
	FROM unnest('{datum,tuple}'::text[]) variant,
		 unnest('{shape_int8_i,shape_bool_i,shape_uuid_i,shape_libc_i,shape_mixed_i,shape_packed_i}'::regclass[]) index,
		 (VALUES (0, 1024), (1, 1024), (2100, 16384), (50000, 1024)) v (n, kb),
		 ptsort_test_sort(variant, index, n, kb, random_access => true, null_every => 20, distinct_keys => n / 2) s
	GROUP BY n, s.runs > 1, s.key) r
GROUP BY key, of ORDER BY key COLLATE "C", of COLLATE "C";

-- A value in an exact key has no image; a sort that does not learn needs no
-- memory for learning
SELECT index, a.peak_memory < 0.9 * p.peak_memory AS less
FROM unnest('{shape_int8_i,shape_bool_i}'::regclass[]) index, forced_sort('datum', index, 20000, 16384) a,
	 forced_sort('datum', index, 20000, 16384, class => 'prefix') p
UNION ALL SELECT 'shape_libc_i', a.peak_memory < b.peak_memory - 10000
FROM forced_sort('tuple', 'shape_libc_i', 1999, 16384) a, forced_sort('tuple', 'shape_libc_i', 2000, 16384) b;

-- Varlena values that are shorter than any image, and nulls among the values
SELECT nulls, s.tuples FROM unnest('{FIRST,LAST}'::text[]) nulls,
	ptsort_test_model('SELECT v FROM unnest(ARRAY[''b'', NULL, '''', ''abcd'', ''a'', '''', NULL, ''abc'', repeat(''x'', 100000)]) v ORDER BY 1 NULLS ' || nulls,
		'datum') s;

DROP TABLE shape_libc, shape_libc_down, shape_mixed, shape_packed, shape_wide;
DROP FUNCTION key_of;
SELECT ptsort_test_temp_files();
