\echo Use "CREATE EXTENSION ptsort_test" to load this file. \quit

-- Sorts n generated rows and compares every output tuple with an array that qsort
-- sorted.  The index (of an empty table) defines the tuples.
--
-- variant:        'datum': values of the first index column; 'tuple': rows of the
--                 table, by the key columns; 'index': index tuples; 'heap': heap
--                 tuples of the table; 'record': the records of record.c (the
--                 table's columns are the group, name and number)
-- pattern:        order in which the test puts keys: random, ascending, descending,
--                 permuted (each key once, in mixed order)
-- distinct_keys:  number of different keys, 0 = no limit
-- null_every:     about one key in null_every is null; 0 = no key is null
-- width:          minimum size in bytes of the payload, the table's last column
-- workers:        number of workers; 0 = a serial sort
-- shares:         relative number of rows of each participant, the leader's
--                 process last
-- live_rows:      the row with this number and later rows are dead to a unique index
-- slices:         all processes merge slices (a serial sort has one); the
--                 leader's process merges only if it put rows
-- stable:         equal tuples must come out in the order of the puts
-- bound:          the sort must return this number of tuples, the first ones in
--                 order; 0 = all
-- checksum:       checksum of all output tuples, in order
-- filled_slices:  number of slices with tuples
-- key:            kind of the sort's key (in parallel, of the leader's sort): exact,
--                 learned, words or compared; and the key's number of words
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

-- Sorts the input of the query's Sort node by the node's keys, with the server's
-- tuplesort and with ptsort.  Compares every tuple of the two outputs.  With random
-- access, also checks every step of a walk forward and backward.
--
-- variant:       'tuple', or 'datum' for a query of one column
-- slots:         'plan' for the slots that the executor would put into its sort,
--                'scan' for the table's slots before projection, or 'virtual',
--                'heap', 'minimal' for copies of the plan's slots
-- participants:  number of participants, all in this process; 0 = a serial sort
-- slices:        all participants merge, not just the leader
-- seed:          selects the participant for each tuple and slice, and the walks
-- bound:         number of tuples that the sort must return; 0 = all
-- rounds:        number of sorts, with resets between them; the first sort has
--                all tuples
-- groups:        number of different keys
-- method:        the method and the space that the sort reports
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
	OUT tuples bigint,
	OUT groups bigint,
	OUT runs bigint,
	OUT comparisons bigint,
	OUT peak_memory bigint,
	OUT temp_bytes bigint,
	OUT method text)
AS 'MODULE_PATHNAME', 'ptsort_test_model'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Compares all pairs of the values by the words of an index's leading column, by the
-- key's comparison, and by the operator class's own comparison.
-- decided: number of pairs of neighbours that the words distinguish.
-- exact: true if the key is exact and the test gets every value back.
CREATE FUNCTION ptsort_test_words(
	index regclass,
	"values" anyarray,
	OUT words integer,
	OUT pairs bigint,
	OUT contradictions bigint,
	OUT decided bigint, OUT exact boolean)
AS 'MODULE_PATHNAME', 'ptsort_test_words_index'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Does the checks of ptsort_test_words() for an ordering operator instead of an index.
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

-- Appends each string of 'rests' to each prefix.  For all pairs of strings with the same prefix,
-- compares the strings by the index's key and by the operator class's comparison.
-- skips: true if the key finally has a comparison of its own.
-- different: number of pairs for which the results differ.
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
-- decided: number of pairs that the tables order.
-- different: number of these pairs that the collation orders in another way.
CREATE FUNCTION ptsort_test_ranks(
	collation_id regcollation,
	strings text[],
	OUT compared bigint,
	OUT decided bigint,
	OUT different bigint)
AS 'MODULE_PATHNAME', 'ptsort_test_ranks'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Lets this session use the tables of all collations again, including collations
-- that contradicted their tables.
CREATE FUNCTION ptsort_test_trust_collations()
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_trust_collations'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Sorts n tuples, which the function builds in the sort's own memory; see reserve.c.
CREATE FUNCTION ptsort_test_reserve(n int4, budget_kb int4,
	is_inline bool DEFAULT false, in_worker bool DEFAULT false,
	OUT tuples int8, OUT runs int8, OUT forgotten int8, OUT peak_memory int8)
