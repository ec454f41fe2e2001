# Checks that the indexes of a server are sound: amcheck, ptsort_check(), and a
# comparison of the rows of an index scan with those of a sequential scan.
package IndexCheck;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use Test::More;

our @EXPORT = qw(create_check check_indexes check_replay valid_indexes
  drop_invalid);

# index_order() returns the ORDER BY list of an index.
my $index_order = q{
CREATE FUNCTION index_order(index oid) RETURNS text STABLE LANGUAGE sql AS $$
	SELECT string_agg(pg_get_indexdef(indexrelid, k, true)
		|| coalesce(' COLLATE '
			|| nullif(indcollation[k - 1], 0)::regcollation, '')
		|| CASE indoption[k - 1] & 1 WHEN 1 THEN ' DESC' ELSE '' END
		|| CASE indoption[k - 1] & 2 WHEN 2 THEN ' NULLS FIRST'
			ELSE ' NULLS LAST' END, ', ' ORDER BY k)
	FROM pg_index, generate_series(1, indnkeyatts) k
	WHERE indexrelid = index
$$};

# index_problem() returns the fault of an index, or null if the index is sound.
# index_problem() runs a query with ORDER BY on the index's keys.  Without sorts
# (enable_sort = off), the planner must use this index; the function checks that
# the plan has the index.  The function also works in recovery: it returns
# "locked" if replay is paused and the startup process holds a lock that the
# check needs.  (A plain REINDEX TABLE makes the leftovers of REINDEX
# CONCURRENTLY valid.  Then there are two equal indexes, and the planner may
# scan either.  Snapshots older than an index with indcheckxmin cannot use the
# index; only amcheck judges such an index.)
my $index_problem = q{
CREATE FUNCTION index_problem(index oid) RETURNS text LANGUAGE plpgsql
SET max_parallel_workers_per_gather = 0 SET enable_bitmapscan = off
SET enable_sort = off SET enable_incremental_sort = off AS $$
DECLARE
	digest text := $d$SELECT count(*) || ' rows, '
		|| coalesce(sum(hashtidextended(ctid, 0)), 0)$d$;
	rows text;
	ordered text;
	plan text;
	by_index text;
	by_table text;
BEGIN
	IF pg_is_in_recovery() THEN
		SET LOCAL lock_timeout = '100ms';
		PERFORM bt_index_check(index, true);
	ELSE
		PERFORM bt_index_parent_check(index, true, true);
	END IF;
	FOR plan IN SELECT details FROM ptsort_check(index, true, workers => 0) WHERE problems > 0 LOOP
		RETURN format('%s: %s', index::regclass, plan);
	END LOOP;
	SELECT format('FROM %s %s', indrelid::regclass,
		'WHERE ' || pg_get_expr(indpred, indrelid))
		INTO rows FROM pg_index WHERE indexrelid = index;
	ordered := format('SELECT ctid %s ORDER BY %s', rows, index_order(index));

	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = on;
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || ordered INTO plan;
	IF plan !~ format('"Index Name": "%s(_cc(new|old)\w*)?"',
		(SELECT regexp_replace(relname, '_cc(new|old)\w*$', '')
		FROM pg_class WHERE oid = index)) THEN
		IF (SELECT indcheckxmin FROM pg_index WHERE indexrelid = index) THEN
			RETURN NULL;
		END IF;
		RETURN format('%s: another plan: %s', index::regclass, plan);
	END IF;
	EXECUTE format('%s FROM (%s) s', digest, ordered) INTO by_index;

	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	EXECUTE format('%s %s', digest, rows) INTO by_table;
	IF by_index <> by_table THEN
		RETURN format('%s: %s, but the table has %s',
			index::regclass, by_index, by_table);
	END IF;
	RETURN NULL;
EXCEPTION
	WHEN lock_not_available THEN
		RETURN 'locked';
	WHEN OTHERS THEN
		RETURN format('%s: %s', index::regclass, SQLERRM);
END $$};

# The indexes that must be sound: in recovery, all except the indexes of
# unlogged tables.
my $valid = q{
FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
	JOIN pg_am a ON a.oid = relam AND amname = 'btree'
WHERE indexrelid >= 16384 AND indisvalid AND relkind = 'i'
	AND NOT (relpersistence = 'u' AND pg_is_in_recovery())
};

# Creates the functions; replicas of the server that start later have them, too.
sub create_check
{
	my ($node) = @_;
	$node->safe_psql('postgres', "$index_order; $index_problem");
	return;
}

# Returns the names of the indexes that the planner can use.  A replica has the
# indexes of unlogged tables, too, but without contents.
sub valid_indexes
{
	my ($node) = @_;
	return $node->safe_psql('postgres',
		q{SELECT relname FROM pg_index JOIN pg_class c ON c.oid = indexrelid
		WHERE indexrelid >= 16384 AND indisvalid AND relkind = 'i'
			AND relname !~ '^pg_toast' ORDER BY 1});
}

# Returns the number of valid indexes, the number of locked indexes among them,
# and the problems of the other indexes.  $and is a condition on the indexes.
sub ask
{
	my ($node, $and) = @_;
	$and //= '';
	return split /\|/, $node->safe_psql(
		'postgres', qq{
SELECT count(*), count(*) FILTER (WHERE problem = 'locked'),
	string_agg(problem, E'\\n') FILTER (WHERE problem <> 'locked')
FROM (SELECT index_problem(indexrelid) AS problem $valid $and OFFSET 0) s}), 3;
}

# Checks that all indexes are sound, or those for which the condition $and is
# true; returns their number.  During the check,
# no session may change rows, because the index scan and the sequential scan
# would then return different rows.
sub check_indexes
{
	my ($node, $name, $and) = @_;
	my ($n, $locked, $problem) = ask($node, $and);
	is($problem, '', "$name: $n indexes are sound");
	is($locked, 0, "$name: and none is locked") if $locked;
	return $n;
}

# Pauses a replica's replay and checks that all indexes are sound, except
# indexes for which index_problem() returns "locked"; returns the number of
# checked indexes.
sub check_replay
{
	my ($replica, $name) = @_;
	$replica->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$replica->poll_query_until('postgres',
		q{SELECT pg_get_wal_replay_pause_state() = 'paused'})
	  or fail("$name: replay does not pause");
	my ($n, $locked, $problem) = ask($replica);
	is($problem, '', "$name: indexes are sound");
	note("$name: $n indexes, $locked of them locked");
	$replica->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	return $n - $locked;
}

# Drops indexes that CONCURRENTLY left unfinished; returns their number.
sub drop_invalid
{
	my ($node, $name) = @_;
	my @names = split /\n/,
	  $node->safe_psql('postgres',
		'SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid');
	my ($ret, $out, $err) =
	  $node->psql('postgres', join('', map { "DROP INDEX $_;\n" } @names));
	is($err, '', "$name: invalid indexes can be dropped") if @names;
	return scalar @names;
}

1;
