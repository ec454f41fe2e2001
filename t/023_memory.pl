# A build's budget covers all memory of its sorts: entries, buffers, samples
# and tables of learned keys, and the data that each run leaves in memory.
# ptsort_last_build() reports the peak of this memory; ptsort_test.log_memory
# logs the real size of ptsort's memory contexts, in each process.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(max sum);
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node(
	'main',
	conf => q{
ptsort_test.log_memory = on
});

# 60,000 strings with much in common, and strings of 3,000 and 20,000 characters
$node->safe_psql(
	'postgres', q{
CREATE TABLE t AS
SELECT hashint8(i)::int8 AS number, md5(i::text) AS random,
	'https://www.' || left(md5((i % 50)::text), 6) || '.example.com/' ||
	(ARRAY['account', 'library', 'market', 'printer', 'summer'])[1 + i % 5] || '/' || hashint8(i) AS url,
	(SELECT string_agg(chr(19968 + (hashint8(i * 10 + j) & 2147483647) % 3000), '') FROM generate_series(1, 8) j) AS han,
	(SELECT string_agg(chr(19968 + (hashint8(i * 10 + j) & 2147483647) % 20000), '') FROM generate_series(1, 24) j) AS rare
FROM generate_series(1, 60000) i;
VACUUM ANALYZE t;
});

