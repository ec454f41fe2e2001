-- Generates files of the benchmark's records.  t/001_judge.pl compares all
-- bytes with those that judge.py computes.  The checksums of the first million
-- records are those of gensort 1.5.  The checksum of kind terasort is the
-- published checksum of TeraValidate for 100 MB.
SELECT kind, try(format($$SELECT sortbench_generate('@a@', 1000000, 0, '%s', true, false)$$, kind)), try($$SELECT checksum FROM sortbench_validate('{@a@}')$$)
FROM unnest('{uniform,skewed,ascii,ascii skewed,terasort}'::text[]) kind;
SELECT n, encode(record, 'escape') FROM records('a') LIMIT 3;

-- A file that begins with record 2000 has the same records as a whole file has
-- from there on.
SELECT try($$SELECT sortbench_generate('@a@', 3000, overwrite => true)$$),
	try($$SELECT sortbench_generate('@b@', 1000, 2000)$$);
SELECT count(*), bool_and(a.record = b.record) FROM records('a') a JOIN records('b') b ON a.n = b.n + 2000;

-- Records of kinds ascii, skewed and ascii skewed.
SELECT try($$SELECT sortbench_generate('@b@', 3000, 0, 'ascii', true)$$);
SELECT replace(convert_from(record, 'UTF8'), E'\r\n', '|') FROM records('b') LIMIT 3;
SELECT try($$SELECT sortbench_generate('@b@', 3000, 0, 'skewed', true)$$);
SELECT count(*), count(*) FILTER (WHERE a.record = b.record) AS same, bool_and(substr(a.record, 7) = substr(b.record, 7)) FROM records('a') a JOIN records('b') b USING (n);
SELECT substr(record, 1, 6), count(*) FROM records('b') GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 4;
SELECT try($$SELECT sortbench_generate('@b@', 3000, 1000, 'ascii skewed', true)$$);
SELECT convert_from(substr(record, 1, 6), 'UTF8') AS key, count(*) FROM records('b') GROUP BY 1 ORDER BY 2 DESC, convert_from(substr(record, 1, 6), 'UTF8') COLLATE "C" LIMIT 3;

-- A file without records.
SELECT try($$SELECT sortbench_generate('@b@', 0, overwrite => true)$$), try($$SELECT * FROM sortbench_validate('{@b@}')$$);

-- Invalid arguments.
SELECT try($$SELECT sortbench_generate('@b@', 1)$$);
SELECT try($$SELECT sortbench_generate('@b@', -1, overwrite => true)$$);
SELECT try($$SELECT sortbench_generate('@b@', 1, -1, overwrite => true)$$);
SELECT try($$SELECT sortbench_generate('@b@', 1::int8 << 56, overwrite => true)$$);
SELECT try($$SELECT sortbench_generate('@b@', 1, 0, 'normal', true)$$);
SELECT try($$SELECT sortbench_generate('@b@', 1::int8 << 55, overwrite => true)$$) ~ 'could not reserve 3602879701896396800 bytes for file "@b@": (File too large|No space left on device)';
SELECT try($$SELECT sortbench_remove('@a@')$$), try($$SELECT sortbench_remove('@a@')$$), try($$SELECT sortbench_remove('@b@')$$);
