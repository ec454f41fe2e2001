\echo Use "CREATE EXTENSION sortbench" to load this file. \quit

-- All of these functions read or write files of the server's machine, as the
-- server's user: they need the privileges of pg_read_server_files and
-- pg_write_server_files, and absolute paths.  Symbolic links are refused.

-- Writes a file of the sort benchmark's records, of 100 bytes with a key of 10.
-- seed is the number of the first one, so files can be made in parts.  kind is
-- uniform, skewed, ascii, or ascii skewed, as gensort 1.5 makes them; or terasort,
-- as gensort made uniform ones until 1.4, and Hadoop does.  Returns the bytes.
CREATE FUNCTION sortbench_generate(
	path pg_catalog.text,
	records pg_catalog.int8,
	seed pg_catalog.int8 DEFAULT 0,
	kind pg_catalog.text DEFAULT 'uniform',
	overwrite pg_catalog.bool DEFAULT false,
	sync pg_catalog.bool DEFAULT true)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Sorts files of records into files that are there, whole, at the end, or not
-- at all.  Records with equal keys stay in order.
--
-- inputs:         one after the other, or striped
-- outputs:        each gets a range of the result, equally large, or stripes
-- workers:        parallel workers; this process sorts as well
-- memory:         for all that all processes hold, as '64MB'; null is
--                 maintenance_work_mem
-- key_offset, key_length: place of the key, which is compared as bytes
-- keys:           instead of these two: one text for each part of the key, of
--                 offset, length, and optionally a type (bytes, uint, int,
--                 float), little or big (the default), desc or asc:
--                 '{0 10,12 4 int little desc}'
-- passes:         1: records are read into memory and stay there; 2: they go
--                 through temporary files if they must; 0: 1 if memory suffices
-- input_stripe, output_stripe: bytes; 0: not striped
-- overwrite:      replace outputs that exist, even inputs
-- sync:           have all on the disk before the files get their names
-- direct_input, direct_output: read or write past the system's cache.  Of several
--                 outputs each but the last is then a multiple of 4096 bytes
CREATE FUNCTION sortbench_sort(
	inputs pg_catalog.text[],
	outputs pg_catalog.text[],
	workers pg_catalog.int4 DEFAULT 1,
	memory pg_catalog.text DEFAULT NULL,
	record_size pg_catalog.int4 DEFAULT 100,
	key_offset pg_catalog.int4 DEFAULT 0,
	key_length pg_catalog.int4 DEFAULT 10,
	keys pg_catalog.text[] DEFAULT NULL,
	passes pg_catalog.int4 DEFAULT 0,
	input_stripe pg_catalog.int8 DEFAULT 0,
	output_stripe pg_catalog.int8 DEFAULT 0,
	overwrite pg_catalog.bool DEFAULT false,
	sync pg_catalog.bool DEFAULT true,
	direct_input pg_catalog.bool DEFAULT false,
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

-- What the last sort of this session did: a row for each phase of each
-- participant (0 is this process), and then one for each file.
--
-- open:           files are made, their space is taken, memory as well
-- launch:         until the participant has begun
-- read:           records are read and put into the sort
-- sort:           these are sorted, and the others' waited for
-- write:          slices of the result are merged and written
-- end:            the others' end is waited for
-- close:          all is brought to the disk, and files get their names
--
-- start_ms:       since the sort began
-- busy_percent:   CPU time of the elapsed time
-- io_ms:          in calls that read or write files of records; of a file's row
--                 all participants' together
-- mb_per_second:  of the elapsed time, in a file's row of io_ms
CREATE FUNCTION sortbench_report(
	OUT participant pg_catalog.int4,
	OUT phase pg_catalog.text,
	OUT file pg_catalog.text,
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

-- Says of the records of files, one after the other or striped, how many there
-- are, how many belong before the one before them (0: all are in order) and the
-- number of the first of these, from 0; how many have the key of the one before
-- them; and the sum of all records' CRC-32, as gensort and valsort print it,
-- which does not depend on their order.
CREATE FUNCTION sortbench_validate(
	paths pg_catalog.text[],
	workers pg_catalog.int4 DEFAULT 1,
	record_size pg_catalog.int4 DEFAULT 100,
	key_offset pg_catalog.int4 DEFAULT 0,
	key_length pg_catalog.int4 DEFAULT 10,
	keys pg_catalog.text[] DEFAULT NULL,
	stripe pg_catalog.int8 DEFAULT 0,
	OUT records pg_catalog.int8,
	OUT unordered pg_catalog.int8,
	OUT first_unordered pg_catalog.int8,
	OUT duplicates pg_catalog.int8,
	OUT checksum pg_catalog.text)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C;

-- Removes an ordinary file, if it is there: what these functions have made.
CREATE FUNCTION sortbench_remove(path pg_catalog.text)
RETURNS pg_catalog.bool
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- The Datamation benchmark: a million records, file to file, and how long each
-- of its seven steps takes the leader.  Its files, in this directory, are
-- removed.  direct_output is that of sortbench_sort, here and in what follows.
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
	SELECT v.checksum FROM @extschema@.sortbench_validate(ARRAY[target], workers) v WHERE records = 1000000 AND unordered = 0 INTO sum;
	IF sum IS DISTINCT FROM (SELECT checksum FROM @extschema@.sortbench_validate(ARRAY[source], workers)) THEN
		RAISE 'the result is wrong';
	END IF;
	PERFORM @extschema@.sortbench_remove(source), @extschema@.sortbench_remove(target);
EXCEPTION WHEN OTHERS OR query_canceled THEN
	PERFORM @extschema@.sortbench_remove(source), @extschema@.sortbench_remove(target);
	RAISE;
END $$;

-- The most records that are sorted within so many seconds, file to file: a row
-- for each attempt, with ever more records, until one takes 90 percent of the
-- time, or there are max_bytes of records.  Making files, and validating each
-- result, is not counted.  The files, in this directory, are removed.
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
		SELECT * FROM @extschema@.sortbench_validate(ARRAY[source], workers) INTO input;
		SELECT * FROM @extschema@.sortbench_validate(ARRAY[target], workers) INTO output;
		IF (output.records, output.unordered, output.checksum) IS DISTINCT FROM (records, 0::int8, input.checksum) THEN
			RAISE 'the result is wrong';
		END IF;
		fits := elapsed_seconds <= seconds;
		RETURN NEXT;
		fitting := CASE WHEN fits THEN greatest(fitting, records) ELSE fitting END;
		EXIT WHEN fits AND (records = most OR elapsed_seconds >= 0.9 * seconds);
		-- a little less than seems to fit; and not far from what is known
		records := least(most, records * least(8, 0.95 * seconds / elapsed_seconds));
		EXIT WHEN records <= fitting;
	END LOOP;
	PERFORM @extschema@.sortbench_remove(source), @extschema@.sortbench_remove(target);
EXCEPTION WHEN OTHERS OR query_canceled THEN
	PERFORM @extschema@.sortbench_remove(source), @extschema@.sortbench_remove(target);
	RAISE;
END $$;

-- PennySort: how long a penny buys the machine, and the most ASCII records that
-- are sorted in that time.  The price is in dollars.
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
