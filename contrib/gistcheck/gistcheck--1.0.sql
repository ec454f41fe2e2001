\echo Use "CREATE EXTENSION gistcheck" to load this file. \quit

-- Raises an error if the index is damaged; returns the number of leaf tuples.
-- With "tight", each key must be the union of its page's tuples, as it is after
-- a build.  (Deletions leave keys that are too large, which is no damage.)
CREATE FUNCTION gist_check(
	index pg_catalog.regclass,
	tight pg_catalog.bool DEFAULT false)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

REVOKE ALL ON FUNCTION gist_check(pg_catalog.regclass, pg_catalog.bool) FROM PUBLIC;
