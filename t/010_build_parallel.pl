# Index shapes, built by 1, 2 and 4 participants with a budget of 1 MB and with
# ample memory.  Each index is sound and holds the table's tuples in the order
# of key and ctid.  Each build has the requested number of participants.
#
# Depends on the version: ptsort writes pages as the server does
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');
my $rows = 40000;

$node->safe_psql(
	'postgres', qq{
CREATE TABLE t (id int, few int, word text, tail text, n numeric, day date);
INSERT INTO t SELECT (i * 48271::int8) % 2147483647, i % 100,
	CASE WHEN i % 7 > 0 THEN 'word ' || md5(i::text) END, 'tail ' || i % 1000,
	((i * 7919) % 20011) / 8.0, date '2000-01-01' + i % 5000
FROM generate_series(1, $rows) i;
DELETE FROM t WHERE id % 10 = 3;
VACUUM ANALYZE t;
});

# digest() returns a digest of the rows' ctids in the order of a query.  It
# also checks that the plan uses the index (by_index), or sorts the rows.
$node->safe_psql(
	'postgres', q{
CREATE FUNCTION digest(query text, by_index bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
	result text;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true),
		set_config('enable_sort', (NOT by_index)::text, true),
		set_config('enable_bitmapscan', 'off', true),
		set_config('enable_indexscan', by_index::text, true),
		set_config('enable_indexonlyscan', 'off', true),
		set_config('max_parallel_workers_per_gather', '0', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line;
	END LOOP;
	IF plan ~ 'Sort' OR plan !~ 'Index Scan using i ' THEN
		IF by_index THEN RAISE EXCEPTION 'not by the index: %', plan; END IF;
	ELSIF NOT by_index THEN
		RAISE EXCEPTION 'by the index: %', plan;
	END IF;
	EXECUTE 'SELECT count(*) || '' '' || md5(string_agg(ctid::text, '' '')) FROM ('
		|| query || ') q' INTO result;
	RETURN result;
END $$;
});

# The name of a shape, the columns to index, the ORDER BY that gives the index's
# order, and the predicate of a partial index.
my @shapes = (
	[ 'int', '(id)', 'id' ],
	[ 'int desc nulls last', '(few DESC NULLS LAST)', 'few DESC NULLS LAST' ],
	[ 'text in C', '(word COLLATE "C")', 'word COLLATE "C"' ],
	[ 'text, default collation, nulls first', '(word NULLS FIRST)', 'word NULLS FIRST' ],
	[ 'low cardinality', '(few)', 'few' ],
	[ 'no deduplication', '(few) WITH (deduplicate_items = off', 'few' ],
	[ 'fillfactor', '(tail) WITH (fillfactor = 50', 'tail' ],
	[ 'two columns', '(few, word DESC)', 'few, word DESC' ],
	[ 'include', '(day) INCLUDE (tail)', 'day' ],
	[ 'numeric', '(n)', 'n' ],
	[ 'expression', '((id % 1000), lower(tail))', 'id % 1000, lower(tail)' ],
	[ 'partial', '(word, id)', 'word, id', 'few < 50' ],
	[ 'unique', 'UNIQUE (id)', 'id' ]);

foreach my $shape (@shapes)
{
	my ($name, $what, $order, $where) = @$shape;
	my $unique = $what =~ s/^UNIQUE // ? 'UNIQUE' : '';
	my $with = $what =~ s/ WITH \((.*)$// ? "$1, " : '';
	my $filter = $where ? "WHERE $where" : '';
	my $sorted = $node->safe_psql('postgres',
		"SELECT digest('SELECT ctid FROM t $filter ORDER BY $order, ctid', false)"
	);

	foreach my $case ([ 1, 1 ], [ 2, 1 ], [ 4, 1 ], [ 1, 64 ], [ 4, 64 ])
	{
		my ($participants, $budget) = @$case;
		my $workers = $participants - 1;
		my $label = "$name, $participants participants, $budget MB";
		my $end = log_end($node);
		my ($ret, $out, $err) = $node->psql(
			'postgres', qq{
SET maintenance_work_mem = '${budget}MB';
CREATE $unique INDEX i ON t $what WITH (${with}parallel_workers = $workers) $filter;
SELECT bt_index_parent_check('i', true, true);
SELECT digest('SELECT ctid FROM t $filter ORDER BY $order', true);
SELECT sum(tuples) = (SELECT count(*) FROM t $filter) FROM ptsort_last_build() WHERE participant IS NOT NULL;
DROP INDEX i;
});
		is($err, '', "$label: no complaint");
		is($out, "\n$sorted\nt", "$label: same order as the sorted table");
		is_deeply([ builds_since($node, $end) ],
			["i: $participants"], "$label: by all participants");
	}
}

# Checks that a budget of 1 MB is in fact too small for a serial build's data.
is( $node->safe_psql(
		'postgres', q{
SET maintenance_work_mem = '1MB';
CREATE INDEX i ON t (word) WITH (parallel_workers = 0);
SELECT runs > 1, temp_bytes > 0 FROM ptsort_last_build() WHERE participant IS NULL;
}),
	't|t',
	'1 MB makes several runs');

$node->stop;
done_testing();
