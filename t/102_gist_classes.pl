# GiST indexes of all types that the server sorts: points, and since 18 ranges
# and the types of btree_gist.  With random values, sizes and settings, the
# index is sound and gives the answers of a sequential scan.  Constraints WITHOUT
# OVERLAPS and foreign keys with PERIOD work.  Classes without sort support stay
# with the server.
#
#   PTSORT_SEED           seed of the random choices
#   PTSORT_GIST_SECONDS   duration of the random part
#
# Depends on the version: the server's classes do
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

my $seed = load_seed();
srand($seed);
my $node = new_node('main', conf => "maintenance_work_mem = '64MB'");
create_sound($node);
$node->safe_psql('postgres', q{CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')});
my $has_btree_gist = $node->safe_psql('postgres',
	q{SELECT count(*) FROM pg_available_extensions WHERE name = 'btree_gist'});
$node->safe_psql('postgres', 'CREATE EXTENSION btree_gist') if $has_btree_gist;

# Types: a value as a function of r, a random number below 1 million, and the
# operators of searches.
my $range = '%s(LEAST(r %% 5000, r %% 5000 + r %% 7), r %% 5000 + r %% 7, CASE r %% 3 WHEN 0 THEN \'[]\' WHEN 1 THEN \'(]\' ELSE \'[)\' END)';
my %types = (
	point => [ 'point(r % 3000, r / 300)', '~=', '>>' ],
	box => [ 'box(point(r % 3000, r / 300), point(r % 7, 9))', '&&', '~=' ],
	int4range => [ sprintf($range, 'int4range'), '&&', '@>', '-|-' ],
	int8range => [ sprintf($range, 'int8range'), '&&', '<<' ],
	numrange => [ sprintf($range, 'numrange'), '&&', '<@' ],
	daterange => [ q{daterange('2020-01-01'::date + r % 3000, '2020-01-01'::date + r % 3000 + r % 9)}, '&&', '@>' ],
	tsrange => [ q{tsrange('2020-01-01'::timestamp + r * interval '1 min', CASE WHEN r % 50 > 0 THEN '2020-01-03'::timestamp + r * interval '1 min' END)}, '&&', '@>' ],
	int4multirange => [ 'int4multirange(int4range(r % 100, r % 100 + 3), int4range(200 + r % 300, 501))', '&&', '@>' ]);
%types = (
	%types,
	int2 => [ '(r % 3000)::int2', '=', '<' ],
	int4 => [ 'r::int', '=', '>' ],
	int8 => [ 'r * 10000000000', '=', '<=' ],
	float4 => [ '(r / 7.0)::float4', '=', '<' ],
	float8 => [ q{CASE r % 50 WHEN 0 THEN '-infinity' WHEN 1 THEN '-0' ELSE (r / 7.0)::float8 END}, '=', '<' ],
	numeric => [ q{CASE r % 50 WHEN 0 THEN 'NaN' ELSE r / 7.0 END}, '=', '<' ],
	text => [ q{repeat(chr(97 + r % 20), r % 30) || r}, '=', '<' ],
	varchar => [ 'md5((r / 9)::text)', '=', '>' ],
	bpchar => [ 'left(md5((r / 9)::text), 9)', '=', '>' ],
	bytea => [ q{decode(md5((r / 5)::text), 'hex')}, '=', '>' ],
	date => [ q{'2020-01-01'::date + r % 5000}, '=', '>=' ],
	time => [ q{'00:00'::time + r * interval '1 s'}, '=', '>=' ],
	timetz => [ q{('00:00'::time + r * interval '1 s')::timetz}, '=', '>=' ],
	timestamp => [ q{'2020-01-01'::timestamp + r * interval '1 min'}, '=', '<' ],
	timestamptz => [ q{'2020-01-01'::timestamptz + r * interval '1 min'}, '=', '<' ],
	interval => [ q{r * interval '11 hours'}, '=', '<' ],
	uuid => [ 'md5((r / 3)::text)::uuid', '=', '<' ],
	oid => [ 'r::oid', '=', '<' ],
	money => [ 'r::money', '=', '<' ],
	macaddr => [ 'left(md5(r::text), 12)::macaddr', '=', '<' ],
	macaddr8 => [ 'left(md5(r::text), 16)::macaddr8', '=', '<' ],
	bit => [ 'r::int::bit(20)', '=', '<' ],
	varbit => [ 'r::int::bit(20)::varbit', '=', '<' ],
	bool => [ 'r % 3 = 0', '=', '<' ],
	mood => [ q{('{sad,ok,happy}'::mood[])[1 + r % 3]}, '=', '<' ]) if $has_btree_gist;
delete $types{bool} if server_major() < 16;

# btree_gist's union of bit strings misreads the first of them, so that an index
# may lose rows, also the server's.  The function does not run for a lone column
# without nulls.
my %misread = map { $_ => 1 } qw(bit varbit);

# Types of whose class a function is not marked as parallel safe: bool before 19
my %is_serial = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', q{
SELECT DISTINCT 'bool' FROM pg_proc WHERE proname ~ '^gbt_bool_' AND proname !~ 'sortsupport' AND proparallel <> 's'});

