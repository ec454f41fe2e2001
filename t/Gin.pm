# Common parts of the tests of GIN builds: SQL functions that search a table by a
# GIN index or by a sequential scan, and the comparison of an index with that of
# the server.
package Gin;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw($gin_functions conditions servers_index);

# gin_answers() returns the rows of a table, as counts and sums of "id", that
# satisfy each condition.  It raises an error if a plan is not as asked for.
#
# gin_state() checks an index that was just built, since 18 also by the server's
# gin_index_check().  It returns the numbers of keys and entries, and other
# statistics by which the planner estimates costs.  It needs create_sound().
our $gin_functions = q{
CREATE EXTENSION IF NOT EXISTS pageinspect;
CREATE FUNCTION gin_answers(tab text, by_index bool, conditions text[]) RETURNS text LANGUAGE plpgsql
	SET max_parallel_workers_per_gather = 0 SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_material = off AS $$
DECLARE
	condition text;
	query text;
	plan text;
	line text;
	answer text;
	result text := '';
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_bitmapscan', by_index::text, true);
	FOREACH condition IN ARRAY conditions LOOP
		query := format('SELECT concat(count(*), '':'', sum(hashint4(id))) FROM %s WHERE %s', tab, condition);
		plan := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
			plan := plan || line;
		END LOOP;
		IF (plan ~ 'Bitmap Index Scan') <> by_index THEN
			RAISE EXCEPTION '%: wrong plan: %', condition, plan;
		END IF;
		EXECUTE query INTO answer;
		result := concat(result, ' ', answer);
	END LOOP;
	RETURN result;
END $$;
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE FUNCTION amchecked(index text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF to_regprocedure('gin_index_check(regclass)') IS NOT NULL THEN
		EXECUTE format('SELECT gin_index_check(%L)', index);
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION gin_state(index text) RETURNS text LANGUAGE sql AS $$
SELECT concat(n_entries, ' keys, ', tuples, ' entries, ', CASE WHEN n_pending_pages = 0 AND version = 2 AND n_entry_pages > 0
	AND n_entry_pages + n_data_pages + 1 = n_total_pages AND n_total_pages = relpages AND reltuples = tuples THEN 'statistics' ELSE concat(m, c) END)
FROM sound(index::regclass) tuples, gin_metapage_info(get_raw_page(index, 0)) m, pg_class c
WHERE oid = index::regclass AND amchecked(index) $$;
};

# Returns SQL conditions as an array for gin_answers().
sub conditions
{
	return 'ARRAY[' . join(', ', map { "\$q\$$_\$q\$" } @_) . ']';
}

# Builds an index as the server does; returns its state, the answers to
# conditions, and its number of pages.  With workers, the server of 18 counts only
# a part of the entries in reltuples.
sub servers_index
{
	my ($node, $table, $what, $conditions) = @_;
	my ($state, $answers, $size) = split /\n/, $node->safe_psql('postgres', qq{
SET ptsort.enable = off;
SET max_parallel_maintenance_workers = 0;
CREATE INDEX servers ON $table USING gin $what;
SELECT gin_state('servers');
SELECT gin_answers('$table', true, $conditions);
SELECT pg_relation_size('servers') / 8192;
DROP INDEX servers});
	return ($state, $answers, $size);
}

1;
