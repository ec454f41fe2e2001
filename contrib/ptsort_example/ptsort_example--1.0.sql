\echo Use "CREATE EXTENSION ptsort_example" to load this file. \quit

-- The median of an array of bigints (the upper one of two), nulls ignored.
CREATE FUNCTION sorted_median(pg_catalog.int8[]) RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