# Builds an index.  Returns the memory that each participant reports, the
# memory of each process, the largest number of runs of any participant, and
# the points where processes measured their memory.
sub build
{
	my ($columns, $memory, $workers, $table) = @_;
	my $end = log_end($node);
	my $report = $node->safe_psql(
		'postgres', qq{
SET maintenance_work_mem = '$memory';
CREATE INDEX i ON $table ($columns) WITH (parallel_workers = $workers);
SELECT peak_memory_bytes, runs FROM ptsort_last_build() WHERE participant IS NOT NULL;
});
	my @rows = map { [ split /\|/ ] } split /\n/, $report;
	my $log = slurp_file($node->logfile, $end);
	my (%held, $points);

	while ($log =~ /\[(\d+)\].*LOG:  ptsort_test: (\d+) bytes at "(.*?)"/g)
	{
		$held{$1} = max($held{$1} // 0, $2);
		$points .= "$3, ";
	}
	is_deeply([ builds_in($log) ], [ 'i: ' . ($workers + 1) ],
		"$columns, $memory, $workers workers: built by ptsort");
	return ([ map { $_->[0] } @rows ], [ values %held ], max(map { $_->[1] } @rows), $points);
}

# Checks that the reported memory is correct, and within a budget of at least
# 1 MB for each participant.
sub check_build
{
	my ($columns, $megabytes, $workers, $learns, $table) = @_;
	my $name = "$columns, $megabytes MB, $workers workers";
	my $budget = max($megabytes / ($workers + 1), 1) * 1024 * 1024;
	my ($said, $held, $runs, $points) = build($columns, "${megabytes}MB", $workers, $table // 't');

	cmp_ok(max(@$said), '<=', $budget, "$name: within the budget");
	# (for entries and images, the reports do not count allocation headers)
	cmp_ok(sum(@$held), '<=', 1.1 * sum(@$said) + 32768 * @$said, "$name: no more than they say");
	cmp_ok(sum(@$held), '>=', 0.7 * sum(@$said), "$name: no less either");
	like($points, qr/textcode: learn/, "$name: something was learned") if $learns;
	unlike($points, qr/textcode: learn/, "$name: nothing was learned") if defined $learns && !$learns;
	cmp_ok($runs, '>', 1, "$name: memory was full") if $learns && $megabytes <= $workers + 1;
	$node->safe_psql('postgres', 'DROP INDEX i');
}

my @collations = split /\n/, $node->safe_psql(
	'postgres', q{
SELECT DISTINCT ON (collprovider) quote_ident(collname) FROM pg_collation
WHERE collname IN ('en_US.utf8', 'en-x-icu') ORDER BY collprovider, collname});
foreach my $collation ('"C"', @collations)
{
	foreach my $case ([ 1, 0 ], [ 1, 1 ], [ 1, 3 ], [ 2, 1 ], [ 4, 0 ], [ 4, 3 ], [ 8, 2 ], [ 64, 1 ])
	{
		# text in "C" that fits in memory needs no learned key; with 8 MB, the
		# participant that decides about learning may or may not need a learned
		# key
		my $fits = $case->[0] == 8 ? undef : $case->[0] < 8;
		check_build("url COLLATE $collation", @$case, $collation eq '"C"' ? $fits : 1);
	}
	check_build("random COLLATE $collation", 1, 0, 1);
	foreach my $memory (1, 4, 16)
	{
		check_build("$_ COLLATE $collation", $memory, 0, $collation ne '"C"' || $memory < 16) foreach ('han', 'rare');
	}
}
foreach my $case ([ 1, 0 ], [ 1, 3 ], [ 2, 1 ], [ 16, 0 ])
{
	check_build('number', @$case, 0);
	check_build('number, url, random', @$case, undef);
}


# GIN: the table of keys is part of the budget.  Many keys that are in one or two
# rows each, and few keys that are in many rows
foreach my $case ([ 1, 0 ], [ 2, 1 ], [ 8, 3 ], [ 16, 0 ], [ 64, 1 ])
{
	check_build("($_)", @$case, undef, 't USING gin')
	  foreach ('ARRAY[random, url, random || 1]', 'ARRAY[left(random, 1), left(url, 2)]');
}

# Long strings after many short strings: a participant keeps its scratch memory
# for entries from run to run, and uses less of this memory for fewer entries.
# (The planner expects so many rows that each run fills the memory.)
$node->safe_psql(
	'postgres', q{
CREATE TABLE longer AS
SELECT CASE WHEN i <= 1500000 THEN left(md5(i::text), 8) ELSE (SELECT string_agg(md5((i * 30 + j)::text), '') FROM generate_series(1, 30) j) END COLLATE "C" AS s
FROM generate_series(1, 1600000) i;
VACUUM ANALYZE longer;
UPDATE pg_class SET reltuples = 100 * reltuples WHERE oid = 'longer'::regclass;
});
check_build('s', 64, 1, undef, 'longer');

# The sample that the participants share is in memory twice for a moment, beside
# entries that fill the rest of the budget.
$node->safe_psql(
	'postgres', q{
CREATE TABLE even AS
SELECT (SELECT left(string_agg(md5((i * 13 + j)::text), ''), 390) FROM generate_series(1, 13) j) COLLATE "C" AS s
FROM generate_series(1, 60000) i;
VACUUM ANALYZE even;
UPDATE pg_class SET reltuples = 100 * reltuples WHERE oid = 'even'::regclass;
});
check_build('s', $_, 1, 1, 'even') foreach 18, 22, 26;

# A growing array of entries must not be in memory twice.  The number of rows
# is just above a power of two and far above the planner's estimate.  The
# process's peak memory then grows by 17 MB for the entries and by 17 MB for the
# scratch of the sort, and by 17 MB more if the sort copies the entries.
SKIP:
{
	skip 'there is no /proc', 2 unless -r '/proc/self/status';
	skip 'a server with assertions writes on what it frees', 2
	  if $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';
	my $most = q{SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s+(\d+)')};
	$node->safe_psql('postgres', 'CREATE TABLE n AS SELECT hashint8(i)::int8 AS n FROM generate_series(1, 1060000) i; ANALYZE n');
	my ($before, $count, $after, $method) = split /\n/, $node->safe_psql('postgres', qq{
SET ptsort.sort = on; SET ptsort.parallel_workers = 0; SET max_parallel_workers_per_gather = 0; SET work_mem = '256MB';
SELECT count(*) FROM (SELECT n FROM n WHERE n % 1 = 0 OFFSET 0) s \\g /dev/null
$most; SELECT count(*) FROM (SELECT n FROM n WHERE n % 1 = 0 ORDER BY n OFFSET 0) s; $most;
SELECT method FROM ptsort_last_sort()});
	cmp_ok($after - $before, '<', 43000, 'a growing array: not twice in memory');
	is("$count $method", '1060000 in-memory sort', 'a growing array: one sort in memory');
}

# The index equals the server's for every budget.
my $order = q{
SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;
SELECT md5(string_agg(ctid::text, ' ')) FROM (SELECT ctid FROM t ORDER BY %s) s;
SELECT bt_index_check('i', true);
DROP INDEX i};
foreach my $columns (map { ("url COLLATE $_", "han COLLATE $_") } '"C"', @collations)
{
	my $digest = sprintf($order, $columns);
	my $server = $node->safe_psql('postgres',
		"SET ptsort.enable = off; CREATE INDEX i ON t ($columns); $digest");
	foreach my $settings ('1MB', '4MB', '64MB')
	{
		is($node->safe_psql('postgres',
				"SET maintenance_work_mem = '$settings'; CREATE INDEX i ON t ($columns) WITH (parallel_workers = 2); $digest"),
			$server, "$columns, $settings: the server's order");
	}
}

$node->stop;
done_testing();
