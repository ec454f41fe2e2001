-- Values that ptsort refuses in WITH (parallel_workers = ...): the messages
-- equal the server's messages for the same option of a table, and no index is
-- built.
\getenv source PG_ABS_SRCDIR
\i :source/sql/include/session.sql
CREATE TABLE errors_with (a int, b int);
INSERT INTO errors_with SELECT i, i FROM generate_series(1, 1000) i;

-- the server's own errors, for comparison
CREATE TABLE errors_server (a int) WITH (parallel_workers = -1);
CREATE TABLE errors_server (a int) WITH (parallel_workers = 1025);
CREATE TABLE errors_server (a int) WITH (parallel_workers = x);
CREATE TABLE errors_server (a int) WITH (parallel_workers);
CREATE TABLE errors_server (a int) WITH (parallel_workers = 1, parallel_workers = 2);
CREATE TABLE errors_server (a int) WITH (parallel_workers = '2 MB');
CREATE TABLE errors_server (a int) WITH (parallel_workers = 99999999999);

-- ptsort's errors
CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers = -1);
CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers = 1025);
CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers = x);
CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers);
CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers = 1, parallel_workers = 2);
CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers = '2 MB');
CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers = 99999999999);
CREATE INDEX CONCURRENTLY errors_i ON errors_with (a) WITH (parallel_workers = -1);
CREATE INDEX IF NOT EXISTS errors_i ON errors_with (a) WITH (parallel_workers = -1);
ALTER TABLE errors_with ADD PRIMARY KEY (a) WITH (parallel_workers = -1);
ALTER TABLE errors_with ADD UNIQUE (a) WITH (parallel_workers = 2), ADD UNIQUE (b) WITH (parallel_workers = x);
ALTER TABLE errors_with ADD c int UNIQUE WITH (parallel_workers = 1025);
ALTER TABLE errors_with ADD EXCLUDE USING btree (a WITH =) WITH (parallel_workers = 1, parallel_workers = 1);
CREATE TABLE errors_table (a int PRIMARY KEY WITH (parallel_workers = -1));

-- SQLSTATEs of the server and of ptsort, which are equal
DO $$
DECLARE
	command text;
BEGIN
	FOREACH command IN ARRAY ARRAY[
		'CREATE TABLE errors_server (a int) WITH (parallel_workers = -1)',
		'CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers = -1)',
		'CREATE TABLE errors_server (a int) WITH (parallel_workers = x)',
		'CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers = x)',
		'CREATE TABLE errors_server (a int) WITH (parallel_workers = 1, parallel_workers = 1)',
		'CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers = 1, parallel_workers = 1)']
	LOOP
		BEGIN
			EXECUTE command;
		EXCEPTION WHEN OTHERS THEN
			RAISE WARNING '%: %', sqlstate, sqlerrm;
		END;
	END LOOP;
END$$;

-- ptsort must not accept parallel_workers in these statements
CREATE INDEX errors_i ON errors_with USING hash (a) WITH (parallel_workers = 2);
CREATE INDEX errors_i ON errors_with USING brin (a) WITH (parallel_workers = 2);
CREATE INDEX errors_i ON errors_with (a) WITH (toast.parallel_workers = 2);
CREATE INDEX errors_i ON errors_with (a) WITH ("Parallel_Workers" = 2);
ALTER TABLE errors_with ADD EXCLUDE USING hash (a WITH =) WITH (parallel_workers = 2);

-- no index was built, and ALTER INDEX cannot store the option later either
SELECT relname FROM pg_class WHERE relname LIKE 'errors\_%' ORDER BY 1;
SELECT * FROM ptsort_last_build();
CREATE INDEX errors_i ON errors_with (a) WITH (parallel_workers = '2', fillfactor = 90);
ALTER INDEX errors_i SET (parallel_workers = 2);
ALTER INDEX errors_i RESET (parallel_workers);
SELECT reloptions FROM pg_class WHERE relname = 'errors_i';

DROP TABLE errors_with;