AS 'MODULE_PATHNAME', 'ptsort_test_reserve'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Passes the size to the public interface as the named argument; see sizes.c.
-- Returns ok, a number, or a text that says that the argument's type cannot hold the
-- size.
CREATE FUNCTION ptsort_test_size(argument text, size int8)
RETURNS text
AS 'MODULE_PATHNAME', 'ptsort_test_size'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Returns the names of the arguments for ptsort_test_size().
CREATE FUNCTION ptsort_test_size_arguments()
RETURNS text[]
AS 'MODULE_PATHNAME', 'ptsort_test_size_arguments'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Misuses ptsort's interface in the named way.
CREATE FUNCTION ptsort_test_misuse(what text)
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_misuse'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Returns the names of the misuses.
CREATE FUNCTION ptsort_test_misuses()
RETURNS text[]
AS 'MODULE_PATHNAME', 'ptsort_test_misuses'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Returns the fault points that the processes of all sessions passed since a session
-- set ptsort_test.fault.  For each point, counts the passes by leaders and by workers.
-- Counts only this session's passes unless the library is in
-- shared_preload_libraries.
CREATE FUNCTION ptsort_test_points(
	OUT point text,
	OUT leader bigint,
	OUT worker bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ptsort_test_points'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Passes the named fault point.  After the point "test: end", no allocation fails.
CREATE FUNCTION ptsort_test_point(point text)
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_point'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Returns the number of faults that a point caused since ptsort_test.fault was set,
-- and the number of calls that failed later because of a fault.
CREATE FUNCTION ptsort_test_faults(
	OUT acted bigint,
	OUT failed bigint)
AS 'MODULE_PATHNAME', 'ptsort_test_faults'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Returns the number of allocations after the point that ptsort_test.fault names.
CREATE FUNCTION ptsort_test_allocations()
RETURNS integer
AS 'MODULE_PATHNAME', 'ptsort_test_allocations'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Runs ptsort_parallel() over rows of a table, numbers that a callback makes, or
-- both.
--
-- tab:          the table; NULL: only the numbers
-- keys:         columns, each with its operator; nulls last
-- variant:      tuple: rows; datum: values of the first key
-- fill:         number of values that a callback puts: (i * 7919) % 20011 for i from 0
-- hold_back:    the callback fill puts every tenth value of the table
-- slices:       all processes read; if false, only the leader reads, from a stream
-- nested:       call ptsort_parallel() in parallel mode
-- fail:         the callback that fails, and "leader" or "worker"; or a mistake of
--               the callbacks: no sort, alone, no slices, first tuples
-- reads:        number of tuples to read; in slices, the number of hashes that fit
--               in shared memory
-- ops:          a function that returns the callbacks
-- index:        an index of the table, to run a build over its first column; the
--               build does not change the index
-- participants: number of processes that put tuples
-- rows:         number of rows of the table
-- tuples:       number of tuples put
-- digest:       digest of the tuples in their output order:
--               md5(string_agg(hashtext(keys)::text, ' ' ORDER BY ...)); in "keys",
--               a | separates the keys of one tuple
-- comparisons:  number of comparisons during the reads of the stream
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
	index regclass DEFAULT NULL,
	OUT participants integer,
	OUT launched integer,
	OUT rows bigint,
	OUT tuples bigint,
	OUT filled_slices integer,
	OUT digest text,
	OUT comparisons bigint)
AS 'MODULE_PATHNAME', 'ptsort_test_parallel'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE;

-- Occupies all segments of dynamic shared memory until the session ends.
CREATE FUNCTION ptsort_test_take_segments()
RETURNS integer
AS 'MODULE_PATHNAME', 'ptsort_test_take_segments'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Writes pieces of the given size at the given offsets of a temporary file, and reads
-- the pieces.  If the file is shared, the reads use another handle.  Returns the
-- number of bytes that differ from the written bytes.
CREATE FUNCTION ptsort_test_file(shared boolean, size integer, offsets bigint[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'ptsort_test_file'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Returns the number of temporary files of any kind.
CREATE FUNCTION ptsort_test_temp_files()
RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN (SELECT pg_catalog.count(*)
		FROM pg_catalog.pg_ls_dir('base/pgsql_tmp', true, false));

-- Releases the lock that this transaction holds for its changes of the table, so
-- that other sessions can build indexes while the transaction is in progress.
CREATE FUNCTION ptsort_test_release_lock(tablename regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_release_lock'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Deletes the row with the given TID, even during an index build on the table.
CREATE FUNCTION ptsort_test_delete(tablename regclass, place tid)
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_delete'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- Overwrites bytes of a page of a relation, in shared buffers.  Writes no WAL.
CREATE FUNCTION ptsort_test_write_page(index regclass, block int8, "offset" int4, bytes bytea)
RETURNS void
AS 'MODULE_PATHNAME', 'ptsort_test_write_page'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

-- A table access method like heap, but without parallel scans.
CREATE FUNCTION ptsort_test_serial_am(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME', 'ptsort_test_serial_am'
LANGUAGE C STRICT VOLATILE;

CREATE ACCESS METHOD ptsort_test_serial TYPE TABLE HANDLER ptsort_test_serial_am;

-- Some functions bypass permissions and locks, so only superusers may call the
-- functions of ptsort_test.
REVOKE ALL ON FUNCTION
	ptsort_test_sort,
	ptsort_test_model,
	ptsort_test_words,
	ptsort_test_operator_words,
	ptsort_test_prefixes,
	ptsort_test_ranks,
	ptsort_test_trust_collations,
	ptsort_test_reserve,
	ptsort_test_size,
	ptsort_test_size_arguments,
	ptsort_test_misuse,
	ptsort_test_misuses,
	ptsort_test_points,
	ptsort_test_point,
	ptsort_test_faults,
	ptsort_test_allocations,
	ptsort_test_parallel,
	ptsort_test_take_segments,
	ptsort_test_file,
	ptsort_test_temp_files,
	ptsort_test_release_lock,
	ptsort_test_delete,
	ptsort_test_write_page,
	ptsort_test_serial_am
FROM PUBLIC;
