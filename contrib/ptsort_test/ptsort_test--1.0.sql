\echo Use "CREATE EXTENSION ptsort_test" to load this file. \quit

-- Sorts n generated rows and compares every tuple that comes out with an array
-- that was sorted by other means.  The index (of an empty table) tells what the
-- tuples look like: variant 'datum' sorts values of its first column, 'tuple'
-- rows of its table by its key columns, 'index' index tuples, 'heap' rows as the
-- table has them, 'record' records of our own whose group, name and number are
-- the columns.
--
-- pattern:        order in which keys are put: random, ascending, descending,
--                 permuted (each key once, in mixed order)
-- distinct_keys:  how many different keys, 0 = as many as there are
-- null_every:     about one key in this many is null, 0 = none
-- width:          least bytes of the payload, the table's last column
-- workers:        0 = serial; shares: how much each participant puts, relative
--                 to the others, the leader's process last
-- live_rows:      rows from this one on are dead to a unique index
-- slices:         all processes merge slices (a serial sort has one); the
--                 leader's process only if it took part before, or had to
-- stable:         equal tuples must come in the order in which they were put
-- bound:          only so many tuples, the first, are wanted
-- checksum:       of all tuples in the order in which they came
-- filled_slices:  how many slices had tuples
-- key:            what the sort (a leader, if parallel) orders by: exact, learned,
--                 words or compared; and how many words that are
CREATE FUNCTION ptsort_test_sort(
	variant text,
	index regclass,
	n bigint,
	budget_kb integer DEFAULT 1024,
	workers integer DEFAULT 0,
	leader_takes_part boolean DEFAULT true,
	shares integer[] DEFAULT NULL,
	random_access boolean DEFAULT false,
	sorts integer DEFAULT 1,
	pattern text DEFAULT 'random',
	distinct_keys bigint DEFAULT 0,
	null_every integer DEFAULT 0,
	width integer DEFAULT 0,
	seed integer DEFAULT 1,
	is_unique boolean DEFAULT false,
	nulls_not_distinct boolean DEFAULT false,
	live_rows bigint DEFAULT NULL,
	slices boolean DEFAULT false,
	stable boolean DEFAULT false,
	expected_tuples bigint DEFAULT 0,
	bound bigint DEFAULT 0,
	OUT tuples bigint,
	OUT runs bigint,
	OUT comparisons bigint,
	OUT peak_memory bigint,
	OUT temp_bytes bigint,
	OUT data_bytes bigint,
	OUT checksum bigint,
	OUT filled_slices bigint,
	OUT smallest_slice bigint,
	OUT largest_slice bigint,
	OUT key text)
AS 'MODULE_PATHNAME', 'ptsort_test_sort'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE;

-- One sort object sorts this many times, up to max_n generated rows each time,
-- and is reset in between, wherever it is.  Every sort that is read to its end is
-- compared as ptsort_test_sort() does it.
--
-- checked:        how many sorts were; the others were reset on the way
-- most_memory:    bytes in the sort's memory contexts just after a reset
CREATE FUNCTION ptsort_test_reset(
	variant text,
	index regclass,
	sorts integer,
	max_n bigint,
	budget_kb integer DEFAULT 1024,
	random_access boolean DEFAULT false,
	stable boolean DEFAULT false,
	bound bigint DEFAULT 0,
	seed integer DEFAULT 1,
	OUT checked bigint,
	OUT tuples bigint,
	OUT method text,
	OUT space text,
	OUT runs bigint,
	OUT most_memory bigint)
AS 'MODULE_PATHNAME', 'ptsort_test_reset'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Sorts what the query's Sort would read, by its keys, with the server's tuplesort
-- and with ptsort; compares every tuple and, with random access, every step of a
-- walk in all directions.
--
-- variant:       'tuple', or 'datum' for a query of one column
-- slots:         'plan' for the slots that the executor would put into its sort,
--                'scan' for those of the table before projection, or 'virtual',
--                'heap', 'minimal' for copies
-- participants:  0 = serial; all of them are sorts of this process
-- slices:        all participants merge, not just the leader
-- seed:          who puts what, who takes which slice, and walks
-- bound:         only this many are wanted, the first in order; 0 = all
-- rounds:        sort this often, with resets between: all tuples, then some of them
-- spoil:         makes a mistake that must be found: drop, replace, order, nulls,
--                step, ties
-- groups:        how many different keys there are
CREATE FUNCTION ptsort_test_model(
	query text,
	variant text DEFAULT 'tuple',
	slots text DEFAULT 'plan',
	budget_kb integer DEFAULT 1024,
	participants integer DEFAULT 0,
	slices boolean DEFAULT false,
	random_access boolean DEFAULT false,
	seed bigint DEFAULT 1,
	expected_tuples bigint DEFAULT 0,
	stable boolean DEFAULT false,
	rounds integer DEFAULT 1,
	bound bigint DEFAULT 0,
	spoil text DEFAULT '',
	OUT tuples bigint,
	OUT groups bigint,
	OUT runs bigint,
	OUT comparisons bigint,
	OUT peak_memory bigint,
	OUT temp_bytes bigint)
