-- ptsort_parallel(): sorts rows of a table and values of a callback, as streams and
-- in slices, with and without workers.  The test function checks every call of a
-- callback; this file tests the results and the errors.
CREATE TABLE onecall (k int8, k2 int4, c text COLLATE "C", w text COLLATE "en-x-icu", pad text);
INSERT INTO onecall SELECT CASE WHEN i % 50 > 0 THEN (i * 7919) % 20011 END, i % 7,
		md5((i % 5000)::text), 'word ' || chr(224 + i % 30) || (i * 31) % 999, 'row ' || i
	FROM generate_series(1, 20010) i;
LOAD 'ptsort';
SET ptsort_test.slices = 12;

-- Sorts a table and compares the result with the server's result; returns the number
-- of participants, and any differences.
CREATE FUNCTION onecall(keys text[], operators regoperator[], order_by text, variant text DEFAULT 'tuple',
	workers int DEFAULT 2, slices bool DEFAULT false, nested bool DEFAULT false,
	hold_back bool DEFAULT false, budget_kb int DEFAULT 8192, tab regclass DEFAULT 'onecall')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int8;
	expected text;
	r record;
BEGIN
	EXECUTE format('SELECT count(*), md5(coalesce(string_agg(hashtext(concat_ws(''|'', %s))::text, '' '' ORDER BY %s), '''')) FROM %s',
		array_to_string(keys, ', '), order_by, tab) INTO n, expected;
	SELECT * INTO r FROM ptsort_test_parallel(tab, keys, operators, variant, 0, hold_back, slices, workers,
		budget_kb, nested, '', CASE WHEN slices THEN n ELSE 1000000000 END);
	RETURN concat_ws(', ', r.participants || ' participants', r.filled_slices || ' slices',
		CASE WHEN r.rows <> n OR r.tuples <> n THEN 'WRONG COUNT' END,
		CASE WHEN r.digest <> expected THEN 'WRONG ORDER' END);
END $$;

-- keys of all kinds
CREATE TABLE onecall_keys (n serial, keys text[], operators regoperator[], order_by text, variant text DEFAULT 'tuple');
INSERT INTO onecall_keys (keys, operators, order_by) VALUES
	('{k}', '{"<(int8,int8)"}', 'k'),
	('{k}', '{">(int8,int8)"}', 'k DESC NULLS LAST'),
	('{c}', '{"<(text,text)"}', 'c'),
	('{w}', '{"<(text,text)"}', 'w'),
	('{k2,w,k}', '{"<(int4,int4)",">(text,text)","<(int8,int8)"}', 'k2, w DESC, k');
INSERT INTO onecall_keys (keys, operators, order_by, variant) VALUES
	('{k}', '{"<(int8,int8)"}', 'k', 'datum'),
	('{w}', '{"<(text,text)"}', 'w', 'datum');
SELECT variant, order_by, onecall(keys, operators, order_by, variant, 0) AS alone,
	onecall(keys, operators, order_by, variant) AS stream,
	onecall(keys, operators, order_by, variant, slices => true) AS slices
FROM onecall_keys ORDER BY n;
-- sorts with runs in files
SET ptsort_test.spill_entries = 1000;
SELECT variant, order_by, onecall(keys, operators, order_by, variant, 0, budget_kb => 1024) AS alone,
	onecall(keys, operators, order_by, variant, budget_kb => 3072) AS stream,
	onecall(keys, operators, order_by, variant, slices => true, budget_kb => 3072) AS slices
FROM onecall_keys ORDER BY n;
RESET ptsort_test.spill_entries;

-- different numbers of participants
\set by_k '\'{k}\', \'{"<(int8,int8)"}\', \'k\''
SELECT onecall(:by_k, slices => true, workers => 0);
SET ptsort_test.leader_participates = off;
SELECT onecall(:by_k), onecall(:by_k, slices => true), onecall(:by_k, workers => 0);
RESET ptsort_test.leader_participates;
SET max_parallel_workers = 1;
SELECT onecall(:by_k);
SET max_parallel_workers = 0;
SELECT onecall(:by_k), onecall(:by_k, slices => true);
RESET max_parallel_workers;
SELECT onecall(:by_k, nested => true);
CREATE TEMP TABLE onecall_temp AS SELECT * FROM onecall;
SELECT onecall(:by_k, tab => 'onecall_temp');
CREATE MATERIALIZED VIEW onecall_view AS SELECT * FROM onecall;
SELECT onecall(:by_k, tab => 'onecall_view');
-- a table access method without parallel scans
CREATE TABLE onecall_serial USING ptsort_test_serial AS SELECT * FROM onecall;
SELECT onecall(:by_k, tab => 'onecall_serial'), onecall(:by_k, tab => 'onecall_serial', slices => true);
-- an empty table
CREATE TABLE onecall_none (LIKE onecall);
SELECT onecall(:by_k, tab => 'onecall_none'), onecall(:by_k, tab => 'onecall_none', slices => true);

-- Sorts of text use words, which one participant learns for all participants.
-- Without the collation's tables, the sorts use the server's abbreviated keys; with
-- keys of class "compared", the sorts use only comparisons.  (Without
-- ptsort_test.learn_tuples, these sorts would not learn.)
SET ptsort_test.learn_tuples = 0;
CREATE TABLE onecall_words AS SELECT md5(i::text) COLLATE "en-x-icu" AS w, 'row ' || i AS pad FROM generate_series(1, 20000) i;
CREATE FUNCTION onecall_text(workers int DEFAULT 2)
RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(', ', participants || ' participants', CASE WHEN digest = expected THEN 'right' ELSE 'WRONG' END,
	CASE WHEN comparisons < 2000 THEN 'few' ELSE 'many' END || ' comparisons')
FROM ptsort_test_parallel('onecall_words', '{w}', '{"<(text,text)"}', 'tuple', workers => workers),
	(SELECT md5(string_agg(hashtext(w)::text, ' ' ORDER BY w)) AS expected FROM onecall_words) sorted $$;
SELECT onecall_text(), onecall_text(3), onecall_text(0);
SET ptsort_test.slices = 1;
SELECT onecall_text(), onecall_text(3), onecall_text(0);
SET ptsort_test.slices = 12;
SET ptsort_test.spill_entries = 700;
SELECT onecall_text();
RESET ptsort_test.spill_entries;
SET ptsort.use_collation_tables = off;
SELECT onecall_text();
RESET ptsort.use_collation_tables;
SET ptsort_test.key_class = compared;
SELECT onecall_text();
RESET ptsort_test.key_class;
RESET ptsort_test.learn_tuples;

-- rows that this transaction sees, and rows that it does not see
BEGIN;
DELETE FROM onecall WHERE k % 3 = 0;
SAVEPOINT s;
INSERT INTO onecall SELECT 30000 + i, 0, 'new', 'new', 'new' FROM generate_series(1, 10) i;
SELECT onecall(:by_k), onecall(:by_k, slices => true);
ROLLBACK TO s;
SELECT onecall(:by_k);
ROLLBACK;

-- numbers that a callback puts; numbers and rows of the table in one sort
CREATE FUNCTION onecall_numbers(n bigint, workers int, slices bool) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(', ', participants || ' participants', tuples || ' tuples', rows || ' rows',
	CASE WHEN digest <> (SELECT md5(coalesce(string_agg(hashtext(k::text)::text, ' ' ORDER BY k), ''))
		FROM (SELECT (i * 7919) % 20011 AS k FROM generate_series(0, n - 1) i) numbers) THEN 'WRONG ORDER' END)
FROM ptsort_test_parallel(NULL, fill => n, workers => workers, slices => slices, reads => CASE WHEN slices THEN n ELSE 1000000000 END) $$;
SELECT onecall_numbers(n, 0, false), onecall_numbers(n, 2, false), onecall_numbers(n, 2, true) FROM unnest('{0, 1, 20000}'::int[]) n;
DELETE FROM onecall WHERE k IS NULL;
SELECT onecall(:by_k, 'datum', 2, hold_back => true), onecall(:by_k, 'datum', 0, hold_back => true);
SELECT tuples, rows, digest = (SELECT md5(string_agg(hashtext(k::text)::text, ' ' ORDER BY k))
	FROM (SELECT k FROM onecall UNION ALL SELECT (i * 7919) % 20011 FROM generate_series(0, 999) i) both_sources) AS same
FROM ptsort_test_parallel('onecall', '{k}', '{"<(int8,int8)"}', 'datum', fill => 1000);

-- a stream that the caller does not read to its end
SELECT participants, tuples, digest = (SELECT md5(string_agg(hashtext(k::text)::text, ' ' ORDER BY k))
	FROM (SELECT k FROM onecall ORDER BY k LIMIT 10) first) AS same
FROM ptsort_test_parallel('onecall', '{k}', '{"<(int8,int8)"}', reads => 10);

-- begin is the only callback: ptsort puts the rows unchanged
SELECT participants, tuples FROM ptsort_test_parallel('onecall', '{k}', '{"<(int8,int8)"}', ops => 'ptsort_test_parallel_least');

-- errors in callbacks leave nothing behind, and the next sort is right
\set VERBOSITY terse
CREATE FUNCTION onecall_fails(fail text, slices bool DEFAULT false, workers int DEFAULT 2) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ptsort_test_parallel('onecall', '{k}', '{"<(int8,int8)"}', 'datum', workers => workers, slices => slices,
		fail => fail, reads => 1000);
	RETURN 'no error';
EXCEPTION WHEN internal_error THEN
	RETURN SQLERRM;
END $$;
SELECT onecall_fails(fail), onecall_fails(fail, workers => 0)
FROM unnest('{begin leader, shared_init leader, fill leader, no sort}'::text[]) fail;
SET ptsort_test.leader_participates = off;
SELECT onecall_fails(fail), onecall_fails(fail, slices => true)
FROM unnest('{begin worker, put worker, fill worker}'::text[]) fail;
RESET ptsort_test.leader_participates;
SELECT onecall_fails('put leader', workers => 0), onecall_fails('read_slices leader', true), onecall_fails('read_slices worker', true),
	onecall_fails('no slices', true), onecall_fails('no slices', true, workers => 0);
-- processes that do not read all tuples of their slices
SELECT onecall_fails('', true), onecall_fails('', true, workers => 0);
SELECT onecall(:by_k);
SELECT ptsort_test_temp_files();

-- invalid requests
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT ptsort_test_parallel('onecall', '{k}', '{"<(int8,int8)"}', ops => 'ptsort_test_parallel_none');
SELECT ptsort_test_parallel(NULL, ops => 'ptsort_test_parallel_least');
SELECT ptsort_test_parallel(NULL, ops => 'ptsort_test_parallel_table');
SELECT ptsort_test_parallel(NULL, ops => 'ptsort_test_build_none');
CREATE VIEW onecall_query AS SELECT * FROM onecall;
SELECT ptsort_test_parallel('onecall_query', '{k}', '{"<(int8,int8)"}');
-- a sort of values without a callback that puts values
SELECT ptsort_test_parallel('onecall', '{k}', '{"<(int8,int8)"}', 'datum', ops => 'ptsort_test_parallel_least');

DROP FUNCTION onecall, onecall_numbers, onecall_fails, onecall_text;
DROP VIEW onecall_query;
DROP MATERIALIZED VIEW onecall_view;
DROP TABLE onecall, onecall_words, onecall_keys, onecall_none, onecall_serial;
