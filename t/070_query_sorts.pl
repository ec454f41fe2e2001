# Faults in the sorts of queries: allocations fail, each named point raises an
# error or receives a cancel, the disk is full, a worker exits with FATAL.  Each
# time the query returns the right rows or ends with the fault's own error.
# The query leaves nothing behind, and the next query returns the right rows.
# The test also has cursors whose sorts are open while subtransactions begin and
# end, errors in functions called while a sort is open, temp_file_limit,
# statement_timeout, and other extensions that look at plans.
#
# Every n-th allocation fails; the date decides which allocations fail.  With
# PTSORT_FAULTS=all every allocation fails once.
#
# Depends on the version: the sorts run in the server's Sort nodes
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Faults;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = fault_node('main', q{
ptsort.sort = on
ptsort.min_sort_rows = 0
work_mem = '4MB'
max_parallel_workers_per_gather = 0
});

$node->safe_psql('postgres', q{
CREATE TABLE n AS SELECT i AS id, i * 7919 % 1000 AS a FROM generate_series(1, 250) i;
ANALYZE n;

-- return a digest of a query's rows in their order, by ptsort and by the server
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT hashtextextended(string_agg(s::text, '',''), 0) FROM (%s) s', query) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION servers_digest(query text) RETURNS text LANGUAGE plpgsql
	SET ptsort.sort = off AS $$ BEGIN RETURN digest(query); END $$;

-- runs a query, which must leave nothing behind
CREATE FUNCTION sort(query text, OUT state text, OUT message text, OUT left_over text)
LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		state := '00000';
		IF digest(query) <> current_setting('test.digest') THEN
			state := 'wrong';
		END IF;
		-- only the query's allocations may fail
		PERFORM set_config('ptsort_test.allocation', '0', false);
	EXCEPTION WHEN OTHERS OR query_canceled THEN
		state := SQLSTATE;
		message := SQLERRM;
	END;
	left_over := left_by_sort();
END $$;
});

my $spill = 'SET ptsort_test.spill_entries = 60';
my $parallel = q{SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off};

# name, settings, query
my @queries = (
	[ 'in memory', 'SELECT', 'SELECT id * 7919 % 1000 AS a, word FROM tiny ORDER BY 1 DESC, id' ],
	[ 'text, runs', "$spill; SET ptsort_test.learn_tuples = 10", 'SELECT word, id FROM tiny ORDER BY 1' ],
	[ 'values, passes', "$spill; SET ptsort_test.merge_order = 2", 'SELECT a FROM n ORDER BY 1' ],
	[ 'top N', 'SELECT', 'SELECT word, id FROM tiny ORDER BY 1 LIMIT 20' ],
	[ 'aggregates', 'SELECT', q{SELECT id % 3 AS g, string_agg(word, ',' ORDER BY word, id), count(DISTINCT id % 10) FROM tiny GROUP BY 1} ],
	[ 'rescans', 'SET ptsort_test.spill_entries = 5',
		'SELECT a.id, (SELECT t.id FROM tiny t WHERE t.id % 25 = a.id ORDER BY word OFFSET a.id % 3 LIMIT 1) FROM n a WHERE a.id < 6 ORDER BY a.a' ],
	[ 'merge join', 'SET enable_hashjoin = off; SET enable_nestloop = off',
		'SELECT a.id AS i, b.id FROM (SELECT id, id % 10 AS k FROM tiny) a JOIN (SELECT id, id % 20 AS k FROM n WHERE id <= 200) b USING (k) ORDER BY 1 DESC, 2' ]);

