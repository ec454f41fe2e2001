-- Errors about arguments, files and privileges.  (For names that are too long,
-- SQLSTATE is XX000 before 18, and 58P03 since.)
SELECT try($$SELECT sortbench_generate('@in@', 1000)$$), try($$SELECT sortbench_generate('@out@', 10)$$), digest('out');
SELECT write_file('odd', 'abc');
CREATE TABLE mistakes (n serial, inputs text, outputs text, arguments text);
INSERT INTO mistakes (inputs, outputs, arguments) VALUES
	('@nothing@', '@new@', '1'), ('@odd@', '@new@', '1'), ('@in@,@in@', '@new@', '1'), ('@in@', '@new@,@new@', '1'),
	('@in@', '@new@,' || replace(place('new'), '/sortbench', '/base/..//sortbench'), '1'),
	('@in@', '@in@', '1'), ('@in@', '@out@', '1'), ('', '@new@', '1'), ('@in@', '', '1'), ('NULL', '@new@', '1'), ('@in@', 'new', '1'),
	('@in@', '@new@' || repeat(',@new@', 32), '1'),
	('@in@', current_setting('data_directory') || '/base', '1'), (current_setting('data_directory') || '/base', '@new@', '1'),
	('@in@', current_setting('data_directory') || '/nothing/new', '1'), ('@in@', '/proc/new', '1'),
	('@in@', '/' || repeat('x', 300), '1'), ('@in@', '/' || repeat('x', 1000), '1'),
	('@in@', '@new@', 'workers => -1'), ('@in@', '@new@', 'workers => 65'),
	('@in@', '@new@', 'passes => 3'), ('@in@', '@new@', 'key_length => 20, passes => 1'),
	('@in@', '@new@', 'memory => ''much'''), ('@in@', '@new@', 'memory => ''1 month'''), ('@in@', '@new@', 'memory => ''-1 kB'''),
	('@in@', '@new@', 'memory => ''1MB'''), ('@in@', '@new@', 'memory => ''1600 kB'', workers => 0, passes => 1'),
	('@in@', '@new@', 'record_size => 0'), ('@in@', '@new@', 'record_size => 65537'),
	('@in@', '@new@', 'key_offset => 91'), ('@in@', '@new@', 'key_offset => -1'), ('@in@', '@new@', 'key_length => 0'), ('@in@', '@new@', 'key_length => 2147483647');
SELECT regexp_replace(replace(outputs, current_setting('data_directory'), '@data@'), '(x|,@new@){30,}', '...') AS outputs, arguments,
	regexp_replace(replace(try(format('SELECT * FROM sortbench_sort(''{%s}'', ''{%s}'', %s)', inputs, outputs, arguments)), '58P03: could not stat', 'XX000: could not stat'), 'x{30,}', '...') AS error
FROM mistakes ORDER BY n;
DROP TABLE mistakes;
SELECT try($$SELECT sortbench_remove('@nothing@/')$$), try($$SELECT sortbench_remove('/')$$);

-- Privileges.
CREATE ROLE sortbench_other IN ROLE pg_read_all_settings;
GRANT ALL ON SCHEMA public TO sortbench_other;
CREATE FUNCTION try_all() RETURNS SETOF text LANGUAGE sql
RETURN try(unnest(ARRAY['SELECT sortbench_generate(''/nowhere/a'', 1)', 'SELECT sortbench_validate(''{/nowhere/a}'')',
	'SELECT sortbench_sort(''{/nowhere/a}'', ''{/nowhere/b}'')', 'SELECT sortbench_remove(''/nowhere/a'')', 'SELECT datamation(''/nowhere'')']));
SET ROLE sortbench_other;
SELECT try_all();
RESET ROLE;
GRANT pg_read_server_files TO sortbench_other;
SET ROLE sortbench_other;
SELECT try_all();
RESET ROLE;
REVOKE ALL ON SCHEMA public FROM sortbench_other;
DROP ROLE sortbench_other;
DROP FUNCTION try_all;

-- The failed calls leave no files.
SELECT name FROM pg_ls_dir(current_setting('data_directory')) name WHERE name LIKE 'sortbench%' ORDER BY name COLLATE "C";
SELECT digest('out');
SELECT count(sortbench_remove(place(f))) FROM unnest('{in,out,odd}'::text[]) f;
