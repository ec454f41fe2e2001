\set echo :ECHO
\set ECHO none
-- For tests that use ptsort in their session, even for the smallest tables.
-- ptsort_test has the settings that force a path.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ptsort;
LOAD 'ptsort';
LOAD 'ptsort_test';
SET ptsort.min_table_size = 0;
\pset format unaligned \pset footer off
\set ECHO :echo
