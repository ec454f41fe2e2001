\echo Use "CREATE EXTENSION sortcompare" to load this file. \quit

-- Loads the rows of a table into memory, then sorts them once with each of the
-- engines, in the given order.  An engine is 'server' (tuplesort) or 'ptsort'.
-- Returns one row for each sort.  The table must be a heap table whose first
-- column is of type bigint and not null.  In memory, the function overwrites
-- this column with a hash of the row's keys, and computes the checksum from
-- the hashes of the sorted rows.
--
-- columns:        the keys, ascending, nulls last
-- collations:     the keys' collations; a missing element, or 0, means the
--                 column's collation
-- budget_kb:      memory for the sort
--
-- put, perform, get: times of the parts of the sort; put includes begin.
--                 *_ms is elapsed time, *_cpu is this process's CPU time, in ms
-- memory:         peak memory in bytes of the sort's memory contexts, sampled
--                 often during put and get, and at the end of perform
-- temp:           maximum size of the temporary files in bytes
-- comparisons:    calls of comparison functions; null for the server
-- checksum:       checksum of the keys in sorted order
CREATE FUNCTION sortcompare(
	tablename pg_catalog.regclass,
	columns pg_catalog.name[],
	engines pg_catalog.text[] DEFAULT ARRAY['server', 'ptsort'],
	collations pg_catalog.regcollation[] DEFAULT '{}',
	budget_kb pg_catalog.int4 DEFAULT 65536,
	OUT engine pg_catalog.text,
	OUT tuples pg_catalog.int8,
	OUT put_ms pg_catalog.float8,
	OUT perform_ms pg_catalog.float8,
	OUT get_ms pg_catalog.float8,
	OUT put_cpu pg_catalog.float8,
	OUT perform_cpu pg_catalog.float8,
	OUT get_cpu pg_catalog.float8,
	OUT memory pg_catalog.int8,
	OUT temp pg_catalog.int8,
	OUT comparisons pg_catalog.int8,
	OUT checksum pg_catalog.int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
REVOKE ALL ON FUNCTION sortcompare FROM PUBLIC;
