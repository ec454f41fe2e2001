-- Temporary files have segments of 1 GB.  The test also writes pieces that lie
-- in two segments.

SELECT shared, ptsort_test_file(shared, 300000,
	ARRAY[0, 300000, 1073741824 - 300000, 1073741824 - 1, 2147483648 - 150000])
FROM unnest(ARRAY[false, true]) shared;

-- The test leaves no temporary file behind.
SELECT ptsort_test_temp_files();

-- temp_file_limit counts all of a file's segments.
CREATE FUNCTION over_limit(size integer, offsets bigint[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
	RETURN ptsort_test_file(false, size, offsets) < 0;
EXCEPTION WHEN configuration_limit_exceeded THEN
	RETURN true;
END $$;
SET temp_file_limit = '100kB';
SELECT over_limit(300000, ARRAY[0]);
SELECT over_limit(90000, ARRAY[0, 1073741824 - 80000]);
RESET temp_file_limit;
SELECT ptsort_test_temp_files();
