-- Functions for the other tests.  The tests create files in the data directory,
-- where every server can write.  Messages show @name@ instead of paths.
CREATE EXTENSION sortbench CASCADE;
CREATE FUNCTION place(name text) RETURNS text LANGUAGE sql STABLE
RETURN current_setting('data_directory') || '/sortbench_' || name;

-- Runs a query with file names such as @name@.  Returns the query's row, or the
-- error.
CREATE FUNCTION try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	detail text;
	hint text;
BEGIN
	EXECUTE 'SELECT r::text FROM (' || regexp_replace(query, '@(\w*)@', place('\1'), 'g') || ') r' INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS result = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	result := SQLSTATE || ': ' || concat_ws(E'\n  ', result, nullif(detail, ''), nullif(hint, ''));
	result := regexp_replace(result, place('(\w*)'), '@\1@', 'g');
	RETURN replace(result, current_setting('data_directory'), '@data@');
END $$;

-- Returns the records of a file, numbered from 0.
CREATE FUNCTION records(name text, size int DEFAULT 100, OUT n bigint, OUT record bytea)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	whole bytea := pg_read_binary_file(place(name));
BEGIN
	FOR i IN 0 .. length(whole) / size - 1 LOOP
		n := i;
		record := substr(whole, i * size + 1, size);
		RETURN NEXT;
	END LOOP;
END $$;

-- Writes a file with the server's COPY, independently of sortbench.
CREATE FUNCTION write_file(name text, whole bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	object oid := lo_from_bytea(0, whole);
BEGIN
	PERFORM lo_export(object, place(name)), lo_unlink(object);
END $$;

CREATE FUNCTION digest(name text) RETURNS text LANGUAGE sql
RETURN md5(pg_read_binary_file(place(name)));
SELECT try('SELECT 1 / 0'), try('SELECT 1'), try('SELECT pg_read_file(''@nothing@'')');
