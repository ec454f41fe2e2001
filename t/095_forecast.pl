# Forecasts against builds: for many tables and indexes, ptsort_forecast()
# forecasts a build from a sample, then the build runs.  Nine of ten forecasts
# of the size and of WAL must be within 15 percent, and no forecast of the
# temporary space may be more than 10 percent too low.  The test prints times and
# how many are within a factor of 2, but its result does not depend on them.
#
# Depends on the version: each has its own catalogs, which a forecast reads
use strict;
use warnings;
use Fcntl;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The sample has a fraction of the rows, as it has of a large table.
my $node = new_node('main', conf => q{
ptsort_test.slices = 0
ptsort_test.sample_rows = 8000
ptsort_test.all_workers = off
wal_level = replica
full_page_writes = off
});

# Values of row i come from hashes of i, so that equal keys are all over the
# table, unless the table is sorted.
$node->safe_psql('postgres', q{
CREATE FUNCTION h(i int, n int) RETURNS int LANGUAGE sql IMMUTABLE
  AS $$SELECT abs(hashint4extended(i, n) % 1000000000)::int$$;
CREATE FUNCTION slow(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE
  AS $$BEGIN RETURN i % 100; END$$;
CREATE TABLE numbers AS
  SELECT i AS id, h(i, 1) AS random, h(i, 2)::int8 * 1000003 AS big,
    h(i, 3) % 7 AS few, h(i, 4) % 1000 AS coarse, h(i, 5) % 20000 AS triple, i / 10 AS clustered,
    CASE WHEN h(i, 6) % 2 = 0 THEN i ELSE h(i, 6) % 300 END AS mixed,
    (100000 / (1 + h(i, 7) % 10000))::int AS skewed,
    nullif(h(i, 8) % 2, 0) * i AS nulls, date '2020-01-01' + h(i, 9) % 2000 AS day,
    (h(i, 10) / 100.0)::numeric(12, 2) AS amount, md5(i::text)::uuid AS uuid
  FROM generate_series(1, 60000) i;
CREATE TABLE strings AS
  SELECT i AS id, md5(i::text) AS hash, 'user' || h(i, 1) % 5000 AS name,
    (ARRAY['new', 'paid', 'sent', 'returned'])[1 + h(i, 2) % 4] AS state,
    repeat(md5(i::text), 1 + h(i, 3) % 10) AS long,
    'http://www.example.org/articles/' || i AS url
  FROM generate_series(1, 40000) i;
CREATE TABLE wide AS
  SELECT i AS id, repeat(md5(i::text), 100) AS compressible,
    (SELECT string_agg(md5((i * 50 + j)::text), '') FROM generate_series(1, 40) j) AS random,
    repeat('x', 500) AS filler
  FROM generate_series(1, 4000) i;
ALTER TABLE wide ALTER random SET STORAGE MAIN;
CREATE TABLE sorted AS SELECT i AS id, i / 3 AS nearly, md5((i / 100)::text) AS text
  FROM generate_series(1, 50000) i;
CREATE TABLE places AS SELECT i AS id, CASE WHEN i % 10 > 0 THEN
    point(h(i, 1) % 100 + h(i, 2) % 1000 / 300.0, h(i, 3) % 60) END AS place
  FROM generate_series(1, 30000) i;
CREATE TABLE bloated AS SELECT i AS id, h(i, 1) % 5000 AS coarse, md5(i::text) AS text
  FROM generate_series(1, 100000) i;
DELETE FROM bloated WHERE h(id, 2) % 10 < 6;
CREATE TABLE updated (LIKE numbers) WITH (fillfactor = 50);
INSERT INTO updated TABLE numbers LIMIT 30000;
UPDATE updated SET few = few + 1 WHERE id % 3 = 0;
CREATE TABLE documents AS
  SELECT i AS id, CASE WHEN i % 50 > 0 THEN array_agg(1000000 / (1 + h(i, j) % 20000)) END AS numbers,
    array_agg(h(i, j) % 4000 || ' apples') AS texts, array_to_tsvector(array_agg(DISTINCT 'w' || sqrt(h(i, j))::int)) AS words,
    string_agg(to_hex(h(i, j) % 40000), ' ') AS sentence,
    jsonb_build_object('id', i, 'kind', h(i, 1) % 50, 'tags', jsonb_agg('tag' || h(i, j) % 3000), 'near', i / 100) AS data
  FROM generate_series(1, 25000) i, generate_series(1, 6) j GROUP BY i ORDER BY i;
VACUUM ANALYZE numbers, strings, wide, sorted, updated, documents;
});
my $trigrams = $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'");
$node->safe_psql('postgres', 'CREATE EXTENSION pg_trgm') if $trigrams;

my @indexes = (
	'numbers (id)', 'numbers (random)', 'numbers (big DESC NULLS LAST)',
	'numbers (few)', 'numbers (coarse)', 'numbers (triple)',
	'numbers (clustered)', 'numbers (mixed)', 'numbers (skewed)',
	'numbers (nulls)', 'numbers (day)', 'numbers (amount)',
	'numbers (uuid)', 'numbers (few, coarse, random)',
	'numbers (slow(random), few)', 'numbers (random) WHERE few = 3',
	'numbers (coarse) INCLUDE (id, few)', 'UNIQUE numbers (id) INCLUDE (uuid)',
	'numbers (random) WITH (fillfactor = 60)',
	'numbers (coarse) WITH (deduplicate_items = off)',
	'strings (hash)', 'strings (hash COLLATE "C")',
	'strings (name)', 'strings (state, id)', 'strings (state)',
	'strings (long)', 'UNIQUE strings (url)', 'strings (upper(name)) WHERE id > 5000',
	'strings (name text_pattern_ops, hash)', 'wide (id)',
	'wide (compressible)', 'wide (random)', 'sorted (id)',
	'sorted (nearly)', 'sorted (text)', 'bloated (id)',
	'bloated (coarse)', 'bloated (text)', 'updated (few)',
	'updated (coarse, uuid)', 'places USING gist (place)',
	'places USING gist (place, point(id, 0)) INCLUDE (id) WHERE id > 500',
	(map { "documents USING gin $_" } '(numbers)', '(texts)', '(words)', '(data)',
		'(data jsonb_path_ops)', '(numbers, words)', '(numbers) WHERE id % 3 = 0',
		"((ARRAY[id, id / 100, id % 7]))", "(to_tsvector('simple', sentence))"),
	$trigrams ? 'documents USING gin (sentence gin_trgm_ops)' : ()
);

my @ways = (
	[ 'in memory', q{SET maintenance_work_mem = '64MB'; SET ptsort.parallel_workers = 0} ],
	[ 'with runs', q{SET maintenance_work_mem = '1MB'; SET ptsort.parallel_workers = 0} ],
	[ 'parallel', q{SET maintenance_work_mem = '8MB'; SET ptsort_test.all_workers = on; SET ptsort.parallel_workers = 1} ]);

# Forecast a build, build, and return the forecast and the truth: size,
# temporary space, WAL, seconds, participants.
sub compare
{
	my ($index, $settings) = @_;
	my $unique = $index =~ s/^UNIQUE // ? 'UNIQUE' : '';
	my $create = "CREATE $unique INDEX i ON $index";
	my $quoted = $create =~ s/'/''/gr;
	my @lines = split /\n/, $node->safe_psql('postgres', qq{
$settings;
SELECT index_bytes, temp_bytes, wal_bytes, seconds, participants, rows
  FROM ptsort_forecast('$quoted');
SELECT extract(epoch FROM clock_timestamp()) AS start \\gset
$create;
SELECT pg_relation_size('i'), temp_bytes, wal_bytes,
    extract(epoch FROM clock_timestamp()) - :start,
    (SELECT count(*) FROM ptsort_last_build()) - 1, tuples
  FROM ptsort_last_build() WHERE role = 'total';
DROP INDEX i});
	return map { [ split /\|/ ] } @lines;
}

# True if a forecast is close to the truth.
sub is_close
{
	my ($guess, $truth) = @_;
	return abs($guess - $truth) <= 0.15 * $truth;
}

my ($close, $wal_close, $time_close, $all) = (0, 0, 0, 0);
foreach my $way (@ways)
{
	my ($name, $settings) = @$way;
	note sprintf("%-42s %17s %17s %17s %15s", $name, 'size kB', 'temporary kB', 'WAL kB', 'ms');
	my @low;
	foreach my $index (@indexes)
	{
		my ($guess, $truth) = compare($index, $settings);

		$all++;
		$close++ if is_close($guess->[0], $truth->[0]);
		$time_close++ if abs(log($guess->[3] / $truth->[3])) <= log(2);
		$wal_close++ if is_close($guess->[2], $truth->[2]);
		note sprintf("%-42s %8d %8d %8d %8d %8d %8d %7.1f %7.1f%s", $index,
			(map { $guess->[$_] / 1024, $truth->[$_] / 1024 } 0 .. 2),
			$guess->[3] * 1000, $truth->[3] * 1000,
			is_close($guess->[0], $truth->[0]) ? '' : ' size');
		push @low, "$index: $guess->[1] of $truth->[1]"
		  if $guess->[1] < 0.9 * $truth->[1];
		is($guess->[4], $truth->[4], "$name, $index: participants");
	}
	is(join('; ', @low), '', "$name: temporary space is not too low");
}
cmp_ok($close, '>=', 0.9 * $all, "$close of $all sizes are within 15 percent");
cmp_ok($wal_close, '>=', 0.9 * $all, "$wal_close of $all sizes of WAL are within 15 percent");

note("$time_close of $all times are within a factor of 2");

# Copies of tables: the first row is the copy.
foreach my $table (qw(numbers wide bloated updated))
{
	$node->safe_psql('postgres', "CREATE INDEX ${table}_id ON $table (id)");
	foreach my $statement ("CLUSTER $table USING ${table}_id", "VACUUM FULL $table")
	{
		my $guess = $node->safe_psql('postgres',
			"SELECT index_bytes FROM ptsort_forecast('$statement') LIMIT 1");
		$node->safe_psql('postgres', $statement);
		my $truth = $node->safe_psql('postgres',
			"SELECT pg_relation_size('$table') + coalesce(pg_relation_size(nullif(reltoastrelid, 0)), 0)
			FROM pg_class WHERE relname = '$table'");
		ok(is_close($guess, $truth), "$statement: $guess of $truth bytes");
	}
}

# REPACK, since 19
SKIP:
{
	skip 'no REPACK before 19', 2 if server_major() < 19;
	is($node->safe_psql('postgres',
			"SELECT count(*), count(rows) FROM ptsort_forecast('$_')"), '2|2', $_)
	  foreach 'REPACK numbers', 'REPACK (CONCURRENTLY) numbers USING INDEX numbers_id';
}

# Since 17 a role with MAINTAIN may rebuild an index, but may not write
# expressions, which run as the table's owner.
SKIP:
{
	skip 'no privilege MAINTAIN before 17', 2 if server_major() < 17;
	$node->safe_psql('postgres',
		'CREATE ROLE maintainer; GRANT MAINTAIN ON numbers TO maintainer');
	is($node->safe_psql('postgres',
			"SET ROLE maintainer; SELECT count(*) FROM ptsort_forecast('REINDEX TABLE numbers')"),
		'1', 'MAINTAIN suffices for REINDEX');
	my ($ret, $out, $err) = $node->psql('postgres',
		"SET ROLE maintainer; SELECT ptsort_forecast('CREATE INDEX ON numbers (id)')");
	like($err, qr/must be owner of table numbers/, 'MAINTAIN does not suffice for CREATE INDEX');
}

# An existing GIN index has the same forecast as a new one.
$node->safe_psql('postgres', 'CREATE INDEX existing ON documents USING gin (words)');
foreach my $statement ('REINDEX INDEX existing', 'CREATE INDEX ON documents USING gin (words)')
{
	my ($guess, $rows) = split /\|/, $node->safe_psql('postgres',
		"SELECT index_bytes, rows FROM ptsort_forecast('$statement')");
	my ($truth, $tuples) = split /\|/, $node->safe_psql('postgres',
		"SELECT pg_relation_size(oid), reltuples::int8 FROM pg_class WHERE relname = 'existing'");
	ok(is_close($guess, $truth), "$statement: $guess of $truth bytes");
	ok(is_close($rows, $tuples), "$statement: $rows of $tuples entries");
}

# Unlogged tables have no WAL.
is($node->safe_psql('postgres', q{
CREATE UNLOGGED TABLE unlogged AS TABLE sorted;
SELECT wal_bytes FROM ptsort_forecast('CREATE INDEX ON unlogged (id)')}),
	'0', 'no WAL for an unlogged table');

# If blocks come slowly, the forecast also reads rows of blocks, at eight places.
# This table is as small as such a table can be.
SKIP:
{
	skip 'no direct I/O', 2
	  if server_major() < 16 || !sysopen(my $fh, $node->data_dir . '/PG_VERSION', O_RDONLY | O_DIRECT);
	$node->safe_psql('postgres', q{
CREATE TABLE thin (id int, filler text) WITH (fillfactor = 10);
INSERT INTO thin SELECT i, repeat('x', 700) FROM generate_series(1, 1100) i});
	$node->append_conf('postgresql.conf', "debug_io_direct = 'data'");
	$node->restart;
	my $plan = $node->safe_psql('postgres', q{EXPLAIN (ANALYZE, BUFFERS, COSTS off)
SELECT * FROM ptsort_forecast('CREATE INDEX ON thin (id)')});
	my ($hit, $read) = $plan =~ /shared hit=(\d+) read=(\d+)/;
	cmp_ok($read, '>=', 1100, "a cold table: $read blocks read");
	cmp_ok($hit, '>=', 1024, "... and $hit again, in rows");
}

$node->stop;
done_testing();
