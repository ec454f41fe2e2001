# GIN indexes of all operator classes that the server has: with random settings,
# the index has the entries of the rows, and each operator of the class
# finds the same rows.  Several columns, expressions, predicates, nulls, equal keys
# with unequal bytes, long keys, and the server's error for keys that are too long.
#
#   PTSORT_SEED   seed of the random choices
#
# Depends on the version: the server's classes do
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use BuildLoad;
use Gin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = load_seed();
srand($seed);
my $rows = 3000;
my $node = new_node('main', conf => "maintenance_work_mem = '64MB'");
create_sound($node);
$node->safe_psql('postgres', $gin_functions . q{
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text)});
foreach my $extension (qw(btree_gin citext hstore intarray pg_trgm))
{
	$node->safe_psql('postgres', qq{DO \$\$BEGIN
IF EXISTS (SELECT FROM pg_available_extensions WHERE name = '$extension') THEN CREATE EXTENSION $extension; END IF; END\$\$});
}

# Values by the class's name, or its name and type: type, value as a function of r,
# a random number below 1 million, and operands, by the operator's right type.
my $array = 'ARRAY[%s, NULLIF(%s, %s)]';
my %scalars = (
	bit => 'r::int::bit(20)', bool => 'r % 3 = 0', bpchar => 'left(md5((r / 9)::text), 9)', bytea => q{decode(md5((r / 500)::text), 'hex')},
	char => q{chr(97 + r % 20)::"char"}, cidr => q{set_masklen(('10.' || r % 99 || '.7.0')::cidr, 24)}, date => q{'2020-01-01'::date + r % 500},
	enum => q{('{sad,ok,happy}'::mood[])[1 + r % 3]}, float4 => '(r % 999 / 7.0)::float4', float8 => q{CASE r % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 0 ELSE (r % 999 / 7.0)::float8 END},
	inet => q{('10.' || r % 99 || '.7.1')::inet}, int2 => '(r % 300)::int2', int4 => 'r % 2000 - 1000', int8 => 'r % 700 * 10000000000', interval => q{CASE r % 3 WHEN 0 THEN interval '24 hours' WHEN 1 THEN interval '1 day' ELSE r % 300 * interval '11 hours' END},
	macaddr => 'left(md5((r % 800)::text), 12)::macaddr', macaddr8 => 'left(md5((r % 800)::text), 16)::macaddr8', money => '(r % 500)::money', name => q{('n' || r % 300)::name},
	numeric => q{CASE r % 4 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 WHEN 2 THEN 'NaN' ELSE r % 500 / 7.0 END}, oid => '(r % 900)::oid', text => q{repeat(chr(97 + r % 20), r % 30) || r % 50}, time => q{'00:00'::time + r % 800 * interval '1 s'},
	timetz => q{('00:00'::time + r % 800 * interval '1 s')::timetz}, timestamp => q{'2020-01-01'::timestamp + r % 800 * interval '1 min'}, timestamptz => q{'2020-01-01'::timestamptz + r % 800 * interval '1 min'},
	uuid => 'md5((r / 3000)::text)::uuid', varbit => 'r::int::bit(20)::varbit', varchar => q{('v' || r % 400)::varchar});
my %values = map { ("${_}_ops" => [ $scalars{$_} ]) } keys %scalars;
my $json = q{CASE r % 30 WHEN 0 THEN '{}' WHEN 1 THEN '[]' WHEN 2 THEN '7' WHEN 3 THEN 'null' ELSE jsonb_build_object('id', r % 500, 'n', r % 5 * 1.50, 'w', 'w' || r % 40, 'on', r % 2 = 0, 'no', NULL, 'a', jsonb_build_array(r % 7, 'x', jsonb_build_object('deep', r % 9))) END};
my %json_operands = (jsonb => [ q{'{"n": 1.5}'}, q{'{"a": [3, {"deep": 4}]}'}, q{'{"w": "w7", "on": false}'}, q{'{}'}, q{'[]'} ], text => [ q{'id'}, q{'x'}, q{'none'} ],
	'text[]' => [ q{'{id,none}'}, q{'{}'}, q{'{w,on}'} ], jsonpath => [ q{'$.n == 3'}, q{'$.a[*].deep ? (@ == 2)'}, q{'$.**.deep == 1'} ]);
