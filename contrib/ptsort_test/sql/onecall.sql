-- ptsort_parallel(): sorts rows of a table and values of a callback, and builds
-- indexes, as streams and in slices, with and without workers.  The test function checks every call of a
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
	hold_back bool DEFAULT false, budget_kb int DEFAULT 8192, tab regclass DEFAULT 'onecall', index regclass DEFAULT NULL,
	leader text DEFAULT 'on', max_workers int DEFAULT 8, spill int DEFAULT 0)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int8;
	expected text;
	r record;
BEGIN
	PERFORM set_config('ptsort_test.leader_participates', leader, true), set_config('max_parallel_workers', max_workers::text, true),
		set_config('ptsort_test.spill_entries', spill::text, true);
	EXECUTE format('SELECT count(*), md5(coalesce(string_agg(hashtext(concat_ws(''|'', %s))::text, '' '' ORDER BY %s), '''')) FROM %s',
		array_to_string(keys, ', '), order_by, tab) INTO n, expected;
	SELECT * INTO r FROM ptsort_test_parallel(tab, keys, operators, variant, 0, hold_back, slices, workers,
		budget_kb, nested, '', CASE WHEN slices THEN n ELSE 1000000000 END, NULL, index);
	RETURN concat_ws(', ', r.participants || ' participants', r.filled_slices || ' slices',
		CASE WHEN r.rows <> n OR r.tuples <> n THEN 'WRONG COUNT' END,
		CASE WHEN r.digest <> expected THEN 'WRONG ORDER' END);
END $$;

-- keys of all kinds; sorts in memory, and with runs in files
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
SELECT spill, onecall(keys, operators, order_by, variant, 0, budget_kb => kb, spill => spill) AS alone,
	onecall(keys, operators, order_by, variant, budget_kb => parallel_kb, spill => spill) AS stream,
	onecall(keys, operators, order_by, variant, slices => true, budget_kb => parallel_kb, spill => spill) AS slices, count(*) AS keys
FROM onecall_keys, (VALUES (0, 8192, 8192), (1000, 1024, 3072)) b (spill, kb, parallel_kb)
GROUP BY 1, 2, 3, 4 ORDER BY 1;

-- Different numbers of participants, without the leader, without free workers, and
-- in parallel mode; then tables of other kinds (one with a table access method
-- without parallel scans), and an empty table.
CREATE TEMP TABLE onecall_temp AS SELECT * FROM onecall;
CREATE MATERIALIZED VIEW onecall_view AS SELECT * FROM onecall;
CREATE TABLE onecall_serial USING ptsort_test_serial AS SELECT * FROM onecall;
CREATE TABLE onecall_none (LIKE onecall);
\set by_k '\'{k}\', \'{"<(int8,int8)"}\', \'k\''
SELECT leader, max_workers, workers, nested, tab, onecall(:by_k, workers => workers, nested => nested, tab => tab, leader => leader, max_workers => max_workers) AS stream,
	CASE WHEN NOT nested THEN onecall(:by_k, workers => workers, slices => true, tab => tab, leader => leader, max_workers => max_workers) END AS slices
FROM (VALUES ('on', 8, 0, false, 'onecall'::regclass), ('off', 8, 0, false, 'onecall'), ('off', 8, 2, false, 'onecall'),
	('on', 1, 2, false, 'onecall'), ('on', 0, 2, false, 'onecall'), ('on', 8, 2, true, 'onecall'), ('on', 8, 2, false, 'onecall_temp'),
	('on', 8, 2, false, 'onecall_view'), ('on', 8, 2, false, 'onecall_serial'), ('on', 8, 2, false, 'onecall_none'))
	v (leader, max_workers, workers, nested, tab);

-- index builds
CREATE INDEX onecall_k ON onecall (k);
CREATE INDEX onecall_none_k ON onecall_none (k);
SELECT leader, max_workers, workers, tab,
	onecall(:by_k, 'datum', workers, tab => tab, index => index, leader => leader, max_workers => max_workers, spill => spill) AS stream,
	onecall(:by_k, 'datum', workers, true, tab => tab, index => index, leader => leader, max_workers => max_workers, spill => spill) AS slices,
	count(*) AS budgets
FROM (VALUES ('on', 8, 0, 'onecall'::regclass, 'onecall_k'::regclass), ('on', 8, 2, 'onecall', 'onecall_k'), ('off', 8, 2, 'onecall', 'onecall_k'),
	('on', 0, 2, 'onecall', 'onecall_k'), ('on', 8, 0, 'onecall_none', 'onecall_none_k'), ('on', 8, 2, 'onecall_none', 'onecall_none_k'))
	v (leader, max_workers, workers, tab, index), unnest('{0,3000}'::int[]) spill
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 4, 1, 2, 3;

-- Sorts of text use words, which one participant learns for all participants.
-- Without the collation's tables, the sorts use the server's abbreviated keys; with
-- keys of class "compared", the sorts use only comparisons.  (Without
-- ptsort_test.learn_tuples, these sorts would not learn.)
CREATE TABLE onecall_words AS SELECT md5(i::text) COLLATE "en-x-icu" AS w, 'row ' || i AS pad FROM generate_series(1, 20000) i;
CREATE FUNCTION onecall_text(workers int)
RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(', ', participants || ' participants', CASE WHEN digest = expected THEN 'right' ELSE 'WRONG' END,
	CASE WHEN comparisons < 2000 THEN 'few' ELSE 'many' END || ' comparisons')
FROM ptsort_test_parallel('onecall_words', '{w}', '{"<(text,text)"}', 'tuple', workers => workers),
	(SELECT md5(string_agg(hashtext(w)::text, ' ' ORDER BY w)) AS expected FROM onecall_words) sorted $$;
SELECT slices, spill, tables, class, onecall_text(workers)
FROM (VALUES (12, 0, 'on', 'auto', 0), (12, 0, 'on', 'auto', 2), (12, 0, 'on', 'auto', 3), (1, 0, 'on', 'auto', 0), (1, 0, 'on', 'auto', 2),
	(12, 700, 'on', 'auto', 2), (12, 0, 'off', 'auto', 2), (12, 0, 'on', 'compared', 2)) v (slices, spill, tables, class, workers),
	set_config('ptsort_test.slices', slices::text, true) a, set_config('ptsort_test.spill_entries', spill::text, true) b,
	set_config('ptsort.use_collation_tables', tables, true) c, set_config('ptsort_test.key_class', class, true) d,
	set_config('ptsort_test.learn_tuples', '0', true) e;

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
SELECT onecall_numbers(n, 0, false) AS alone, onecall_numbers(n, 2, false) AS stream, onecall_numbers(n, 2, true) AS slices FROM unnest('{0, 1, 20000}'::int[]) n;
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

-- errors in callbacks, callbacks that do not do their work, and invalid requests
-- leave nothing behind, and the next sort is right
CREATE VIEW onecall_query AS SELECT * FROM onecall;
CREATE FUNCTION onecall_fails(fail text, slices bool DEFAULT false, workers int DEFAULT 2, index regclass DEFAULT NULL,
	reads int8 DEFAULT 1000, ops text DEFAULT NULL, tab regclass DEFAULT 'onecall') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ptsort_test_parallel(tab, '{k}', '{"<(int8,int8)"}', 'datum', workers => workers, slices => slices,
		fail => fail, reads => reads, index => index, ops => 'ptsort_test_parallel_' || ops);
	RETURN 'NO ERROR';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
SELECT onecall_fails(fail) AS error, onecall_fails(fail, workers => 0) AS alone
FROM unnest('{begin leader, shared_init leader, fill leader, no sort}'::text[]) fail;
SET ptsort_test.leader_participates = off;
SELECT onecall_fails(fail) AS stream, onecall_fails(fail, slices => true) AS slices
FROM unnest('{begin worker, put worker, fill worker}'::text[]) fail;
RESET ptsort_test.leader_participates;
SELECT onecall_fails('put leader', workers => 0) AS error
UNION ALL SELECT onecall_fails('read_slices leader', true)
UNION ALL SELECT onecall_fails('read_slices worker', true);
SELECT fail, slices, reads, onecall_fails(fail, slices, 0, index, reads) AS alone, onecall_fails(fail, slices, 2, index, reads) AS parallel, count(*) AS sources
FROM (VALUES ('no slices', true, 20010), ('first tuples', true, 20010), ('', true, 1000), ('alone', true, 20010), ('alone', false, 20010))
		f (fail, slices, reads), unnest('{onecall_k,NULL}'::regclass[]) index
GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3;
-- a build whose stream is not read
SELECT onecall_fails('', false, workers, 'onecall_k', 0) AS error FROM unnest('{0,2}'::int[]) workers;
SELECT ops, onecall_fails('', false, workers, index, 0, ops, tab) AS error
FROM (VALUES ('no_begin', 2, NULL::regclass, 'onecall'::regclass), ('none', 2, NULL, NULL), ('least', 2, NULL, NULL), ('table', 2, NULL, NULL),
	('table', 2, NULL, 'onecall_query'), ('least', 2, NULL, 'onecall'), ('no_callback', 0, 'onecall_k', 'onecall'), ('least', 2, 'onecall_k', 'onecall'),
	('index_no_begin', 2, 'onecall_k', 'onecall'), ('index_put', 0, 'onecall_k', 'onecall'), ('index_both', 0, 'onecall_k', 'onecall'),
	('index_no_size', 0, 'onecall_k', 'onecall')) v (ops, workers, index, tab);
SELECT onecall(:by_k);
SELECT ptsort_test_temp_files();
\set VERBOSITY terse
SELECT ptsort_test_parallel(NULL, ops => '');

DROP FUNCTION onecall, onecall_numbers, onecall_fails, onecall_text;
DROP VIEW onecall_query;
DROP MATERIALIZED VIEW onecall_view;
DROP TABLE onecall, onecall_words, onecall_keys, onecall_none, onecall_serial;
