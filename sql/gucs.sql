-- The settings: their definitions, their effects, and values out of range.
\pset format unaligned \pset footer off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ptsort;
LOAD 'ptsort';

SELECT name, context, vartype, unit, boot_val, min_val, max_val, short_desc
FROM pg_settings
WHERE name IN ('ptsort.enable', 'ptsort.parallel_workers', 'ptsort.min_table_size', 'ptsort.use_collation_tables',
	'ptsort.log_build', 'ptsort.sort', 'ptsort.min_sort_rows', 'ptsort.log_sort', 'ptsort.indexes_per_scan')
ORDER BY name;
-- ptsort has no other settings; contrib/ptsort_test has the settings for tests
SELECT name FROM pg_settings
WHERE name LIKE 'ptsort.%'
	AND name NOT IN ('ptsort.enable', 'ptsort.parallel_workers', 'ptsort.min_table_size', 'ptsort.use_collation_tables',
	'ptsort.log_build', 'ptsort.sort', 'ptsort.min_sort_rows', 'ptsort.log_sort', 'ptsort.indexes_per_scan',
	'ptsort.disk_reserve', 'ptsort.max_wal_rate', 'ptsort.max_io_rate', 'ptsort.max_replica_lag', 'ptsort.lag_replicas');

-- the prefix is reserved
SET ptsort.nonsense = 1;
-- out of range
SET ptsort.parallel_workers = -2;
SET ptsort.parallel_workers = 1025;
SET ptsort.parallel_workers = many;
-- (the message differs between server versions)
\set VERBOSITY sqlstate
SET ptsort.min_table_size = -1;
SET ptsort.min_sort_rows = -1;
SET ptsort.min_sort_rows = 2147483648;
SET ptsort.disk_reserve = -2;
SET ptsort.max_wal_rate = -1;
SET ptsort.max_io_rate = -1;
SET ptsort.max_replica_lag = -1;
SET ptsort.lag_replicas = 'a b';
\set VERBOSITY default
SET ptsort.enable = perhaps;
SET ptsort.sort = everything;
-- the limits of the range
SET ptsort.parallel_workers = 1024;
SET ptsort.parallel_workers = -1;
SET ptsort.min_table_size = '1TB';
SHOW ptsort.min_table_size;
RESET ptsort.min_table_size;
SHOW ptsort.min_table_size;
SET ptsort.min_sort_rows = 2147483647;
RESET ptsort.min_sort_rows;
SET ptsort.sort = TEXT;
SHOW ptsort.sort;
RESET ptsort.sort;

-- the settings decide which builds ptsort does
CREATE TABLE gucs (a int);
INSERT INTO gucs SELECT generate_series(1, 5000);
CREATE INDEX gucs_too_small ON gucs (a);
SELECT count(*) FROM ptsort_last_build();
SET ptsort.min_table_size = '100kB';
SET ptsort.enable = off;
CREATE INDEX gucs_off ON gucs (a);
SELECT count(*) FROM ptsort_last_build();
SET ptsort.enable = on;
SET ptsort.parallel_workers = 0;
CREATE INDEX gucs_serial ON gucs (a);
SELECT index_name, participant, role FROM ptsort_last_build();
RESET ptsort.parallel_workers;

-- a client whose client_min_messages is above DEBUG1 gets no line about builds
-- (t/004_log_lines.pl tests the other cases)
SET client_min_messages = log;
SET ptsort.enable = off;
REINDEX INDEX gucs_off;
SET ptsort.log_build = on;
REINDEX INDEX gucs_off;
SET client_min_messages = warning;

RESET ptsort.enable;
RESET ptsort.min_table_size;
RESET ptsort.log_build;
DROP TABLE gucs;
