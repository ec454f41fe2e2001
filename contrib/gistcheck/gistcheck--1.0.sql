\echo Use "CREATE EXTENSION gistcheck" to load this file. \quit

-- Raises an error if the index is damaged; returns the number of leaf tuples.
CREATE FUNCTION gist_check(index regclass) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

REVOKE ALL ON FUNCTION gist_check(regclass) FROM PUBLIC;
