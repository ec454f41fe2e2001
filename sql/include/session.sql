-- For the tests that want ptsort in their session, also for the smallest tables.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ptsort;
LOAD 'ptsort';
SET ptsort.min_table_size = 0;