AS 'MODULE_PATHNAME', 'ptsort_test_model'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Sorts the rows of a btree index's table, dead ones included, in that index's order,
-- and compares the tuples that come out with those of the server's own sort.
-- identical: how many were at the same place (what has equal keys need not be).
CREATE FUNCTION ptsort_test_server(
	index regclass,
	budget_kb integer DEFAULT 1024,
	random_access boolean DEFAULT false,
	OUT tuples bigint,
	OUT identical bigint,
	OUT runs bigint,
	OUT comparisons bigint)
AS 'MODULE_PATHNAME', 'ptsort_test_server'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Sorts the elements of an array with the operator.
CREATE FUNCTION ptsort_test_array(
	"values" anyarray,
	operator regoperator,
	nulls_first boolean DEFAULT false,
	budget_kb integer DEFAULT 1024)
RETURNS anyarray
AS 'MODULE_PATHNAME', 'ptsort_test_array'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Compares the words of an index's leading column, and the comparison that
-- goes with them, with the operator class's own comparison: for all pairs of
-- the values.  decided: how many neighbours the words tell apart.
-- exact: the key is, and gives every value back.
CREATE FUNCTION ptsort_test_words(
	index regclass,
	"values" anyarray,
	OUT words integer,
	OUT pairs bigint,
	OUT contradictions bigint,
	OUT decided bigint, OUT exact boolean)
AS 'MODULE_PATHNAME', 'ptsort_test_words_index'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- The same for an ordering operator.
CREATE FUNCTION ptsort_test_operator_words(
	operator regoperator,
	"values" anyarray,
	nulls_first boolean DEFAULT false,
	OUT words integer,
	OUT pairs bigint,
	OUT contradictions bigint,
	OUT decided bigint, OUT exact boolean)
AS 'MODULE_PATHNAME', 'ptsort_test_operator_words'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Compares strings that share a prefix with the index's key and with the operator
-- class's comparison: each prefix before all pairs of rests.  skips: the key has, in
-- the end, a comparison of its own; different: how often it said something else.
CREATE FUNCTION ptsort_test_prefixes(
	index regclass,
	prefixes text[],
	rests text[],
	OUT skips boolean,
	OUT compared bigint,
	OUT different bigint)
AS 'MODULE_PATHNAME', 'ptsort_test_prefixes'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Compares all pairs of strings by the tables of a collation, and by the collation.
-- decided: how many the tables order; different: how many of these otherwise.
CREATE FUNCTION ptsort_test_ranks(
	collation_id regcollation,
	strings text[],
	OUT compared bigint,
	OUT decided bigint,
	OUT different bigint)
AS 'MODULE_PATHNAME', 'ptsort_test_ranks'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Lets this session use the tables of all collations again, those that have
-- contradicted theirs included.
CREATE FUNCTION ptsort_test_trust_collations()
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_trust_collations'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Sorts n tuples that are formed where they will be; see reserve.c.
CREATE FUNCTION ptsort_test_reserve(n int4, budget_kb int4,
	is_inline bool DEFAULT false, in_worker bool DEFAULT false,
	OUT tuples int8, OUT runs int8, OUT forgotten int8, OUT peak_memory int8)
