\echo Use "CREATE EXTENSION sortbench" to load this file. \quit

-- These functions read and write files on the server's machine, as the server's
-- operating system user.  The calling role needs the privileges of
-- pg_read_server_files to read files, and of pg_write_server_files to write
-- files.  Paths must be absolute, and must not be symbolic links.

-- Writes a file of the sort benchmark's records, which have 100 bytes and a key
-- of 10 bytes.  seed is the number of the first record, so that several calls
-- can make consecutive parts of the data.  kind is uniform, skewed, ascii or
-- ascii skewed, for records of gensort 1.5.  The kind terasort gives uniform
-- records of gensort up to 1.4 and of Hadoop.  Returns the size of the file in
-- bytes.
CREATE FUNCTION sortbench_generate(
	path pg_catalog.text,
	records pg_catalog.int8,
	seed pg_catalog.int8 DEFAULT 0,
	kind pg_catalog.text DEFAULT 'uniform',
	overwrite pg_catalog.bool DEFAULT false,
	sync pg_catalog.bool DEFAULT true)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Sorts files of records.  The output files appear only when the sort is
-- complete.  Records with equal keys stay in the order of the input.
--
-- inputs:         input files, one after the other
-- outputs:        output files, which hold equal ranges of the result
-- workers:        number of parallel workers; the calling process sorts as well
-- memory:         memory limit for all processes together, such as '64MB'; null
--                 means maintenance_work_mem
-- key_offset, key_length: place of the key, which is compared as bytes
-- passes:         1: keep records in memory; 2: use temporary files if records
--                 do not fit in memory; 0: 1 if memory suffices, else 2
-- overwrite:      replace existing output files, even if they are inputs
-- sync:           sync the files to disk before naming them
-- direct_output:  bypass the kernel's cache for writes.  The size of each output
--                 file except the last is then a multiple of 4096 bytes
CREATE FUNCTION sortbench_sort(
	inputs pg_catalog.text[],
	outputs pg_catalog.text[],
	workers pg_catalog.int4 DEFAULT 1,
	memory pg_catalog.text DEFAULT NULL,
	record_size pg_catalog.int4 DEFAULT 100,
	key_offset pg_catalog.int4 DEFAULT 0,
	key_length pg_catalog.int4 DEFAULT 10,
	passes pg_catalog.int4 DEFAULT 0,
	overwrite pg_catalog.bool DEFAULT false,
	sync pg_catalog.bool DEFAULT true,
	direct_output pg_catalog.bool DEFAULT false,
	OUT records pg_catalog.int8,
	OUT bytes pg_catalog.int8,
	OUT passes_made pg_catalog.int4,
	OUT participants pg_catalog.int4,
	OUT elapsed_ms pg_catalog.float8,
	OUT mb_per_second pg_catalog.float8,
	OUT memory_used pg_catalog.int8,
	OUT memory_allowed pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C;

-- Reports the last sort of this session, with a row for each phase of each
-- participant (0 is the leader).  The phases are:
--
-- open:           the leader creates files and reserves disk space and memory
-- launch:         time until the participant begins to read
-- read:           the participant reads records and puts them into the sort
-- sort:           the participant sorts its records, and waits for the runs of
--                 other participants
-- write:          the participant merges and writes slices of the result
-- end:            the leader waits until the workers end
-- close:          the leader syncs the files and names them
--
-- start_ms:       start of the phase, relative to the start of the sort
-- busy_percent:   CPU time as a percentage of the elapsed time
-- io_ms:          time in calls that read or write files of records
-- mb_per_second:  bytes divided by the elapsed time
CREATE FUNCTION sortbench_report(
	OUT participant pg_catalog.int4,
	OUT phase pg_catalog.text,
	OUT start_ms pg_catalog.float8,
	OUT elapsed_ms pg_catalog.float8,
	OUT user_ms pg_catalog.float8,
	OUT system_ms pg_catalog.float8,
	OUT busy_percent pg_catalog.float8,
	OUT io_ms pg_catalog.float8,
	OUT bytes pg_catalog.int8,
	OUT mb_per_second pg_catalog.float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Checks the records of files, which follow one another.  records is the number of records.  unordered is the number of records that
-- are less than the previous record; it is 0 if all records are in order.
-- first_unordered is the position of the first of these records, from 0.
-- duplicates is the number of records with the previous record's key.  checksum
-- is the sum of all records' CRC-32, as gensort and valsort print it; checksum
-- does not depend on the records' order.
CREATE FUNCTION sortbench_validate(
	paths pg_catalog.text[],
	record_size pg_catalog.int4 DEFAULT 100,
	key_offset pg_catalog.int4 DEFAULT 0,
	key_length pg_catalog.int4 DEFAULT 10,
	OUT records pg_catalog.int8,
	OUT unordered pg_catalog.int8,
	OUT first_unordered pg_catalog.int8,
	OUT duplicates pg_catalog.int8,
	OUT checksum pg_catalog.text)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Removes a regular file, such as a file that these functions made.  Returns
-- false if the file does not exist.
CREATE FUNCTION sortbench_remove(path pg_catalog.text)
RETURNS pg_catalog.bool
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Runs the Datamation benchmark: sorts a million records from file to file, and
-- returns the leader's time for each phase (see sortbench_report) and the total
-- time.  Creates its files in "directory", and removes them.  datamation,
-- minutesort and pennysort pass direct_output to sortbench_sort.
CREATE FUNCTION datamation(
	directory pg_catalog.text,
	workers pg_catalog.int4 DEFAULT 1,
	memory pg_catalog.text DEFAULT '256MB',
	direct_output pg_catalog.bool DEFAULT false,
	OUT step pg_catalog.text,
	OUT ms pg_catalog.float8)
RETURNS SETOF record
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source text := directory || '/datamation.in';
	target text := directory || '/datamation.out';
	elapsed float8;
	sum text;
BEGIN
	IF (workers BETWEEN 0 AND 64) IS NOT TRUE THEN
		RAISE invalid_parameter_value USING MESSAGE = '"workers" must be between 0 and 64';
	END IF;
	PERFORM @extschema@.sortbench_generate(source, 1000000, overwrite => true);
	SELECT s.elapsed_ms FROM @extschema@.sortbench_sort(ARRAY[source], ARRAY[target], workers, memory, overwrite => true,
		direct_output => direct_output) s INTO elapsed;
	RETURN QUERY SELECT phase, elapsed_ms FROM @extschema@.sortbench_report() WHERE participant = 0 ORDER BY start_ms;
	RETURN QUERY SELECT 'all', elapsed;
	SELECT v.checksum FROM @extschema@.sortbench_validate(ARRAY[target]) v WHERE records = 1000000 AND unordered = 0 INTO sum;
	IF sum IS DISTINCT FROM (SELECT checksum FROM @extschema@.sortbench_validate(ARRAY[source])) THEN
		RAISE 'the result is wrong';
	END IF;
	PERFORM @extschema@.sortbench_remove(source), @extschema@.sortbench_remove(target);
EXCEPTION WHEN OTHERS OR query_canceled THEN
	PERFORM @extschema@.sortbench_remove(source), @extschema@.sortbench_remove(target);
	RAISE;
END $$;

-- Finds the maximum number of records that sortbench_sort can sort from file to
-- file in the given time.  Returns a row for each attempt.  Adjusts the number
-- of records until an attempt takes 90 to 100 percent of "seconds", or reaches
-- max_bytes.  An attempt's time does not include making files and validating
-- results.  Creates its files in "directory", and removes them.
CREATE FUNCTION minutesort(
	directory pg_catalog.text,
	seconds pg_catalog.float8 DEFAULT 60,
	workers pg_catalog.int4 DEFAULT 1,
	memory pg_catalog.text DEFAULT NULL,
	max_bytes pg_catalog.int8 DEFAULT 10000000000,
	kind pg_catalog.text DEFAULT 'uniform',
	direct_output pg_catalog.bool DEFAULT false,
	OUT records pg_catalog.int8,
	OUT bytes pg_catalog.int8,
	OUT elapsed_seconds pg_catalog.float8,
	OUT passes_made pg_catalog.int4,
	OUT fits pg_catalog.bool)
RETURNS SETOF record
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source text := directory || '/minutesort.in';
	target text := directory || '/minutesort.out';
	most int8 := max_bytes / 100;
	fitting int8 := 0;
	input record;
	output record;
BEGIN
	IF (seconds > 0 AND workers >= 0 AND most > 0) IS NOT TRUE THEN
		RAISE invalid_parameter_value USING MESSAGE = 'seconds, workers or max_bytes leaves no room for a record';
	END IF;
	IF workers > 64 THEN
		RAISE invalid_parameter_value USING MESSAGE = '"workers" must be between 0 and 64';
	END IF;
	records := least(most, 100000);
	FOR attempt IN 1 .. 12 LOOP
		bytes := @extschema@.sortbench_generate(source, records, 0, kind, overwrite => true);
		SELECT s.elapsed_ms / 1000, s.passes_made
		FROM @extschema@.sortbench_sort(ARRAY[source], ARRAY[target], workers, memory, overwrite => true, direct_output => direct_output) s
		INTO elapsed_seconds, passes_made;
		SELECT * FROM @extschema@.sortbench_validate(ARRAY[source]) INTO input;
		SELECT * FROM @extschema@.sortbench_validate(ARRAY[target]) INTO output;
		IF (output.records, output.unordered, output.checksum) IS DISTINCT FROM (records, 0::int8, input.checksum) THEN
			RAISE 'the result is wrong';
		END IF;
		fits := elapsed_seconds <= seconds;
		RETURN NEXT;
		fitting := CASE WHEN fits THEN greatest(fitting, records) ELSE fitting END;
		EXIT WHEN fits AND (records = most OR elapsed_seconds >= 0.9 * seconds);
		-- 5 percent fewer records than would fit at this speed, but at most 8 times the last number
		records := least(most, records * least(8, 0.95 * seconds / elapsed_seconds));
		EXIT WHEN records <= fitting;
	END LOOP;
	PERFORM @extschema@.sortbench_remove(source), @extschema@.sortbench_remove(target);
EXCEPTION WHEN OTHERS OR query_canceled THEN
	PERFORM @extschema@.sortbench_remove(source), @extschema@.sortbench_remove(target);
	RAISE;
END $$;

-- Runs PennySort: computes the time for which this machine costs a penny, and
-- finds the maximum number of ASCII records that sortbench_sort can sort in
-- that time.  price_of_machine is in dollars.
CREATE FUNCTION pennysort(
	directory pg_catalog.text,
	price_of_machine pg_catalog.float8,
	years pg_catalog.float8 DEFAULT 3,
	workers pg_catalog.int4 DEFAULT 1,
	memory pg_catalog.text DEFAULT NULL,
	max_bytes pg_catalog.int8 DEFAULT 10000000000,
	direct_output pg_catalog.bool DEFAULT false,
	OUT seconds pg_catalog.float8,
	OUT records pg_catalog.int8,
	OUT bytes pg_catalog.int8,
	OUT elapsed_seconds pg_catalog.float8,
	OUT passes_made pg_catalog.int4)
RETURNS record
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF (price_of_machine > 0 AND years > 0) IS NOT TRUE THEN
		RAISE invalid_parameter_value USING MESSAGE = 'price and years must be greater than 0';
	END IF;
	seconds := years * 365 * 86400 / (price_of_machine * 100);
	SELECT m.records, m.bytes, m.elapsed_seconds, m.passes_made
	FROM @extschema@.minutesort(directory, seconds, workers, memory, max_bytes, 'ascii', direct_output) m
	WHERE m.fits ORDER BY m.records DESC LIMIT 1
	INTO records, bytes, elapsed_seconds, passes_made;
END $$;
