-- Errors about files and privileges.
SELECT try($$SELECT sortbench_generate('@in@', 1000)$$), try($$SELECT sortbench_generate('@out@', 10)$$), digest('out');
SELECT write_file('odd', 'abc');
SELECT try($$SELECT * FROM sortbench_sort('{@nothing@}', '{@new@}')$$);
SELECT try($$SELECT * FROM sortbench_sort('{@odd@}', '{@new@}')$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@,@in@}', '{@new@}')$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@new@,@new@}')$$);
SELECT try(format($$SELECT * FROM sortbench_sort('{@in@}', '{@new@,%s}')$$, replace(place('new'), '/sortbench', '/base/..//sortbench')));
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@in@}')$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@out@}')$$);
SELECT try($$SELECT * FROM sortbench_sort('{}', '{@new@}')$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{}')$$);
SELECT try($$SELECT * FROM sortbench_sort('{NULL}', '{@new@}')$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{new}')$$);
SELECT try(format($$SELECT * FROM sortbench_sort('{@in@}', '{%s}')$$, current_setting('data_directory') || '/base'));
SELECT try(format($$SELECT * FROM sortbench_sort('{%s}', '{@new@}')$$, current_setting('data_directory') || '/base'));
SELECT try(format($$SELECT * FROM sortbench_sort('{@in@}', '{%s}')$$, current_setting('data_directory') || '/nothing/new'));
SELECT try('SELECT * FROM sortbench_sort(''{@in@}'', ''{/proc/new}'')');
SELECT try(format('SELECT * FROM sortbench_sort(''{@in@}'', ''{/%s}'')', repeat('x', 1000))) ~ 'is too long$';
SELECT try(format('SELECT * FROM sortbench_sort(''{@in@}'', ''{/%s}'')', repeat('x', 300))) ~ 'File name too long$';
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@new@}', workers => -1)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@new@}', workers => 65)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@new@}', passes => 3)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@new@}', key_length => 20, passes => 1)$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@new@}', memory => 'much')$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@new@}', memory => '1 month')$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@new@}', memory => '1MB')$$);
SELECT try($$SELECT * FROM sortbench_sort('{@in@}', '{@new@}', memory => '1600 kB', workers => 0, passes => 1)$$);
SELECT try($$SELECT sortbench_remove('@nothing@/')$$), try($$SELECT sortbench_remove('/')$$);

-- Privileges.
CREATE ROLE sortbench_other;
GRANT ALL ON SCHEMA public TO sortbench_other;
SET ROLE sortbench_other;
SELECT sortbench_generate('/nowhere/a', 1);
SELECT sortbench_validate('{/nowhere/a}');
SELECT sortbench_sort('{/nowhere/a}', '{/nowhere/b}');
SELECT sortbench_remove('/nowhere/a');
SELECT datamation('/nowhere');
RESET ROLE;
GRANT pg_read_server_files TO sortbench_other;
SET ROLE sortbench_other;
SELECT sortbench_validate('{/nowhere/a}');
SELECT sortbench_generate('/nowhere/a', 1);
RESET ROLE;
GRANT pg_write_server_files TO sortbench_other;
SET ROLE sortbench_other;
SELECT sortbench_generate('/nowhere/a', 1);
SELECT sortbench_sort('{/nowhere/a}', '{/nowhere/b}');
RESET ROLE;
REVOKE ALL ON SCHEMA public FROM sortbench_other;
DROP ROLE sortbench_other;

-- The failed calls leave no files.
SELECT name FROM pg_ls_dir(current_setting('data_directory')) name WHERE name LIKE 'sortbench%' ORDER BY name COLLATE "C";
SELECT digest('out');
SELECT count(sortbench_remove(place(f))) FROM unnest('{in,out,odd}'::text[]) f;
