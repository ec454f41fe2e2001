\echo Use "CREATE EXTENSION gistcheck" to load this file. \quit

-- Raises an error if the index is damaged; returns the number of leaf tuples.
-- With "tight", each key must be the union of its page's tuples, as it is after
-- a build.  (Deletions leave keys that are too large, which is no damage.)
CREATE FUNCTION gist_check(index regclass, tight bool DEFAULT false) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

REVOKE ALL ON FUNCTION gist_check(regclass, bool) FROM PUBLIC;
