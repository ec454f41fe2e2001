\echo Use "CREATE EXTENSION ptsort_example" to load this file. \quit

-- The median of an array of bigints (the upper one of two), nulls ignored.
CREATE FUNCTION sorted_median(pg_catalog.int8[]) RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- The median of a column of bigints (the upper one of two), nulls ignored.  Any
-- table is read, so not everybody may call this.
CREATE FUNCTION table_median(tablename pg_catalog.regclass, columnname pg_catalog.name, workers pg_catalog.int4 DEFAULT 2)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
REVOKE ALL ON FUNCTION table_median FROM PUBLIC;