%values = (
	%values,
	jsonb_ops => [ $json, \%json_operands ],
	jsonb_path_ops => [ $json, \%json_operands ],
	tsvector_ops => [ q{CASE WHEN r % 40 = 0 THEN ''::tsvector ELSE to_tsvector('simple', concat_ws(' ', 'all', 'w' || r % 30, 'x' || r % 700, 'y' || r)) END},
		{ tsquery => [ map { "'$_'" } 'all', 'w7 & x1:*', 'w7 | !all', 'all <-> w3', 'nothing', '!all' ] } ],
	gin_trgm_ops => [ q{CASE WHEN r % 40 = 0 THEN '' ELSE 'word ' || r % 300 || ' of ' || md5((r / 999)::text) END},
		{ text => [ map { "'$_'" } '%rd 17%', 'word 1[0-9]+ of a', 'WORD 29', 'f%', 'of', '', 'word 5 of abc' ] } ],
	gin_hstore_ops => [ q{CASE WHEN r % 40 = 0 THEN ''::hstore ELSE hstore(ARRAY['id', 'k' || r % 9, 'none'], ARRAY[(r % 500)::text, 'v', NULL]) END},
		{ hstore => [ map { "'$_'" } 'id=>7', 'k3=>v', 'none=>NULL', '' ], text => [ q{'k4'}, q{'k'} ], 'text[]' => [ q{'{k1,k2}'}, q{'{id,k5}'}, q{'{}'} ] } ],
	gin__int_ops => [ q{CASE WHEN r % 40 = 0 THEN '{}'::int[] ELSE ARRAY[r % 7, r % 300, 1, r] END},
		{ 'integer[]' => [ map { "'$_'" } '{1}', '{3,5}', '{1,2,3,4,77}', '{}' ], query_int => [ map { "'$_'" } '1&5', '3|!4', '!1', '(2|9)&1' ] } ]);
# arrays of all scalar types, and of some that have no class of their own
foreach my $name (keys %scalars)
{
	my $second = $scalars{$name} =~ s/\br\b/((r + 17) % 999)/gr;
	$values{"array_ops $name"} = [ "CASE WHEN r % 40 = 0 THEN array_remove(ARRAY[$scalars{$name}], $scalars{$name}) ELSE ARRAY[$scalars{$name}, NULLIF($second, $scalars{$name})] END" ];
}
$values{'array_ops citext'} = [ q{ARRAY[CASE r % 2 WHEN 0 THEN 'Word' ELSE 'wORD' END || r % 50, 'all', 'ALL']::citext[]} ] if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_type WHERE typname = 'citext'});
$values{'array_ops pair'} = [ q{ARRAY[ROW(r % 9, 'b'), ROW(1, NULL)]::pair[]} ];
$values{'array_ops range'} = [ q{ARRAY[int4range(r % 9, 20), 'empty']} ];

# The classes: name, the type to index, whether workers may call all functions, and
# the operators with their right types, without btree_gin's comparisons of two types
# in 19
my @classes = map { [ split /\|/, $_, 4 ] } split /\n/, $node->safe_psql('postgres', q{
SELECT opcname, CASE WHEN opcintype::regtype::text !~ '^any' THEN format('::%s', opcintype::regtype) END,
	(SELECT bool_and(proparallel = 's') FROM pg_amproc JOIN pg_proc p ON p.oid = amproc WHERE amprocfamily = opcfamily AND amproclefttype = opcintype),
	string_agg(format('OPERATOR(%s.%s) %s', oprnamespace::regnamespace, oprname, amoprighttype::regtype), ',' ORDER BY amopstrategy)
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod JOIN pg_amop ON amopfamily = opcfamily JOIN pg_operator o ON o.oid = amopopr
WHERE amname = 'gin' AND (amoprighttype = amoplefttype OR oprname !~ '^[<=>]+$')
GROUP BY c.oid, opcname, opcintype, opcfamily ORDER BY opcname});
cmp_ok(scalar @classes, '>=', 4, 'classes: ' . join ' ', map { $_->[0] } @classes);

