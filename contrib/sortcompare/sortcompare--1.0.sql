\echo Use "CREATE EXTENSION sortcompare" to load this file. \quit

-- Loads the rows of a table into memory, then sorts them once with each of the
-- engines, in the given order.  An engine is 'server' (tuplesort), 'ptsort', or
-- 'limit', which copies the rows (tuplestore) without sorting them.
-- Returns one row for each sort.  The table must be a heap table whose first
-- column is of type bigint and not null.  In memory, the function overwrites
-- this column with a hash of the row's keys, and computes the checksum from
-- the hashes of the sorted rows.
--
-- columns:        the keys, ascending, nulls last
-- collations:     the keys' collations; an element 0, or null instead of the
--                 array, means the column's collation
-- kind:           'tuple' sorts rows, 'datum' sorts values of one column
-- budget_kb:      memory for the sort
-- bound:          number of rows to read; 0 is all
-- group_rows:     number of rows in a group; 0 is all rows.  Each group is sorted
--                 separately, and put_ms then includes the time of all parts
-- random_access:  read forward and backward, rescan, and read forward again
-- told:           tell ptsort the number of rows when its sort begins
-- stable:         ptsort keeps rows with equal keys in the order of the puts,
--                 and not in the order of their bytes
-- anew:           begin and end a sort for each group; if false, reset one sort
--                 between the groups
--
-- put, perform, get, end: times of the parts of the sort; put includes begin.
--                 *_ms is elapsed time, *_cpu is this process's CPU time, in ms
-- memory:         peak memory in bytes of the sort's memory contexts, sampled
--                 often during put and get, and at the end of perform
-- memory_said:    peak memory that the sort reports: ptsort's peak_memory, or
--                 the server's EXPLAIN figure if the server used no temporary
--                 files
-- rss:            growth of the process's peak memory (VmHWM) in bytes
-- temp:           maximum size of the temporary files in bytes; null for limit
-- comparisons:    calls of comparison functions; null for the server
-- checksum:       checksum of the keys in sorted order
CREATE FUNCTION sortcompare(
	tablename pg_catalog.regclass,
	columns pg_catalog.name[],
	engines pg_catalog.text[] DEFAULT ARRAY['server', 'ptsort'],
	collations pg_catalog.regcollation[] DEFAULT NULL,
	kind pg_catalog.text DEFAULT 'tuple',
	budget_kb pg_catalog.int4 DEFAULT 65536,
	bound pg_catalog.int8 DEFAULT 0,
	group_rows pg_catalog.int8 DEFAULT 0,
	random_access pg_catalog.bool DEFAULT false,
	told pg_catalog.bool DEFAULT true,
	stable pg_catalog.bool DEFAULT false,
	anew pg_catalog.bool DEFAULT false,
	OUT engine pg_catalog.text,
	OUT tuples pg_catalog.int8,
	OUT put_ms pg_catalog.float8,
	OUT perform_ms pg_catalog.float8,
	OUT get_ms pg_catalog.float8,
	OUT end_ms pg_catalog.float8,
	OUT put_cpu pg_catalog.float8,
	OUT perform_cpu pg_catalog.float8,
	OUT get_cpu pg_catalog.float8,
	OUT end_cpu pg_catalog.float8,
	OUT memory pg_catalog.int8,
	OUT memory_said pg_catalog.int8,
	OUT rss pg_catalog.int8,
	OUT temp pg_catalog.int8,
	OUT runs pg_catalog.int8,
	OUT comparisons pg_catalog.int8,
	OUT checksum pg_catalog.int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C;
REVOKE ALL ON FUNCTION sortcompare FROM PUBLIC;

-- Sorts the rows of a table with ptsort and workers.  Every process loads its
-- share of the rows, waits for all processes, puts its rows and performs the
-- sort.  Then the leader reads the merged rows (reading is 'leader'), or all
-- processes read slices ('slices').  Returns one row for each process; workers
-- have participant > 0.  memory and temp are the figures of the row's process.
-- Only the leader's row has values for tuples and checksum; these values cover
-- all sorted rows.
CREATE FUNCTION sortcompare_parallel(
	tablename pg_catalog.regclass,
	columns pg_catalog.name[],
	workers pg_catalog.int4 DEFAULT 1,
	reading pg_catalog.text DEFAULT 'leader',
	collations pg_catalog.regcollation[] DEFAULT NULL,
	kind pg_catalog.text DEFAULT 'tuple',
	budget_kb pg_catalog.int4 DEFAULT 65536,
	told pg_catalog.bool DEFAULT true,
	OUT participant pg_catalog.int4,
	OUT tuples pg_catalog.int8,
	OUT put_ms pg_catalog.float8,
	OUT perform_ms pg_catalog.float8,
	OUT get_ms pg_catalog.float8,
	OUT end_ms pg_catalog.float8,
	OUT put_cpu pg_catalog.float8,
	OUT perform_cpu pg_catalog.float8,
	OUT get_cpu pg_catalog.float8,
	OUT end_cpu pg_catalog.float8,
	OUT memory pg_catalog.int8,
	OUT temp pg_catalog.int8,
	OUT comparisons pg_catalog.int8,
	OUT checksum pg_catalog.int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C;
REVOKE ALL ON FUNCTION sortcompare_parallel FROM PUBLIC;
