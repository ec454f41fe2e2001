# GiST indexes of PostGIS's geometries: points, lines, polygons, collections,
# empty, huge, three-dimensional, not finite.  The index is sound and gives the
# answers of a sequential scan, and has about as many pages as the server's.
# Indexes that the server does not sort (geography, n-dimensional) stay with the
# server.  Then random mixtures of geometries follow.
#
# Skipped if the server has no PostGIS.  (Debian: postgresql-NN-postgis-3; the
# other tests do not need it.)
#
#   PTSORT_SEED           seed of the mixtures; the same seed gives the same ones
#   PTSORT_GIST_SECONDS   duration of the mixtures
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use BuildLoad;
use Gist;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $sharedir = `pg_config --sharedir`;
chomp $sharedir;
plan skip_all => 'the server has no PostGIS' unless -f "$sharedir/extension/postgis.control";

my $rows = $ENV{PTSORT_GIST_ROWS} || 6000;
my $seed = load_seed();
my $node = new_node('main', conf => "maintenance_work_mem = '64MB'");
create_sound($node);
$node->safe_psql('postgres', $gist_functions . q{
CREATE EXTENSION postgis;

-- Returns digests of answers: rows whose boxes overlap windows, rows that
-- intersect polygons, and the distances of the nearest rows.
CREATE FUNCTION geo_answers(tab text, by_index bool) RETURNS text LANGUAGE sql AS $$
SELECT answers_of(tab, by_index, ARRAY[
	format('SELECT count(*) || '' '' || sum(hashint4(id) # hashint4(x)) FROM generate_series(-50, 1000, 130) x, %s
		WHERE g && ST_MakeEnvelope(x, x, x + 100, 800 - x)', tab),
	format('SELECT count(*) || '' '' || sum(hashint4(id)) FROM %s
		WHERE g && ST_MakeEnvelope(0, 0, 1e20, 1e20)', tab),
	format('SELECT count(*) || '' '' || sum(hashint4(id) # hashint4(x)) FROM generate_series(-50, 1000, 350) x, %s
		WHERE ST_Intersects(g, ST_Buffer(ST_MakePoint(x, 300), 70, 3))', tab),
	format('SELECT count(*) || '' '' || sum(hashint4(id)) FROM %s WHERE g IS NULL', tab),
	format('SELECT md5(string_agg(d::text, '' '')) FROM
		(SELECT g <-> ST_MakePoint(400, 300) AS d FROM %s ORDER BY g <-> ST_MakePoint(400, 300) LIMIT 200) s', tab)],
	true)	-- GEOS refuses some geometries
$$;

-- A random geometry of one of 12 kinds.
CREATE FUNCTION geo(kind int) RETURNS geometry LANGUAGE sql AS $$
SELECT CASE kind
	WHEN 0 THEN ST_MakePoint(x, y)
	WHEN 1 THEN ST_MakePoint(floor(x / 50), floor(y / 300))
	WHEN 2 THEN ST_MakeLine(ST_MakePoint(x, y), ST_MakePoint(x + 9 * z, y - 30 * z))
	WHEN 3 THEN ST_Buffer(ST_MakePoint(x, y), 40 * z * z * z, 2)
	WHEN 4 THEN ST_Collect(ARRAY[ST_MakePoint(x, y), ST_MakeLine(ST_MakePoint(y, x), ST_MakePoint(x, x)), 'POINT EMPTY'])
	WHEN 5 THEN ('{POINT EMPTY,GEOMETRYCOLLECTION EMPTY,LINESTRING EMPTY,POLYGON EMPTY}'::text[])[1 + floor(4 * z)]::geometry
	WHEN 6 THEN ST_MakePoint(x * power(10, floor(600 * z) - 300), -y * power(10, floor(300 * z)))
	WHEN 7 THEN ST_MakePoint(x, y, 1000 * z)
	WHEN 8 THEN ST_MakePoint(x, y, 0, z)
	WHEN 9 THEN ST_MakeEnvelope(-x * 10, -y, x * 100, y * 1e6 * z)
	WHEN 10 THEN ST_MakePoint(('{Infinity,-Infinity,-0,0}'::float8[])[1 + floor(4 * z)], y)
	WHEN 11 THEN NULL END
FROM (SELECT 1000 * random() AS x, 1000 * random() AS y, random() AS z OFFSET 0) r $$;
});

# Fills the table "geo" with geometries of these kinds, builds an index with
# each of some settings, and compares them with the server's.  Returns the first
# difference, or ''.
sub differs
{
	my ($kinds, $n, $random, @settings) = @_;
	my $list = join ',', @$kinds;
	$node->safe_psql('postgres', qq{
DROP TABLE IF EXISTS geo;
SELECT setseed($random);
CREATE TABLE geo AS SELECT i AS id, geo(('{$list}'::int[])[1 + floor(random() * cardinality('{$list}'::int[]))]) AS g
FROM generate_series(1, $n) i;
VACUUM ANALYZE geo;
SET ptsort.enable = off;
CREATE INDEX geo_g ON geo USING gist (g)});
	my $digest;
	my ($expected, $by_index, $pages) = split /\|/, $node->safe_psql('postgres', q{
SELECT geo_answers('geo', false), geo_answers('geo', true), pg_relation_size('geo_g') / 8192});
	foreach my $setting (@settings)
	{
		my $name = join ' ', %$setting;
		my $end = log_end($node);
		my $set = join ' ', map { "SET $_ = $setting->{$_};" } sort keys %$setting;
		my $workers = $setting->{'ptsort.parallel_workers'};
		my ($found, $entries, $size, $contents) = split /\|/, $node->safe_psql('postgres', qq{
DROP INDEX geo_g; $set
CREATE INDEX geo_g ON geo USING gist (g);
SELECT geo_answers('geo', true), sound('geo_g'), pg_relation_size('geo_g') / 8192, pages('geo_g')});
		my @builds = builds_since($node, $end);
		return "$name: built '@builds'" if "@builds" ne 'geo_g: ' . ($workers + 1);
		return "$name: $entries entries, not $n" if $entries != $n;
		return "$name: $found, not $expected" if $found ne $expected && $found ne $by_index;
		# equal points may go to another page
		return "$name: $size pages, not $pages"
		  if abs($size - $pages) > 0.03 * $pages + ($setting->{'ptsort_test.slices'} ? 10 : 1 + $workers);
		# nulls have another size than boxes
		$digest //= $contents;
		return "$name: other pages" if $contents ne $digest && !grep { $_ == 11 } @$kinds;
	}
	diag("the server's index: $by_index, not $expected") if $expected ne $by_index;
	return '';
}

my @settings = (
	{ 'ptsort.parallel_workers' => 0, 'ptsort_test.slices' => 0 },
	{ 'ptsort.parallel_workers' => 3, 'ptsort_test.slices' => 0 },
	{ 'ptsort.parallel_workers' => 2, 'ptsort_test.slices' => 7, 'ptsort_test.spill_entries' => 700 },
	{ 'ptsort.parallel_workers' => 0, 'ptsort_test.slices' => 0, 'ptsort_test.spill_entries' => 300 });
my %kinds = (
	'points' => [0], 'equal points' => [1], 'lines' => [2], 'polygons' => [3], 'collections' => [4], 'empty' => [5],
	'huge points' => [6], 'three dimensions' => [ 7, 8 ], 'large boxes' => [9], 'infinite' => [ 0, 10 ], 'nulls' => [11],
	'all' => [ 0 .. 11 ]);
is(differs($kinds{$_}, $rows, 0.5, @settings), '', $_) foreach sort keys %kinds;

# NaN: no answers, because the operators are of little use with it
my $end = log_end($node);
is($node->safe_psql('postgres', q{
CREATE TABLE nan AS SELECT i AS id, ST_MakePoint(CASE i % 3 WHEN 0 THEN 'NaN' ELSE i::float8 END, CASE i % 5 WHEN 0 THEN 'NaN' ELSE -i::float8 END) AS g
FROM generate_series(1, 4000) i;
SET ptsort.parallel_workers = 2;
CREATE INDEX nan_g ON nan USING gist (g);
SELECT sound('nan_g')}), 4000, 'NaN: sound');
is_deeply([ builds_since($node, $end) ], ['nan_g: 3'], 'NaN: by ptsort');

# Indexes with other columns, expressions and predicates; changes
$end = log_end($node);
is($node->safe_psql('postgres', q{
SET ptsort.parallel_workers = 2;
CREATE TABLE places AS SELECT i AS id, geo(i % 5) AS g FROM generate_series(1, 6000) i;
CREATE INDEX places_include ON places USING gist (g) INCLUDE (id);
CREATE INDEX places_part ON places USING gist (g) WHERE id % 3 = 0;
CREATE INDEX places_center ON places USING gist (ST_Centroid(g));
CREATE INDEX places_two ON places USING gist (g, ST_Envelope(g));
INSERT INTO places SELECT id + 10000, ST_Translate(g, 3, 4) FROM places WHERE id % 3 = 1;
DELETE FROM places WHERE id % 7 = 0;
UPDATE places SET g = ST_Translate(g, 1, 1) WHERE id % 11 = 0;
VACUUM (INDEX_CLEANUP on) places;
SELECT sound(i) - (SELECT count(*) FROM places WHERE i <> 'places_part'::regclass OR id % 3 = 0)
FROM unnest('{places_include,places_part,places_center,places_two}'::regclass[]) i}), "0\n0\n0\n0", 'other indexes: sound after changes');
is_deeply([ builds_since($node, $end) ], [ map { "places_$_: 3" } qw(include part center two) ], 'other indexes: by ptsort');

# Exclusion constraints, CLUSTER, REINDEX
$end = log_end($node);
is($node->safe_psql('postgres', q{
SET ptsort.parallel_workers = 2;
CREATE TABLE apart AS SELECT i AS id, ST_MakeEnvelope(i % 70, i / 70, i % 70 + 0.75, i / 70 + 0.75) AS g FROM generate_series(1, 5000) i;
ALTER TABLE apart ADD CONSTRAINT apart_g EXCLUDE USING gist (g WITH &&);
CLUSTER apart USING apart_g;
REINDEX TABLE CONCURRENTLY nan;
SELECT sound('apart_g'), sound('nan_g')}), '5000|4000', 'exclusion constraint: sound');
is_deeply([ builds_since($node, $end) ], [ 'apart_g: 3', 'apart_g: 3', 'nan_g_ccnew: 3' ], 'exclusion constraint, CLUSTER, CONCURRENTLY: by ptsort');
like((try_sql($node, 'INSERT INTO apart VALUES (0, ST_MakePoint(7.5, 8.5))'))[1], qr/23P01/, 'exclusion constraint: it excludes');
like((try_sql($node, 'ALTER TABLE places ADD EXCLUDE USING gist (g WITH &&)'))[1], qr/23P01/, 'exclusion constraint: the build finds a conflict');

# Classes without sort support
$end = log_end($node);
is($node->safe_psql('postgres', q{
SET ptsort.parallel_workers = 2;
CREATE TABLE globe AS SELECT i AS id, ST_SetSRID(ST_MakePoint(360 * random() - 180, 180 * random() - 90), 4326)::geography AS g FROM generate_series(1, 2000) i;
CREATE INDEX globe_g ON globe USING gist (g);
CREATE INDEX places_nd ON places USING gist (g gist_geometry_ops_nd);
CREATE INDEX places_mixed ON places USING gist (g, g gist_geometry_ops_nd);
SELECT sound('globe_g') - 2000, sound('places_nd') - count(*), sound('places_mixed') - count(*) FROM places}),
	'0|0|0', 'without sort support: sound');
my @left = builds_since($node, $end);
is_deeply([ map { s/: left, .*sort support.*/: left/r } @left ], [ map { "$_: left" } qw(globe_g places_nd places_mixed) ], 'without sort support: by the server');

# Random mixtures
srand($seed);
my $until = time + ($ENV{PTSORT_GIST_SECONDS} // 5);
my ($rounds, @wrong) = (0);
while (time < $until || !$rounds)
{
	my @some = map { int(rand 12) } 1 .. 1 + rand 5;
	my $n = int(exp(rand 8.5)) + 1;
	my $random = sprintf '%.4f', rand;
	my %setting = (
		'ptsort.parallel_workers' => int(rand 5),
		'ptsort_test.slices' => (0, 0, 1 + int(rand 12))[ rand 3 ],
		'ptsort_test.spill_entries' => (0, 0, 50 + int(rand 1000))[ rand 3 ]);
	my $wrong = differs(\@some, $n, $random, \%setting);
	push @wrong, "round $rounds (kinds @some, $n rows): $wrong" if $wrong ne '';
	$rounds++;
}
is(join("\n", @wrong), '', "seed $seed: $rounds mixtures");
note("== seed $seed: $rounds mixtures of geometries");
check_nothing_left($node, 'PostGIS');
$node->stop;
done_testing();
