-- demo-queries.sql - run each query of `make demo` with the server's sorts and
-- then with ptsort's.  A query's result is a digest of its rows in order, so
-- that equal results show that both sorts return the same order.
\set ON_ERROR_STOP on
SET search_path = demo, public;
SET client_min_messages = warning;
SET work_mem = '256MB';
SET max_parallel_workers_per_gather = 0;
-- do not use the demo's indexes, which provide some of the queries' orders
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_incremental_sort = off;

CREATE TABLE queries (
	n				int GENERATED ALWAYS AS IDENTITY,
	label			text,
	server_s		numeric,
	ptsort_s		numeric,
	same			bool,			-- both results are equal
	tuples			bigint,			-- number of tuples in ptsort's report
	method			text
);

-- demo.timed sets ptsort.sort to the argument "sort", and runs a query that
-- returns one value.
CREATE FUNCTION timed(query text, sort text, OUT seconds numeric, OUT result text)
LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz;
BEGIN
	PERFORM set_config('ptsort.sort', sort, true);
	start := clock_timestamp();
	EXECUTE query INTO result;
	seconds := round(extract(epoch FROM clock_timestamp() - start), 3);
	PERFORM set_config('ptsort.sort', 'off', true);
END $$;

-- demo.query runs a query with the server's sort and with ptsort's, and returns
-- a line about the query.
CREATE FUNCTION query(label text, query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	server record;
	ptsort record;
	last record;				-- ptsort's sort before this query
	sorted record;
BEGIN
	SELECT * INTO server FROM demo.timed(query, 'off');
	SELECT * INTO last FROM ptsort_last_sort();
	SELECT * INTO ptsort FROM demo.timed(query, 'on');
	SELECT * INTO sorted FROM ptsort_last_sort();
	IF sorted IS NOT DISTINCT FROM last THEN
		RAISE EXCEPTION 'ptsort did not sort: %', query;
	END IF;
	INSERT INTO demo.queries (label, server_s, ptsort_s, same, tuples, method)
		VALUES (label, server.seconds, ptsort.seconds, server.result = ptsort.result,
			sorted.tuples, sorted.method);
	RETURN format('%s server %s s, ptsort %s s', rpad(label, 44),
		to_char(server.seconds, '990.00'), to_char(ptsort.seconds, '990.00'));
END $$;

SELECT query('ORDER BY path COLLATE en_US', $$
	SELECT md5(string_agg(path, ',')) FROM (
		SELECT path FROM files ORDER BY path COLLATE "en_US.utf8" OFFSET 0) s $$);
SELECT query('ORDER BY word COLLATE en_US', $$
	SELECT md5(string_agg(word, ',')) FROM (
		SELECT word FROM words ORDER BY word COLLATE "en_US.utf8" OFFSET 0) s $$);
SELECT query('row_number() OVER (PARTITION BY word ...)', $$
	SELECT md5(string_agg(word || n, ',')) FROM (
		SELECT word, row_number() OVER (PARTITION BY word COLLATE "en_US.utf8") AS n
		FROM words OFFSET 0) s $$);
SELECT query('ORDER BY word COLLATE "C"', $$
	SELECT md5(string_agg(word, ',')) FROM (
		SELECT word FROM words ORDER BY word COLLATE "C" OFFSET 0) s $$);
SELECT query('ORDER BY bytes DESC, changed', $$
	SELECT md5(string_agg(bytes || ' ' || changed, ',')) FROM (
		SELECT bytes, changed FROM files ORDER BY bytes DESC, changed OFFSET 0) s $$);
SELECT query('ORDER BY account (int8)', $$
	SELECT sum(account / i) FROM (SELECT account, row_number() OVER () AS i FROM (
		SELECT account, amount FROM events ORDER BY account OFFSET 0) r) s $$);
