\echo Use "CREATE EXTENSION ptsort_example" to load this file. \quit

-- Returns the median of an array of bigints, or the larger of two middle values.
-- Ignores nulls.
CREATE FUNCTION sorted_median(pg_catalog.int8[]) RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Returns the median of a column of bigints, or the larger of two middle values.
-- Ignores nulls.  The function reads any table, so PUBLIC may not call it.
CREATE FUNCTION table_median(tablename pg_catalog.regclass, columnname pg_catalog.name, workers pg_catalog.int4 DEFAULT 2)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
REVOKE ALL ON FUNCTION table_median FROM PUBLIC;

-- Inserts the rows of an index's table, in the index's order, into another table with
-- the same columns.  Returns the number of rows.
CREATE FUNCTION copy_in_order(index pg_catalog.regclass, target pg_catalog.regclass)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
REVOKE ALL ON FUNCTION copy_in_order FROM PUBLIC;
