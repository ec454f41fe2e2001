-- Each misuse by a caller must raise an error that states the mistake.
CREATE TABLE misuse (a int);
CREATE INDEX misuse_hash ON misuse USING hash (a);
CREATE FUNCTION misuse(what text, OUT message text, OUT detail text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ptsort_test_misuse(what);
	message := 'NO ERROR';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END $$;
SELECT string_agg(what, ', ') AS misuses, concat_ws('  ', message, nullif(detail, ''), nullif(hint, '')) AS error
FROM unnest(ptsort_test_misuses()) WITH ORDINALITY w (what, n), misuse(what)
GROUP BY message, detail, hint ORDER BY min(n);
DROP FUNCTION misuse;
DROP TABLE misuse;
SELECT tuples FROM ptsort_test_sort('datum', 'shape_int8_i', 100);
SELECT ptsort_test_temp_files();
