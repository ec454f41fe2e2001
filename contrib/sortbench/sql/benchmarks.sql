-- Runs the benchmarks with a limited size and ample time, so that the results
-- do not depend on the speed of the machine.
SELECT step, ms >= 0 FROM datamation(current_setting('data_directory'));
SELECT records, bytes, elapsed_seconds > 0, passes_made, fits FROM minutesort(current_setting('data_directory'), 1e6, 2, '6MB', 20000000);
SELECT fits, count(*) > 0 FROM minutesort(current_setting('data_directory'), 1e-6, max_bytes => 200000) GROUP BY fits;
SELECT seconds, records, bytes, elapsed_seconds > 0, passes_made FROM pennysort(current_setting('data_directory'), 2000, max_bytes => 200000);
SELECT seconds, records FROM pennysort(current_setting('data_directory'), 1e12, 1, max_bytes => 200000);
SELECT call, try('SELECT * FROM ' || replace(call, '@', '''' || current_setting('data_directory') || ''''))
FROM unnest('{"minutesort(@, 0)","minutesort(@, max_bytes => 99)","minutesort(@, workers => NULL)","minutesort(@, workers => 65)","pennysort(@, 0)","pennysort(@, NULL)","datamation(@, -1)"}'::text[]) call;
SELECT name FROM pg_ls_dir(current_setting('data_directory')) name WHERE name ~ '(datamation|minutesort|sortbench)';
DROP FUNCTION place, try, records, write_file, digest;
DROP EXTENSION sortbench;