# Indexes whose classes all have sort support, by their columns
my @names = sort keys %types;
my %is_sorted = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', q{
SELECT t FROM unnest('} . '{' . join(',', @names) . '}' . q{'::text[]) t WHERE EXISTS (
	SELECT FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod JOIN pg_amproc p ON amprocfamily = opcfamily AND amproclefttype = opcintype
	WHERE amname = 'gist' AND opcdefault AND amprocnum = 11
		AND (opcintype = t::regtype OR opcintype = 'anyrange'::regtype AND t ~ 'range$' AND t !~ 'multi'
			OR opcintype = 'anyenum'::regtype AND t = 'mood' OR opcintype = 'text'::regtype AND t = 'varchar'))});
note('sorted: ' . join ' ', grep { $is_sorted{$_} } @names);
ok($is_sorted{point}, 'points are sorted');
ok($is_sorted{int4range}, 'ranges are sorted') if server_major() >= 18;

# Returns the SQL of digests of all rows that a search for some values finds.
sub answers
{
	my ($columns) = @_;
	my $k = 0;
	return join ', ', map {
		my $column = 'v' . $k++;
		map { "(SELECT concat(count(*), ' ', sum(hashint8(k.id * 7 + p.id))) FROM probes p, k WHERE k.$column $_ p.$column)" } @{ $types{$_} }[ 1 .. $#{ $types{$_} } ]
	} @$columns;
}

# Builds an index of the columns and compares its answers.  Returns the
# difference, or ''.
sub differs
{
	my ($columns, $n, $random, $settings) = @_;
	my $sorted = !grep { !$is_sorted{$_} } @$columns;
	my @v = map { "v$_" } 0 .. $#$columns;
	my $row = join ', ', map { my $type = $columns->[$_]; ($misread{$type} ? $types{$type}[0] : "CASE WHEN r % 40 > 0 THEN $types{$type}[0] END") . " AS v$_" } 0 .. $#$columns;
	my $set = join ' ', map { "SET $_ = $settings->{$_};" } sort keys %$settings;
	my $answers = answers($columns);
	my $keys = join ', ', @v;
	my $end = log_end($node);
	my ($out, $err) = try_sql($node, qq{
SET client_min_messages = error;
DROP TABLE IF EXISTS k, probes;
SELECT setseed($random);
CREATE TABLE k AS SELECT i AS id, $row FROM (SELECT i, floor(1000000 * random())::int AS r FROM generate_series(1, $n) i OFFSET 0) s;
CREATE TABLE probes AS SELECT * FROM k ORDER BY hashint8(id) LIMIT 20;
ANALYZE k;
SET max_parallel_workers_per_gather = 0; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SET enable_material = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;
\\echo answers
SELECT $answers;
$set
CREATE INDEX k_v ON k USING gist ($keys);
\\echo entries
SELECT sound('k_v');
SET enable_seqscan = off; SET enable_indexscan = on; SET enable_indexonlyscan = on;
\\echo answers
SELECT $answers;});
	my ($expected, $found) = $out =~ /^answers\n(.*)$/mg;
	my ($entries) = $out =~ /^entries\n(\d+)$/m;
	my $problem = error_of($err);
	return $problem if $problem ne '';
	return "$entries entries" if $entries != $n;
	return "answers $found, not $expected" if $found ne $expected;
	my @builds = builds_since($node, $end);
	my $workers = (grep { $is_serial{$_} } @$columns) ? 0 : $settings->{'ptsort.parallel_workers'};
	my $wanted = $sorted ? 'k_v: ' . (1 + $workers) : 'k_v: left, GiST, a class without sort support';
	return "built '@builds', not '$wanted'" if "@builds" ne $wanted;
	return '';
}

sub random_settings
{
	return {
		'ptsort.parallel_workers' => int(rand 5),
		'ptsort_test.slices' => (0, 0, 1 + int(rand 12))[ rand 3 ],
		'ptsort_test.spill_entries' => (0, 0, 50 + int(rand 1000))[ rand 3 ] };
}

foreach my $name (@names)
{
	is(differs([$name], 3000, sprintf('%.4f', rand), random_settings()), '', "seed $seed: $name");
}
my $until = time + ($ENV{PTSORT_GIST_SECONDS} // 5);
my ($rounds, @wrong) = (0);
my @sorted = grep { $is_sorted{$_} && !$misread{$_} } @names;
while (time < $until || !$rounds)
{
	my @columns = map { $sorted[ rand @sorted ] } 1 .. 1 + rand 3;
	my $n = int(exp(rand 8.5)) + 1;
	my $wrong = differs(\@columns, $n, sprintf('%.4f', rand), random_settings());
	push @wrong, "round $rounds (@columns, $n rows): $wrong" if $wrong ne '';
	$rounds++;
}
is(join("\n", @wrong), '', "seed $seed: $rounds indexes");
note("== seed $seed: $rounds random GiST indexes");

# Inserts after a build with a low fillfactor: an expression of points, on
# partitions.  (With NaN, also the server's indexes of points lose rows.)
$node->safe_psql('postgres', $gist_functions);
foreach my $round (1 .. 6)
{
	my $fillfactor = (10, 10, 60)[ $round % 3 ];
	my $value = ('point(1000 * random(), 1000 * random())', 'point(i % 30, i % 23)',
		q{CASE i % 9 WHEN 0 THEN point('infinity', i) ELSE point(1000 * random(), i % 999) END})[ rand 3 ];
	my $answers = sub {
		my ($table, $by_index) = @_;
		my @windows = map { "\$q\$SELECT concat(count(*), ' ', sum(id)) FROM $table WHERE (a + point(1,1)) <@ box(point($_, $_), point(3 * $_ + 9, 1000 - $_))\$q\$" } 1, 8, 77, 240;
		return "SELECT answers_of('$table', $by_index, ARRAY[" . join(', ', @windows) . ']);';
	};
	my $end = log_end($node);
	my ($scan, @found) = split /\n/, $node->safe_psql('postgres', qq{
SET client_min_messages = error;
DROP TABLE IF EXISTS rows, parts, by_server;
CREATE TABLE rows AS SELECT i AS id, $value AS a FROM (SELECT setseed(@{[ sprintf '%.4f', rand ]}) OFFSET 0) s, generate_series(1, 3000) i;
SET ptsort.parallel_workers = 7; SET ptsort_test.slices = 7;
} . join('', map { qq{
SET ptsort.enable = @{[ $_ eq 'parts' ? 'on' : 'off' ]};
CREATE TABLE $_ (id int, a point) PARTITION BY HASH (id);
CREATE TABLE ${_}_0 PARTITION OF $_ FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE ${_}_1 PARTITION OF $_ FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO $_ SELECT * FROM rows WHERE id % 3 > 0;
CREATE INDEX ON $_ USING gist ((a + point(1,1))) WITH (fillfactor = $fillfactor);
INSERT INTO $_ SELECT * FROM rows WHERE id % 3 = 0;
} } 'parts', 'by_server') . $answers->('by_server', 'false') . $answers->('by_server', 'true') . $answers->('parts', 'true'));
	is_deeply(\@found, [ $scan, $scan ], "seed $seed: inserts after the build, round $round: $value, fillfactor $fillfactor");
	is(scalar(grep { /^parts_[01]_expr_idx: 8$/ } builds_since($node, $end)), 2, '... built by ptsort');
}

# If all keys have the same size, the pages are the server's.
my %fixed = (
	point => 'point(random(), random())',
	int8range => 'int8range(r, r + 1 + r % 7)',
	int8 => 'r::int8',
	timestamptz => $types{timestamptz}[0],
	uuid => $types{uuid}[0]);
foreach my $name (grep { $is_sorted{$_} } sort keys %fixed)
{
	my $end = log_end($node);
	is($node->safe_psql('postgres', qq{
CREATE TABLE fixed AS SELECT $fixed{$name} AS v FROM (SELECT abs(hashint4(i) / 2) AS r FROM generate_series(1, 20000) i) s;
SET ptsort.enable = off;
CREATE INDEX servers ON fixed USING gist (v);
SET ptsort.enable = on;
SET ptsort.parallel_workers = 3;
CREATE INDEX ours ON fixed USING gist (v);
SELECT pages('ours') = pages('servers');
DROP TABLE fixed}), 't', "$name: the server's pages");
	like(join(' ', builds_since($node, $end)), qr/ours: 4$/, "$name: by ptsort");
}

# A row that does not fit in a page: the server's error
$node->safe_psql('postgres', q{
CREATE TABLE wide (p point, word text);
ALTER TABLE wide ALTER word SET STORAGE EXTERNAL;	-- no compression
INSERT INTO wide SELECT point(i, i), CASE WHEN i % 1000 = 500 THEN repeat('x', 8110) END FROM generate_series(1, 5000) i});
my @errors = map { error_of((try_sql($node, "$_; CREATE INDEX ON wide USING gist (p) INCLUDE (word)"))[1]) }
  'SET ptsort.enable = off', map { "SET ptsort.parallel_workers = $_; SET ptsort_test.slices = 7" } 0, 3;
like($errors[0], qr/failed to add item to GiST index page/, 'a row that does not fit in a page');
is("$errors[1]|$errors[2]", "$errors[0]|$errors[0]", '... the same error');
$node->safe_psql('postgres', 'DELETE FROM wide WHERE word IS NULL; VACUUM FULL wide');
is(error_of((try_sql($node, 'SET ptsort.parallel_workers = 3; SET ptsort_test.slices = 3; CREATE INDEX ON wide USING gist (p) INCLUDE (word)'))[1]),
	$errors[0], '... in the first row of each slice');

# Exclusion constraints of ranges, temporal keys
my $periods = q{
SET ptsort.parallel_workers = 2;
CREATE TABLE stays AS SELECT i % 50 AS room, daterange('2020-01-01'::date + i / 50 * 3, '2020-01-03'::date + i / 50 * 3) AS valid
FROM generate_series(1, 4000) i;
};
SKIP:
{
	skip 'no btree_gist', 1 unless $has_btree_gist;
	my $end = log_end($node);
	is($node->safe_psql('postgres', "$periods
ALTER TABLE stays ADD CONSTRAINT stays_apart EXCLUDE USING gist (room WITH =, valid WITH &&);
SELECT sound('stays_apart')"), 4000, 'exclusion constraint: sound');
	is("@{[ builds_since($node, $end) ]}", $is_sorted{int4range} ? 'stays_apart: 3' : 'stays_apart: left, GiST, a class without sort support',
		'exclusion constraint: built by');
	like((try_sql($node, q{INSERT INTO stays VALUES (7, '[2020-02-01,2020-02-09)')}))[1], qr/23P01/, 'exclusion constraint: excludes');
}
SKIP:
{
	skip 'no temporal keys before 18', 1 if server_major() < 18 || !$has_btree_gist;
	my $end = log_end($node);
	is($node->safe_psql('postgres', "DROP TABLE stays; $periods" . q{
ALTER TABLE stays ADD CONSTRAINT stays_key PRIMARY KEY (room, valid WITHOUT OVERLAPS);
CREATE TABLE guests AS SELECT room, daterange(lower(valid), lower(valid) + 1) AS valid FROM stays WHERE room % 2 = 0;
ALTER TABLE guests ADD CONSTRAINT guests_stay FOREIGN KEY (room, PERIOD valid) REFERENCES stays (room, PERIOD valid);
ALTER TABLE guests ADD CONSTRAINT guests_key UNIQUE (room, valid WITHOUT OVERLAPS);
REINDEX TABLE stays;
SELECT sound('stays_key'), sound('guests_key') = count(*) FROM guests}), '4000|t', 'temporal keys: sound');
	is_deeply([ builds_since($node, $end) ], [ 'stays_key: 3', 'guests_key: 3', 'stays_key: 3' ], 'temporal keys: by ptsort');
	like((try_sql($node, q{INSERT INTO stays VALUES (7, '[2020-02-01,2020-02-09)')}))[1], qr/23P01/, 'temporal keys: no overlap');
	like((try_sql($node, q{INSERT INTO guests VALUES (7, '[2010-02-01,2010-02-09)')}))[1], qr/23503/, 'temporal keys: no guest without a stay');
	like((try_sql($node, q{CREATE TABLE copy AS SELECT * FROM stays UNION ALL SELECT * FROM stays WHERE room = 7;
ALTER TABLE copy ADD PRIMARY KEY (room, valid WITHOUT OVERLAPS)}))[1], qr/23P01/, 'temporal keys: the build finds an overlap');
}
check_nothing_left($node, 'GiST');
$node->stop;
done_testing();
