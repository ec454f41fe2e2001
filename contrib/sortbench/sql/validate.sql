-- Validates files with records of 3 bytes and a key of 1 byte.
SELECT write_file('a', 'aaxabybaxbbybczbcz'), write_file('b', 'caxbcz');
SELECT try($$SELECT * FROM sortbench_validate('{@a@}', 0, 3, 0, 1)$$) AS first,
	try($$SELECT * FROM sortbench_validate('{@a@}', 0, 3, 0, 3)$$) AS whole,
	try($$SELECT * FROM sortbench_validate('{@a@}', 0, 3, 1, 1)$$) AS second,
	try($$SELECT * FROM sortbench_validate('{@a@,@b@}', 2, 3, 0, 1)$$) AS both,
	try($$SELECT * FROM sortbench_validate('{@b@}', 1, 3, keys => '{0 1 desc}')$$) AS descending;

-- One process and several processes give the same result, also at borders of
-- pieces.
SELECT try($$SELECT sortbench_generate('@a@', 100000, overwrite => true)$$);
SELECT DISTINCT try(format($$SELECT * FROM sortbench_validate('{@a@}', %s)$$, workers)) FROM generate_series(0, 4) workers;
WITH r AS (SELECT substr(record, 1, 10) AS key, lag(substr(record, 1, 10)) OVER (ORDER BY n) AS before FROM records('a'))
SELECT count(*), count(*) FILTER (WHERE key < before) AS unordered FROM r;

-- Large records: each read gets only five records.  Also passes a null
-- argument.
SELECT try($$SELECT * FROM sortbench_validate('{@a@}', 1, 50000, 0, 4)$$);
WITH r AS (SELECT substr(record, 1, 4) AS key, lag(substr(record, 1, 4)) OVER (ORDER BY n) AS before FROM records('a', 50000))
SELECT count(*), count(*) FILTER (WHERE key < before) AS unordered FROM r;
SELECT try($$SELECT * FROM sortbench_validate('{@a@}', NULL)$$);
SELECT try($$SELECT sortbench_remove('@a@') AND sortbench_remove('@b@')$$);
