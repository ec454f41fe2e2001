\echo Use "ALTER EXTENSION ptsort UPDATE TO '1.1.0'" to load this file. \quit

-- A build has a few participants, not the thousand rows that the planner
-- expects of a function.
ALTER FUNCTION ptsort_last_build() ROWS 10;
