-- Validates files with records of 3 bytes and a key of 1 byte.
SELECT write_file('a', 'aaxabybaxbbybczbcz'), write_file('b', 'caxbcz');
SELECT paths, arguments, try(format($$SELECT * FROM sortbench_validate('{%s}', %s)$$, paths, arguments))
FROM (VALUES ('@a@', '3, 0, 1'), ('@a@', '3, 0, 3'), ('@a@', '3, 1, 1'), ('@a@,@b@', '3, 0, 1'), ('@a@', 'NULL')) c (paths, arguments);

-- Validates a file that takes many reads.
SELECT try($$SELECT sortbench_generate('@a@', 100000, overwrite => true)$$);
SELECT try($$SELECT * FROM sortbench_validate('{@a@}')$$);
WITH r AS (SELECT substr(record, 1, 10) AS key, lag(substr(record, 1, 10)) OVER (ORDER BY n) AS before FROM records('a'))
SELECT count(*), count(*) FILTER (WHERE key < before) AS unordered FROM r;
SELECT try($$SELECT sortbench_remove('@a@') AND sortbench_remove('@b@')$$);