AS 'MODULE_PATHNAME', 'ptsort_test_reserve'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Gives one argument of the public headers this size; see sizes.c.  Returns what
-- came of it, ok or a number, or that the argument's type has no such number.
CREATE FUNCTION ptsort_test_size(argument text, size int8)
RETURNS text
AS 'MODULE_PATHNAME', 'ptsort_test_size'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- The names of these arguments.
CREATE FUNCTION ptsort_test_size_arguments()
RETURNS text[]
AS 'MODULE_PATHNAME', 'ptsort_test_size_arguments'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Does something that callers must not do.
CREATE FUNCTION ptsort_test_misuse(what text)
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_misuse'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- The fault points that this session passed since ptsort_test.fault was set.
CREATE FUNCTION ptsort_test_fault_points(
	OUT point text,
	OUT hits bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ptsort_test_fault_points'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- The fault points that the processes of all sessions passed since one of them
-- set ptsort_test.fault, and how often leaders and workers did.  This session
-- only, unless the library is in shared_preload_libraries.
CREATE FUNCTION ptsort_test_points(
	OUT point text,
	OUT leader bigint,
	OUT worker bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ptsort_test_points'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Passes a fault point of the test's own.  At "test: end" allocations fail no more.
CREATE FUNCTION ptsort_test_point(point text)
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_point'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- How often something went wrong since ptsort_test.fault was set: points at which
-- a fault acted, and calls that failed later because of it.
CREATE FUNCTION ptsort_test_faults(
	OUT acted bigint,
	OUT failed bigint)
AS 'MODULE_PATHNAME', 'ptsort_test_faults'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- How many allocations were counted after the point of ptsort_test.fault.
CREATE FUNCTION ptsort_test_allocations()
RETURNS integer
AS 'MODULE_PATHNAME', 'ptsort_test_allocations'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Runs a build by ptsort_parallel() over an index, which it leaves alone, and reads
-- the values of its first column, a bigint.
--
-- ops:           a function of ptsort_test that returns the callbacks
-- callbacks:     names of those that ptsort_test_build_named returns
-- sum:           of the values that were read
-- filled_slices: how many slices had tuples, 0 if it read a stream
CREATE FUNCTION ptsort_test_build(
	index regclass,
	ops text,
	callbacks text[] DEFAULT '{}',
	workers integer DEFAULT 0,
	budget_kb integer DEFAULT 4096,
	OUT participants integer,
	OUT tuples bigint,
	OUT sum bigint,
	OUT filled_slices integer)
AS 'MODULE_PATHNAME', 'ptsort_test_build'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Runs ptsort_parallel() over rows of a table, numbers that a callback makes, or
-- both.
--
-- tab:          NULL: only the numbers
-- keys:         columns, each with its operator; nulls last
-- variant:      tuple: rows; datum: values of the first key
-- fill:         how many numbers, (i * 7919) % 20011 for i from 0
-- hold_back:    every tenth value of the table is put by fill
-- slices:       all processes read; else this one, from a stream
-- nested:       call it within parallel mode
-- fail:         a callback, and whether in the leader or in a worker
-- reads:        tuples that are read of a stream; of slices, how many there are
-- ops:          a function that returns the callbacks
-- participants: processes that put tuples
-- rows:         of the table
-- tuples:       put
-- digest:       of the keys in the order in which they came, separated by |:
--               md5(string_agg(hashtext(keys)::text, ' ' ORDER BY ...))
-- comparisons:  while the stream was read
CREATE FUNCTION ptsort_test_parallel(
	tab regclass,
	keys text[] DEFAULT '{}',
	operators regoperator[] DEFAULT '{}',
	variant text DEFAULT 'tuple',
	fill bigint DEFAULT 0,
	hold_back boolean DEFAULT false,
	slices boolean DEFAULT false,
	workers integer DEFAULT 2,
	budget_kb integer DEFAULT 8192,
	nested boolean DEFAULT false,
	fail text DEFAULT '',
	reads bigint DEFAULT 1000000000,
	ops text DEFAULT NULL,
	OUT participants integer,
	OUT launched integer,
	OUT rows bigint,
	OUT tuples bigint,
	OUT filled_slices integer,
	OUT digest text,
	OUT comparisons bigint)
AS 'MODULE_PATHNAME', 'ptsort_test_parallel'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE;

-- Takes all segments of dynamic shared memory until the session ends.
CREATE FUNCTION ptsort_test_take_segments()
RETURNS integer
AS 'MODULE_PATHNAME', 'ptsort_test_take_segments'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Writes pieces of a temporary file at these offsets and reads them again,
-- shared: through another handle.  How many bytes differ?
CREATE FUNCTION ptsort_test_file(shared boolean, size integer, offsets bigint[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'ptsort_test_file'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- How many temporary files of any kind there are.
CREATE FUNCTION ptsort_test_temp_files()
RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN (SELECT pg_catalog.count(*)
		FROM pg_catalog.pg_ls_dir('base/pgsql_tmp', true, false));

-- Gives up the lock that this transaction's changes of the table have taken, so
-- that indexes can be built while it is in progress.
CREATE FUNCTION ptsort_test_release_lock(tablename regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_release_lock'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Deletes the row in that place, whatever else is done with the table.
CREATE FUNCTION ptsort_test_delete(tablename regclass, place tid)
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_delete'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Heap, but for parallel scans, which it refuses.
CREATE FUNCTION ptsort_test_serial_am(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME', 'ptsort_test_serial_am'
LANGUAGE C STRICT VOLATILE;

CREATE ACCESS METHOD ptsort_test_serial TYPE TABLE HANDLER ptsort_test_serial_am;

-- Some of these write past permissions and locks: they are for superusers.
REVOKE ALL ON FUNCTION
	ptsort_test_sort,
	ptsort_test_reset,
	ptsort_test_model,
	ptsort_test_server,
	ptsort_test_array,
	ptsort_test_words,
	ptsort_test_operator_words,
	ptsort_test_prefixes,
	ptsort_test_ranks,
	ptsort_test_trust_collations,
	ptsort_test_reserve,
	ptsort_test_size,
	ptsort_test_size_arguments,
	ptsort_test_misuse,
	ptsort_test_fault_points,
	ptsort_test_points,
	ptsort_test_point,
	ptsort_test_faults,
	ptsort_test_allocations,
	ptsort_test_build,
	ptsort_test_parallel,
	ptsort_test_take_segments,
	ptsort_test_file,
	ptsort_test_temp_files,
	ptsort_test_release_lock,
	ptsort_test_delete,
	ptsort_test_serial_am
FROM PUBLIC;