foreach (@queries)
{
	my ($name, $setup, $query) = @$_;
	my $expecting = qq{$setup; SELECT set_config('test.digest', servers_digest(\$\$$query\$\$), false)};

	# check that ptsort does the sort; find the points that the sort passes, and
	# count its allocations
	my $out = $node->safe_psql('postgres', qq{
$setup;
SELECT 'same ' || (digest(q) = servers_digest(q)) FROM (SELECT \$\$$query\$\$) s (q);
SELECT 'sorts ' || sorts FROM ptsort_last_sort();
SET ptsort_test.fault = 'nowhere';
SELECT digest(\$\$$query\$\$);
SET ptsort.sort = off;
SELECT 'passed ' || point || '|' || leader FROM ptsort_test_points() ORDER BY point COLLATE "C";
SET ptsort.sort = on;
SET ptsort_test.allocation = 0;
SET ptsort_test.fault = 'query: sort:1:palloc';
SELECT digest(\$\$$query\$\$);
SELECT 'palloc ' || ptsort_test_allocations();
SET ptsort_test.fault = 'query: sort:1:malloc';
SELECT digest(\$\$$query\$\$);
SELECT 'malloc ' || ptsort_test_allocations();
});
	like($out, qr/^same true$/m, "$name: as by the server");
	like($out, qr/^sorts [1-9]/m, "$name: sorted by ptsort");
	my %passed = $out =~ /^passed (.*)\|(\d+)$/mg;
	foreach my $kind (qw(palloc malloc))
	{
		my ($counted) = $out =~ /^$kind (\d+)/m;
		my @faults = map { [ "query: sort:1:$kind", $_ ] } sample($kind eq 'palloc' ? 10 : 1, 1 .. $counted);
		my ($n, $failed, $right, $bad, $grown) = run_faults($node, $expecting, $query, '53200,58000', @faults);
		is($bad, '', "$name: $n of $counted allocations failed ($kind)");
		cmp_ok($failed, '>=', 0.5 * $n, "$name: $failed of them did, $right were done without");
		cmp_ok($grown, '<=', 8192, "$name: TopMemoryContext has grown by $grown bytes");
	}

	my @points = map { my $point = $_; map { [ $point, $_ ] } grep { $_ <= $passed{$point} } 1, 2 } sort keys %passed;
	cmp_ok(scalar(@points), '>=', 3, "$name: " . join(', ', sort keys %passed));
	my ($n, $failed, $right, $bad) = run_faults($node, $expecting, $query, 'XX000,57014',
		map { my ($point, $nth) = @$_; map { [ "$point:$nth:$_", 8 * $nth ] } qw(error cancel) } @points);
	is($bad, '', "$name: an error or a cancel at each of " . @points . ' points');
	is($failed, $n, "$name: all of them acted");
	next unless $passed{'run: write'};
	($n, $failed, $right, $bad) = run_faults($node, $expecting, $query, '53100',
		map { [ "$_->[0]:$_->[1]:full_temp", 8 ] } @points);
	is($bad, '', "$name: no space at each of them");
	cmp_ok($n - $right, '>=', 2, "$name: it was missed " . ($n - $right) . ' times');
}

# Faults in workers: a worker's error is the query's error.  This test kills no
# worker, because that would crash the server.
foreach my $fault ('query: sort:1:error:worker', 'sort: perform:1:cancel:worker', 'run: write:1:full_temp:worker',
	'tape: read:1:error:worker', 'sort: perform:1:fatal:worker')
{
	my ($out, $err) = try_sql($node, qq{
$parallel; $spill;
SET ptsort_test.fault = '$fault';
SELECT word, id FROM t ORDER BY word;
SET ptsort_test.fault = '';
SELECT 'left ' || left_by_sort();
SELECT 'same ' || (digest(q) = servers_digest(q)) FROM (SELECT 'SELECT word, id FROM t ORDER BY word, id') s (q);
});
	like($err, qr/ERROR: .*(57014|53100|XX000|08006|57P01)/, "$fault: an error");
	like($out, qr/^left $/m, "$fault: nothing is left");
	like($out, qr/^same true$/m, "$fault: the next one is right");
}
# Cursors whose sorts are open while subtransactions begin and end, and cursors
# of subtransactions that abort.  A failed query does not disturb the cursors of
# other queries.
my ($out, $err) = try_sql($node, qq{
$spill;
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT a FROM n ORDER BY a;
SAVEPOINT s;
FETCH 2 FROM c;
DECLARE d NO SCROLL CURSOR FOR SELECT word FROM tiny ORDER BY word;
FETCH 1 FROM d;
ROLLBACK TO s;
FETCH 2 FROM c;
FETCH 1 FROM d;
ROLLBACK TO s;
SELECT id FROM n ORDER BY 1 / (id - 200), id;
ROLLBACK TO s;
FETCH 2 FROM c;
DECLARE h NO SCROLL CURSOR WITH HOLD FOR SELECT a FROM n ORDER BY a DESC LIMIT 3;
SAVEPOINT s;
FETCH 1 FROM h;
SET ptsort_test.fault = 'tape: read:1:error';
FETCH 100 FROM c;
ROLLBACK TO s;
SET ptsort_test.fault = '';
FETCH 1 FROM c;
ROLLBACK TO s;
COMMIT;
SELECT 'left ' || left_by_sort();
FETCH ALL FROM h;
CLOSE h;
});
my $first = join "\n", split / /, $node->safe_psql('postgres',
	q{SET ptsort.sort = off; SELECT string_agg(a::text, ' ' ORDER BY a) FROM (SELECT a FROM n ORDER BY a LIMIT 6) s});
