# Common parts of the tests of GiST builds: SQL functions that search a table of
# points by an index or by a sequential scan, and that compare the pages of
# indexes.
package Gist;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw($gist_functions);

# answers_of() returns the answers of queries of a table.  It raises an error if
# the plans are not as asked for.  If a query may fail, its error is its answer.
#
# answers() returns digests of a table's answers: the rows in windows, the rows
# without a point, and the distances of the points nearest to three places.
#
# pages() returns the number of an index's pages that have tuples, and a digest of
# these pages' keys and heap TIDs.  It ignores the numbers of blocks and the order
# of tuples within a page.
our $gist_functions = q{
CREATE FUNCTION answers_of(tab text, by_index bool, queries text[], may_fail bool DEFAULT false) RETURNS text LANGUAGE plpgsql
	SET max_parallel_workers_per_gather = 0 SET enable_bitmapscan = off SET enable_indexonlyscan = off SET enable_material = off AS $$
DECLARE
	query text;
	plan text;
	answer text;
	result text := '';
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_sort', (NOT by_index)::text, true),
		set_config('enable_indexscan', by_index::text, true);
	FOREACH query IN ARRAY queries LOOP
		FOR plan IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
			IF plan ~ ('Seq Scan on ' || tab) AND by_index OR plan ~ 'Index' AND NOT by_index THEN
				RAISE EXCEPTION 'wrong plan: %', plan;
			END IF;
		END LOOP;
		BEGIN
			EXECUTE query INTO answer;
		EXCEPTION WHEN OTHERS THEN
			IF NOT may_fail THEN
				RAISE;
			END IF;
			answer := SQLERRM;
		END;
		result := concat(result, ' ', answer);
	END LOOP;
	RETURN result;
END $$;
CREATE FUNCTION answers(tab text, by_index bool) RETURNS text LANGUAGE sql AS $$
SELECT answers_of(tab, by_index, ARRAY[
	format('SELECT count(*) || '' '' || sum(hashint4(id) # hashint4(x)) FROM generate_series(-20, 1000, 85) x, %s
		WHERE p <@ box(point(x, x), point(x + 60, 990 - x))', tab),
	format('SELECT count(*) || '' '' || sum(hashint4(id)) FROM %s WHERE p IS NULL', tab),
	format('SELECT md5(string_agg(d::text, '' '')) FROM (SELECT p <-> ''(400,300)'' AS d FROM %s ORDER BY p <-> ''(400,300)'' LIMIT 2000) s', tab),
	format('SELECT md5(string_agg(d::text, '' '')) FROM (SELECT p <-> ''(-9,2000)'' AS d FROM %s ORDER BY p <-> ''(-9,2000)'' LIMIT 300) s', tab)]) $$;
CREATE EXTENSION IF NOT EXISTS pageinspect;
CREATE FUNCTION pages(index text) RETURNS text LANGUAGE sql AS $$
SELECT count(*) || ' ' || md5(string_agg(page, ' ' ORDER BY page)) FROM (
	SELECT md5(string_agg(tuple, ' ' ORDER BY tuple)) AS page FROM (
		SELECT block, encode(substr(key_data, 9), 'hex') || CASE WHEN ctid::text !~ ',65535\\)' THEN ctid::text ELSE '' END AS tuple
		FROM generate_series(0, pg_relation_size(index) / current_setting('block_size')::int - 1) block,
			gist_page_items_bytea(get_raw_page(index, block::int))) t
	GROUP BY block) s $$;
};

1;
