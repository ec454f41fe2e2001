\echo Use "CREATE EXTENSION gistcheck" to load this file. \quit

-- Raises an error if the index is damaged; returns the number of leaf tuples.
-- With "tight", each key must be the union of its page's tuples, as it is after
-- a build.  (Deletions leave keys that are too large, which is no damage.)
CREATE FUNCTION gist_check(
	index pg_catalog.regclass,
	tight pg_catalog.bool DEFAULT false)
RETURNS pg_catalog.int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Raises an error if the index is damaged.  "keys" counts the keys of the entry
-- tree, "tids" the TIDs of all lists, with those of the pending list.  "digest" is
-- a hash of the set of (column, key, TID): two indexes with equal "tids" and
-- "digest" hold the same set.  With "tight", the index must be as it is after a
-- build: no empty list, exact keys in inner pages, exact statistics.  With "heap",
-- it must hold exactly the entries of the rows that this session sees, so no row
-- may have died since the last build or VACUUM.
CREATE FUNCTION gin_check(
	index pg_catalog.regclass,
	tight pg_catalog.bool DEFAULT false,
	heap pg_catalog.bool DEFAULT false,
	OUT keys pg_catalog.int8,
	OUT tids pg_catalog.int8,
	OUT digest pg_catalog.int8)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

REVOKE ALL ON FUNCTION gist_check(pg_catalog.regclass, pg_catalog.bool) FROM PUBLIC;
REVOKE ALL ON FUNCTION gin_check(pg_catalog.regclass, pg_catalog.bool, pg_catalog.bool) FROM PUBLIC;