sub random_settings
{
	return join ' ', map { "SET $_->[0] = $_->[1];" } [ 'ptsort.parallel_workers', int(rand 4) ], [ 'ptsort_test.slices', (0, 0, 1 + int(rand 12))[ rand 3 ] ],
	  [ 'ptsort_test.spill_entries', (0, 0, 50 + int(rand 1000))[ rand 3 ] ];
}

my $is_safe;    # true if workers may call the functions of the classes

# Builds an index by the server and by ptsort; both must have the entries of the rows
# and give the answers of a sequential scan.
sub same_as_server
{
	my ($name, $what, @conditions) = @_;
	my $conditions = conditions(@conditions);
	my ($state, $answers, $size) = servers_index($node, 'k', $what, $conditions);
	my $settings = random_settings();
	my ($ours, $found, $scanned, $built, $pages) = split /\n/, $node->safe_psql('postgres', qq{
$settings
CREATE INDEX k_v ON k USING gin $what;
SELECT gin_state('k_v');
SELECT gin_answers('k', true, $conditions);
SELECT gin_answers('k', false, $conditions);
SELECT count(participant) FROM ptsort_last_build() WHERE index_name = 'k_v';
SELECT pg_relation_size('k_v') / 8192;
DROP INDEX k_v});
	is($ours, $state, "seed $seed: $name: the server's numbers of keys and entries ($settings)");
	is($found, $scanned, "$name: answers of a sequential scan") unless $found eq $answers;    # else the server's index is wrong, too
	is($found, $answers, "$name: the server's answers");
	cmp_ok($pages, '<=', 1.02 * $size + 13, "$name: $pages pages, the server $size");
	is($built, 1 + ($is_safe eq 't' && ($settings =~ /workers = (\d)/)[0]), "$name: by ptsort");
}

foreach my $class (@classes)
{
	(my ($opclass, $cast), $is_safe, my $operators) = @$class;
	my @cases = grep { $_ eq $opclass || /^\Q$opclass\E / } sort keys %values;
	ok(@cases > 0, "$opclass: the test knows values of this class");
	foreach my $case (@cases)
	{
		my ($value, $operands) = @{ $values{$case} };
		$node->safe_psql('postgres', qq{
SET client_min_messages = error;
DROP TABLE IF EXISTS k;
SELECT setseed(@{[ sprintf '%.4f', rand ]});
CREATE TABLE k AS SELECT i AS id, CASE WHEN i % 40 > 0 THEN ($value)$cast END AS v FROM (SELECT i, floor(1000000 * random())::int AS r FROM generate_series(1, $rows) i OFFSET 0) s;
ANALYZE k});
		my @conditions;
		foreach (split /,(?=[^ ,]+ )/, $operators)
		{
			my ($operator, $type) = split / /, $_, 2;
			my $known = $operands && $operands->{$type};
			my $probe = $type =~ /^any/ ? '' : "::$type";
			push @conditions, map { "v $operator $_" } $known ? @$known : map { "(SELECT v FROM k WHERE id = $_)$probe" } 41, 99, 277;
		}
		same_as_server($case, "(v $opclass)", @conditions);
	}
}
$is_safe = 't';

