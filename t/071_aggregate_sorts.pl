# Sorts for aggregates with ORDER BY or DISTINCT inside: in parallel plans, over
# partitions, with temporary files, and in EXPLAIN ANALYZE.  ptsort's log lines
# show the sorts of all processes.  Before PostgreSQL 16, plans have a Sort node
# only for the columns of GROUP BY.  (sql/aggregates.sql tests which orders have
# a Sort node.)
#
# Depends on the version: the planner sorts for aggregates since 16
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Each of two workers must expect 30,000 rows: ptsort leaves smaller sorts of
# text in an ICU collation to the server.
my $rows = 70000;
my $node = new_node('main', conf => q{
ptsort.sort = on
ptsort.log_sort = on
work_mem = '64MB'
max_parallel_workers_per_gather = 0
enable_hashagg = off
enable_partitionwise_aggregate = on
});
my $presorted = $node->pg_version >= 16;

$node->safe_psql('postgres', qq{
SET ptsort.sort = off;
CREATE TABLE plain AS SELECT i AS id, i % 7 AS g, md5((i / 3)::text) COLLATE "C" AS c, md5((i % 5000)::text) COLLATE "en-x-icu" AS t
FROM generate_series(1, $rows) i;
CREATE TABLE parts (LIKE plain) PARTITION BY LIST (g);
SELECT format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES IN (%s)', i, i) FROM generate_series(0, 6) i \\gexec
INSERT INTO parts SELECT * FROM plain;
ANALYZE;
});

# Runs a query with ptsort.sort on and off, and returns: true if the rows are
# equal; ptsort's lines, as [ rows, keys, the rest of the line ]; the plan.
sub run_query
{
	my ($settings, $query) = @_;
	my $plan = $node->safe_psql('postgres', "$settings; EXPLAIN (COSTS OFF) $query");
	my $server = $node->safe_psql('postgres', "$settings; SET ptsort.sort = off; $query");
	my $offset = log_end($node);
	my $ours = $node->safe_psql('postgres', "$settings; $query");
	my @sorts = map { [/ptsort: sorted (\d+) rows by (\d+) keys?, (.*)/] }
	  grep { /LOG:  ptsort: sorted/ } split /\n/, slurp_file($node->logfile, $offset);
	return ($ours eq $server && $ours ne '', \@sorts, $plan);
}

# Returns the sum of the row counts in ptsort's lines.
sub sum_rows
{
	my $sum = 0;
	$sum += $_->[0] foreach @{ $_[0] };
	return $sum;
}

my $parallel = q{SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off};

# name, settings, query; number of sorts, and number of keys of each sort, since
# PostgreSQL 16; the same two numbers for earlier versions
foreach (
	[ 'DISTINCT', 'SELECT', 'SELECT count(DISTINCT t) FROM plain', 1, 1, 0, 0 ],
	[ 'ORDER BY', 'SELECT', q{SELECT md5(string_agg(c, ',' ORDER BY c, id)) FROM plain}, 1, 2, 0, 0 ],
	[ 'GROUP BY', 'SELECT', q{SELECT g, count(DISTINCT t), md5(array_agg(t ORDER BY t)::text) FROM plain GROUP BY g}, 1, 2, 1, 1 ],
	[ 'partitions', 'SELECT', 'SELECT g, count(DISTINCT t) FROM parts GROUP BY g ORDER BY g', 7, 2, 7, 1 ],
	[ 'workers, DISTINCT', $parallel, 'SELECT count(DISTINCT t) FROM plain', 2, 1, 0, 0 ],
	[ 'workers, ORDER BY', $parallel, q{SELECT md5(string_agg(c, ',' ORDER BY c)) FROM plain}, 2, 1, 0, 0 ],
	[ 'workers, GROUP BY', $parallel, 'SELECT t, array_agg(id ORDER BY id) FROM plain GROUP BY t', 2, 2, 2, 1 ])
{
	my ($name, $settings, $query, @expected) = @$_;
	my ($sorts, $keys) = $presorted ? @expected[ 0, 1 ] : @expected[ 2, 3 ];
	my ($same, $lines, $plan) = run_query($settings, $query);

	ok($same, "$name: the server's rows");
	is(scalar(@$lines), $sorts, "$name: number of sorts") || diag($plan);
	is(sum_rows($lines), $sorts ? $rows : 0, "$name: rows of these sorts");
	is(scalar(grep { $_->[1] == $keys } @$lines), $sorts, "$name: keys of each sort");
	is(scalar(() = $plan =~ /-> +Sort$/mg), $settings eq $parallel ? $sorts / 2 : $sorts, "$name: Sort nodes") || diag($plan);
	like($plan, qr/Gather Merge/, "$name: workers sort") if $sorts && $settings eq $parallel;
}

SKIP:
{
	skip 'plans have no Sort node for aggregates before PostgreSQL 16', 4 unless $presorted;

	# 1 MB is not enough for these rows
	my ($same, $lines) = run_query(q{SET work_mem = '1MB'},
		q{SELECT md5(string_agg(c || t, ',' ORDER BY c, id)), count(DISTINCT g) FROM plain});
	ok($same, "temporary files: the server's rows");
	like($lines->[0][2] // '', qr/external.*Disk: /, 'temporary files: ptsort wrote them');

	# if a query needs two orders, the server does the sort for the second order
	($same, $lines) = run_query('SELECT', 'SELECT count(DISTINCT t), count(DISTINCT c) FROM plain');
	ok($same, "two orders: the server's rows");
	is(scalar(@$lines), 1, 'two orders: one sort by ptsort');
}

my $explained = $node->safe_psql('postgres', 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) SELECT count(DISTINCT t) FROM plain');
if ($node->pg_version >= 18)
{
	like($explained, qr/Aggregate.*\n.*->  Sort .*\n.*Sort Key: t.*\n.*Sort Method: in-memory sort by ptsort/, 'EXPLAIN ANALYZE: the sort by ptsort');
}
else
{
	unlike($explained, qr/Sort Method/, 'EXPLAIN ANALYZE: no line of a sort');
}
$node->stop;
done_testing();
