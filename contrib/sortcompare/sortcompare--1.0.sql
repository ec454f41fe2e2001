\echo Use "CREATE EXTENSION sortcompare" to load this file. \quit

-- Loads the rows of a table into memory, then sorts them once for each engine
-- of the list, in this order: 'server' (tuplesort) or 'ptsort'.  One row says
-- what one sort took.  The table must be an ordinary heap table whose first
-- column is of type bigint and never null: in memory it gets a hash of the
-- row's keys, which the reader of the sorted rows looks at.
--
-- columns:        the keys, ascending, nulls last
-- collations:     theirs; null or 0 is the column's own
-- kind:           'tuple' sorts rows, 'datum' values of one column
-- budget_kb:      memory for the sort
-- bound:          only so many of the first are wanted, 0 = all
-- group_rows:     sort groups of so many rows one after the other, 0 = all at
--                 once; the whole time is then in put_ms
-- random_access:  read forward, backward, rescan, and forward again
-- told:           ptsort is told how many rows to expect, as an executor could
--                 tell it from the plan
-- stable:         ptsort leaves rows with equal keys in the order in which they
--                 were put, instead of that of their bytes
-- anew:           each group of rows has a sort of its own, begun and ended; else
--                 there is one, which is reset
--
-- put, perform, get, end: begin counts for put.  *_ms are times, *_cpu is CPU
--                 time of this process, in ms as well
-- memory:         bytes that the sort's memory contexts held at most, as seen at
--                 many moments of put and get and at the end of perform
-- memory_said:    what the sort itself says about it: ptsort's peak_memory, the
--                 server's EXPLAIN figure if it kept all in memory
-- rss:            bytes by which the process's memory (VmHWM) grew at most
-- temp:           bytes of temporary files at most
-- comparisons:    calls of the operators' comparison; unknown of the server
-- checksum:       of the keys in the order in which they were read
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

-- The same with ptsort and several processes: every one loads its share of the
-- rows, waits until all have it, puts, performs; then the leader reads the
-- merged stream (reading 'leader') or all processes read slices ('slices').
-- One row for each process: those with participant > 0 are workers.  Sums of
-- memory and temp are what the sort holds in all.  checksum, of all together,
-- is the leader's; so are tuples.
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