my @rows = $out =~ /^(\d+)$/mg;
is(join("\n", @rows[0 .. 5]), $first, 'cursor: its rows over subtransactions');
like($err, qr/cursor "d" does not exist/, 'cursor: the cursor of the subtransaction is gone');
like($err, qr/division by zero/, 'cursor: a query in between has failed');
like($out, qr/^left $/m, 'cursor: nothing is left');

# The session continues normally after functions below a sort fail.
($out, $err) = try_sql($node, q{
CREATE FUNCTION fails(x int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM id FROM n ORDER BY a;
	IF x = 200 THEN
		RAISE EXCEPTION 'at 200';
	END IF;
	RETURN x;
END $$;
DO $$
DECLARE
	r record;
	errors int := 0;
	rows int := 0;
BEGIN
	FOR r IN SELECT id FROM n WHERE id <= 50 ORDER BY a LOOP
		rows := rows + 1;
		BEGIN
			PERFORM fails(id) FROM n ORDER BY fails(id), a;
		EXCEPTION WHEN raise_exception THEN
			errors := errors + 1;
		END;
	END LOOP;
	RAISE NOTICE 'rows %, errors %', rows, errors;
END $$;
SELECT 'left ' || left_by_sort();
});
like($err, qr/rows 50, errors 50/, 'functions that fail in the input');
like($out, qr/^left $/m, 'functions that fail: nothing is left');

# The server enforces temp_file_limit and statement_timeout.
($out, $err) = try_sql($node, qq{
SET work_mem = '1MB';
SET temp_file_limit = '100kB';
SELECT sum(length(r)) FROM (SELECT *, repeat(word, 100) AS r FROM t ORDER BY word OFFSET 0) s;
SELECT 'left ' || left_by_sort();
RESET temp_file_limit;
SET ptsort_test.fault = 'sort: perform:1:timeout';
SELECT sum(length(r)) FROM (SELECT *, repeat(word, 100) AS r FROM t ORDER BY word OFFSET 0) s;
SELECT 'left ' || left_by_sort();
});
like($err, qr/ERROR:  (53400|53000).*temp_file_limit/, 'temp_file_limit');
like($err, qr/57014: canceling statement due to statement timeout/, 'statement_timeout');
is(() = $out =~ /^left $/mg, 2, 'limits: nothing is left');
check_nothing_left($node, 'faults');
check_log($node);

# Extensions that look at plans when a query ends.  In the first round, the
# server loads these extensions before ptsort; in the second round, after
# ptsort.
foreach my $order ('auto_explain,pg_stat_statements,ptsort', 'ptsort,pg_stat_statements,auto_explain')
{
	$node->append_conf('postgresql.conf', qq{
session_preload_libraries = ''
shared_preload_libraries = 'ptsort_test,$order'
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_buffers = on
auto_explain.log_nested_statements = on
});
	restart_node($node);
	my $offset = log_end($node);
	$out = $node->safe_psql('postgres', qq{
$spill;
SELECT 'same ' || (digest(q) = servers_digest(q)) FROM (SELECT 'SELECT word, id FROM tiny ORDER BY word') s (q);
EXPLAIN (ANALYZE, FORMAT json) SELECT word FROM tiny ORDER BY word;
SELECT 'same ' || (digest(q) = servers_digest(q)) FROM (SELECT 'SELECT a FROM n ORDER BY a LIMIT 5') s (q);
});
	my $plans = slurp_file($node->logfile, $offset);
	# the server's parallel sorts may also take 64 kB, so a session of its own
	# follows
	my $end = log_end($node);
	$out .= "\n" . $node->safe_psql('postgres', qq{
$spill; $parallel;
SELECT 'same ' || (digest(q) = servers_digest(q)) FROM (SELECT 'SELECT word, id FROM t ORDER BY word, id') s (q);
});
	is(() = $out =~ /^same true$/mg, 3, "$order: rows are right");
	# plans have a line "Sort Method" for the server's sort; for ptsort's sort,
	# plans have this line only since PostgreSQL 18
	like($plans, qr/Sort Method: (?!.*ptsort)/, "$order: the server's sort in the log");
	like($plans, qr/(?=Sort Method: .* by ptsort)/, "$order: and ptsort's")
	  if $node->pg_version >= 18;
	unlike($plans, qr/Sort Method: still in progress|Memory: 64kB/i, "$order: no other line");
	unlike(slurp_file($node->logfile, $end), qr/still in progress/, "$order, parallel: no other line");
}
$node->stop;
done_testing();
