\echo Use "ALTER EXTENSION ptsort UPDATE TO '1.1.0'" to load this file. \quit

-- The function returns a few rows, one for each participant of a build.  By
-- default the planner would expect 1000 rows.
ALTER FUNCTION ptsort_last_build() ROWS 10;

CREATE FUNCTION ptsort_last_sort(
	OUT sorts pg_catalog.int8,
	OUT keys pg_catalog.int4,
	OUT tuples pg_catalog.int8,
	OUT method pg_catalog.text,
	OUT runs pg_catalog.int8,
	OUT comparisons pg_catalog.int8,
	OUT sort_ms pg_catalog.float8,
	OUT run_ms pg_catalog.float8,
	OUT peak_memory_bytes pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_last_sort'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;

COMMENT ON FUNCTION ptsort_last_sort() IS
	'what the last query sort by ptsort in this session did';

CREATE FUNCTION ptsort_last_copy(
	OUT index_name pg_catalog.text,
	OUT participant pg_catalog.int4,
	OUT role pg_catalog.text,
	OUT tuples pg_catalog.int8,
	OUT runs pg_catalog.int8,
	OUT run_bytes pg_catalog.int8,
	OUT scan_ms pg_catalog.float8,
	OUT sort_ms pg_catalog.float8,
	OUT run_ms pg_catalog.float8,
	OUT write_ms pg_catalog.float8,
	OUT comparisons pg_catalog.int8,
	OUT pages pg_catalog.int8,
	OUT wal_bytes pg_catalog.int8,
	OUT peak_memory_bytes pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_last_copy'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION ptsort_last_copy() IS
	'what the participants of this session''s last CLUSTER by ptsort did';