# Several columns, expressions, predicates, one row, no key
$node->safe_psql('postgres', qq{
DROP TABLE k;
CREATE TABLE k AS SELECT i AS id, CASE WHEN i % 9 > 0 THEN ($values{gin__int_ops}[0])::int8[] END AS a, $values{tsvector_ops}[0] AS v, CASE WHEN i % 11 > 0 THEN $json END AS j, md5(r::text) AS w
FROM (SELECT i, abs(hashint4(i)) % 1000000 AS r FROM generate_series(1, $rows) i OFFSET 0) s;
UPDATE k SET w = w || 'x' WHERE id % 20 = 0});
my @a = (q{a @> '{3,5}'}, q{a && '{2,77}'}, q{a = '{}'});
my @v = map { "v @@ '$_'::tsquery" } 'w7 & x1:*', 'all';
same_as_server('two columns', '(a array_ops, v)', @a, @v, "$a[1] AND $v[0]");
same_as_server('two columns, not the default fastupdate', '(v, a array_ops) WITH (fastupdate = off)', @a, @v);
same_as_server('four columns', '(j, a array_ops, v, j jsonb_path_ops)', @a, @v, q{j @> '{"n": 1.5}'}, q{j ? 'id' AND a @> '{3}'});
same_as_server('the same column twice', '(a array_ops, a array_ops)', @a);
same_as_server('expression', q{(string_to_array(w, 'a'), (a || id) array_ops)}, q{string_to_array(w, 'a') @> '{7}'}, q{(a || id) @> '{77}'}, q{(a || id) @> '{1,6,500}'});
same_as_server('partial', '(a array_ops) WHERE id % 3 = 0', map { "$_ AND id % 3 = 0" } @a);
same_as_server('no row', '(a array_ops) WHERE id < 0', q{a @> '{1}' AND id < 0});
same_as_server('one row', '(v) WHERE id = 7', q{v @@ 'all' AND id = 7});
same_as_server('nulls', '((NULLIF(a, a)) array_ops)', q{NULLIF(a, a) @> '{1}'});
same_as_server('empty items', '((a[2:1]) array_ops)', q{(a[2:1]) = '{}'});
same_as_server('null keys', '((ARRAY[NULLIF(id, id)::int8]) array_ops)', q{(ARRAY[NULLIF(id, id)::int8]) @> '{1}'}, q{(ARRAY[NULLIF(id, id)::int8]) <@ '{}'});

# Long keys: those of 1 kB and the longest that fit in a tuple; then one that is too
# long, in the leader or a worker
$node->safe_psql('postgres', q{
CREATE TABLE hexes AS SELECT string_agg(md5(g::text), '') AS w FROM generate_series(1, 90) g;
DROP TABLE k;
CREATE TABLE k (id int, a text[]);
ALTER TABLE k ALTER a SET STORAGE EXTERNAL;
INSERT INTO k SELECT i, ARRAY[i % 50 || '-' || left(w, 1000), i % 400 || '-' || left(w, 300 + i % 2380), 'all'] FROM hexes, generate_series(1, 2500) i});
same_as_server('long keys', '(a)', q{a @> '{all}'}, map { "a && ARRAY[(SELECT a[$_] FROM k WHERE id = 77)]" } 1, 2);
my $longest;
foreach my $length (2600 .. 2720)
{
	my ($out, $err) = try_sql($node, "SET ptsort.enable = off; INSERT INTO k SELECT 9999, ARRAY[left(w, $length)] FROM hexes; CREATE INDEX k_v ON k USING gin (a); DROP INDEX k_v");
	$node->safe_psql('postgres', 'DELETE FROM k WHERE id = 9999; VACUUM k');
	last if $err ne '';
	$longest = $length;
}
note("== the longest key has $longest bytes");
$node->safe_psql('postgres', "INSERT INTO k SELECT 9999, ARRAY['x', left(w, $longest)] FROM hexes");
same_as_server('the longest key', '(a)', q{a @> '{x}'}, q{a @> ARRAY[(SELECT a[2] FROM k WHERE id = 9999)]});
foreach my $where ('9999', '1')
{
	$node->safe_psql('postgres', "UPDATE k SET a = ARRAY['x', left(w, $longest + 1)] FROM hexes WHERE id = $where; VACUUM FULL k");
	my @errors = map { error_of((try_sql($node, "$_; CREATE INDEX k_v ON k USING gin (a)"))[1]) }
	  'SET ptsort.enable = off', map { "SET ptsort.parallel_workers = $_; SET ptsort_test.slices = 5" } 0, 3;
	like($errors[0], qr/index row size \d+ exceeds maximum/, "a key of $longest + 1 bytes in row $where");
	is("$errors[1]|$errors[2]", "$errors[0]|$errors[0]", '... the same error');
}
check_nothing_left($node, 'GIN');
$node->stop;
done_testing();
