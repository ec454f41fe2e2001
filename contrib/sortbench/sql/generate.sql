-- Generates files of the benchmark's records.  The checksums of the first
-- million records are those of gensort 1.5, and of kind terasort the published
-- checksum of TeraValidate for 100 MB.
SELECT kind, try(format($$SELECT sortbench_generate('@a@', 1000000, 0, '%s', true, false)$$, kind)), try($$SELECT checksum FROM sortbench_validate('{@a@}')$$)
FROM unnest('{uniform,skewed,ascii,ascii skewed,terasort}'::text[]) kind;
SELECT n, encode(record, 'escape') FROM records('a') LIMIT 2;

-- A file that begins with record 2000 has the same records as a whole file has
-- from there on.
SELECT kind, try(format($$SELECT sortbench_generate('@a@', 3000, 0, '%s', true)$$, kind)), try(format($$SELECT sortbench_generate('@b@', 1000, 2000, '%s', true)$$, kind)),
	(SELECT bool_and(a.record = b.record) FROM records('a') a JOIN records('b') b ON a.n = b.n + 2000)
FROM unnest('{uniform,skewed,ascii,ascii skewed,terasort}'::text[]) kind;

-- A file without records.
SELECT try($$SELECT sortbench_generate('@b@', 0, overwrite => true)$$), try($$SELECT * FROM sortbench_validate('{@b@}')$$);

-- Invalid arguments.
SELECT arguments, split_part(try(format($$SELECT sortbench_generate('@b@', %s)$$, arguments)), E'\n', 1)
FROM unnest(ARRAY['1', '-1, overwrite => true', '1, -1, overwrite => true', '1::int8 << 56, overwrite => true', $$1, 0, 'normal', true$$]) arguments;
SELECT try($$SELECT sortbench_generate('@b@', 1::int8 << 55, overwrite => true)$$) ~ 'could not reserve 3602879701896396800 bytes for file "@b@": (File too large|No space left on device)';
SELECT try($$SELECT sortbench_remove('@a@')$$), try($$SELECT sortbench_remove('@a@')$$), try($$SELECT sortbench_remove('@b@')$$);
