\echo Use "CREATE EXTENSION ptsort" to load this file. \quit

-- Creating a C function loads the library into the session.  Once the library
-- is loaded, ptsort does the session's index builds.
CREATE FUNCTION ptsort_last_build(
	OUT index_name pg_catalog.text,
	OUT participant pg_catalog.int4,
	OUT role pg_catalog.text,
	OUT tuples pg_catalog.int8,
	OUT runs pg_catalog.int8,
	OUT run_bytes pg_catalog.int8,
	OUT scan_ms pg_catalog.float8,
	OUT sort_ms pg_catalog.float8,
	OUT run_ms pg_catalog.float8,
	OUT merge_load_ms pg_catalog.float8,
	OUT comparisons pg_catalog.int8,
	OUT pages pg_catalog.int8,
	OUT wal_bytes pg_catalog.int8,
	OUT peak_memory_bytes pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_last_build'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION ptsort_last_build() IS
	'what the participants of this session''s last ptsort index build did';
