# Indexes of the methods GiST and GIN, of many classes and shapes, to damage; and
# queries whose answers by the index must be those of a sequential scan.
package OtherShapes;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(create_others %special_of);

# Where the special area of a page begins
our %special_of = (gist => 8176, gin => 8184);

my $window = q{SELECT md5(string_agg(concat(key), ' ' ORDER BY concat(key))) FROM TABLE WHERE };
my $found = q{SELECT concat(count(*), ' ', sum(hashint4(id))) FROM TABLE WHERE };
my $array = 'ARRAY[i % 7, i % 90, 500 + i]';
my $words = q{concat_ws(' ', 'all', 'w' || i % 30, 'x' || i % 200, 'y' || i)};
my $json = q{jsonb_build_object('id', i, 'n', i % 5 * 1.5, 'w', 'w' || i % 40, 'a', jsonb_build_array(i % 7, 'x', NULL))};
my $name = q{chr(97 + i % 20) || md5((i % 300)::text)};

# Shapes: method, extension if any, columns, a row as a function of its number i,
# number of rows, index, queries.  The server's own functions of a class raise
# errors if a value is damaged, except that "trusting" ones may crash.
my %shapes = (
	point => {
		columns => 'key point', row => 'CASE WHEN i % 50 > 0 THEN point(hashint4(i) % 1000, hashint4(-i) % 1000) END', rows => 1500,
		index => 'gist (key) WITH (fillfactor = 20)',
		queries => [ "${window}key <\@ box '(-500,-300),(400,200)'", "${found}key <\@ box '(-900,-900),(100,800)'", "${found}key IS NULL",
			"${found}key <\@ circle '<(300,300),500>'", "${window}key >> point '(100,0)'",
			q{SELECT md5(string_agg(concat(d), ' ')) FROM (SELECT key <-> '(4,3)' AS d FROM TABLE ORDER BY key <-> '(4,3)' LIMIT 900) s} ]
	},
	box => {
		columns => 'key box', row => 'box(point(hashint4(i) % 1000, hashint4(-i) % 1000), point(i % 7, 9))', rows => 800,
		index => 'gist (key) WITH (fillfactor = 50)',
		queries => [ "${window}key && '(0,0),(500,500)'", "${found}key <\@ '(-900,-400),(500,500)'", "${found}key << '(5,5),(300,300)'",
			q{SELECT md5(string_agg(concat(d), ' ')) FROM (SELECT key <-> point '(4,3)' AS d FROM TABLE ORDER BY key <-> point '(4,3)' LIMIT 500) s} ]
	},
	int4range => {
		columns => 'key int4range', row => q{CASE i % 40 WHEN 0 THEN 'empty' WHEN 1 THEN NULL WHEN 2 THEN int4range(i, NULL) ELSE int4range(i % 600, i % 600 + i % 9) END},
		rows => 900, index => 'gist (key)', trusting => 1,
		queries => [ "${window}key && '[100,300)'", "${found}key \@> 200", "${found}key <\@ '[0,500)'", "${found}isempty(key) AND key = 'empty'", "${found}key << '[300,400)'" ]
	},
	gist_tsvector => {
		columns => 'key tsvector', row => "to_tsvector('simple', $words)", rows => 900, index => 'gist (key tsvector_ops(siglen = 100))',
		queries => [ map { "${found}key \@\@ '$_'" } 'all', 'w7', 'x77 | y5', 'w3 & !x3' ]
	},
	gist_inet => {
		columns => 'key inet', row => q{CASE i % 9 WHEN 0 THEN ('2001:db8::' || i)::inet ELSE set_masklen('10.0.0.0'::inet + hashint4(i) % 99999, 16 + i % 17) END}, rows => 900,
		index => 'gist (key inet_ops)',
		queries => [ "${window}key && '10.0.0.0/9'", "${found}key > '10.0.40.7'", "${found}key << '2001::/16'" ]
	},
	gist_int4 => {
		extension => 'btree_gist', columns => 'key int', row => 'NULLIF(hashint4(i) % 5000, 1)', rows => 1500, index => 'gist (key) WITH (fillfactor = 30)',
		queries => [ "${window}key > 100", "${found}key <= 4000", "${found}key = 77", "${found}key IS NULL",
			q{SELECT md5(string_agg(concat(d), ' ')) FROM (SELECT key <-> 7 AS d FROM TABLE WHERE key IS NOT NULL ORDER BY key <-> 7 LIMIT 900) s} ]
	},
	gist_text => {
		extension => 'btree_gist', columns => 'key text COLLATE "C"', row => $name, rows => 900, index => 'gist (key)', trusting => 1,
		queries => [ "${window}key > 'd'", "${found}key < 'm5'", "${found}key = 'c'" ]
	},
	gist_numeric => {
		extension => 'btree_gist', columns => 'key numeric', row => q{CASE i % 50 WHEN 0 THEN 'NaN' ELSE hashint4(i) / 7.0 END}, rows => 900, index => 'gist (key)', trusting => 1,
		queries => [ "${window}key > 100", "${found}key <= 90000000" ]
	},
	gist_trgm => {
		extension => 'pg_trgm', columns => 'key text', row => $words, rows => 500, index => 'gist (key gist_trgm_ops)',
		queries => [ "${found}key LIKE '%w7 %'", "${found}key ~ 'y4[0-3]'", "${found}key % 'all w9 x9 y9'" ]
	},
	gist_intarray => {
		extension => 'intarray', columns => 'key int[]', row => $array, rows => 900, index => 'gist (key gist__intbig_ops(siglen = 60))', trusting => 1,
		queries => [ "${found}key \@> '{3}'", "${found}key && '{17,600}'", "${found}key \@\@ '5 & 40'" ]
	},
	gist_ints => {
		extension => 'intarray', columns => 'key int[]', row => $array, rows => 400, index => 'gist (key)', trusting => 1,
		queries => [ "${found}key \@> '{3}'", "${found}key && '{17,600}'" ]
	},
	columns => {
		extension => 'btree_gist', columns => 'key int, place point, extra text', rows => 900,
		row => q{NULLIF(i % 70, 3), CASE WHEN i % 9 > 0 THEN point(i % 100, i / 10) END, CASE WHEN i % 5 > 0 THEN md5(i::text) END},
		index => 'gist (key, place) INCLUDE (extra)',
		queries => [ "${window}key > 30 AND place <\@ box '(0,0),(60,70)'", "${found}key IS NULL", "${found}place IS NULL",
			q{SELECT md5(string_agg(concat(extra), ' ' ORDER BY extra)) FROM TABLE WHERE key < 50} ]
	},
	gin_tsvector => {
		columns => 'key tsvector', row => "to_tsvector('simple', $words)", rows => 1200, index => 'gin (key) WITH (fastupdate = off)',
		queries => [ map { "${found}key \@\@ '$_'" } 'all', 'w7', 'w4:*', 'x77 | y5', 'w3 & !x3', 'y50:*' ]
	},
	gin_jsonb => {
		columns => 'key jsonb', row => $json, rows => 700, index => 'gin (key) WITH (fastupdate = off)',
		queries => [ map { "${found}key $_" } q{@> '{"n": 3}'}, q{@> '{"w": "w7"}'}, q{@> '{"id": 77}'}, q{? 'id'}, q{?| '{none,w}'}, q{@> '{"a": [3, null]}'} ]
	},
	gin_path => {
		columns => 'key jsonb', row => $json, rows => 900, index => 'gin (key jsonb_path_ops) WITH (fastupdate = off)',
		queries => [ map { "${found}key $_" } q{@> '{"n": 3}'}, q{@> '{"w": "w7"}'}, q{@> '{"id": 77}'}, q{@> '{"a": [3]}'} ]
	},
	gin_ints => {
		columns => 'key int8[]', row => q{CASE i % 50 WHEN 0 THEN '{}' WHEN 1 THEN NULL WHEN 2 THEN ARRAY[NULL, i] ELSE ARRAY[i % 7, i % 90, 500 + i, 9999 - i] END}, rows => 900,
		index => 'gin (key) WITH (fastupdate = off)',
		queries => [ map { "${found}key $_" } q{@> '{3}'}, q{&& '{17,600,9500}'}, q{@> '{}'}, q{= '{}'}, q{<@ '{1,8,22,701,501,9998}'} ]
	},
	gin_texts => {
		columns => 'key text[]', row => q{ARRAY['w' || i % 7, md5((i % 200)::text), repeat('long', 50) || i]}, rows => 500, index => 'gin (key) WITH (fastupdate = off)',
		queries => [ map { "${found}key $_" } q{@> '{w3}'}, q{&& ARRAY['w5', md5('7')]}, q{@> ARRAY[repeat('long', 50) || 33]} ]
	},
	gin_trgm => {
		extension => 'pg_trgm', columns => 'key text', row => $words, rows => 700, index => 'gin (key gin_trgm_ops) WITH (fastupdate = off)',
		queries => [ "${found}key LIKE '%w7 %'", "${found}key ~ 'y4[0-3]'", "${found}key LIKE '%x19%'" ]
	},
	gin_ordered => {
		extension => 'btree_gin', columns => 'key numeric, word text COLLATE "C"', row => qq{NULLIF(i % 300, 7) / 2.0, CASE WHEN i % 9 > 0 THEN $name END}, rows => 900,
		index => 'gin (key, word) WITH (fastupdate = off)',
		queries => [ "${found}key > 100", "${found}key <= 20", "${found}word > 'f'", "${found}word < 'k' AND key < 40", "${found}key IS NULL AND word > ''", "${found}key = 9" ]
	},
	pending => {
		columns => 'key int8[]', row => 'ARRAY[i % 7, i % 90, 500 + i]', rows => 300, index => 'gin (key) WITH (fastupdate = on, gin_pending_list_limit = 4096)', pending => 700,
		queries => [ map { "${found}key $_" } q{@> '{3}'}, q{&& '{17,600,950}'}, q{@> '{5,40}'} ]
	},
	posted => {
		columns => 'key int8[], pad text', row => q{ARRAY[1, 2 + i % 2, 10 + i % 40], 'x'}, rows => 36000, index => 'gin (key) WITH (fastupdate = off)', gone => 'id BETWEEN 7000 AND 17500 OR id % 20 > 0',
		queries => [ map { "${found}key $_" } q{@> '{1}'}, q{@> '{2}'}, q{@> '{3, 12}'}, q{@> '{13}'} ]
	});

# ask_others() compares the answers by the index with those of a sequential scan,
# for each kind of scan that a query can use.  It returns "same", or the first
# difference.
my $functions = q{
CREATE TABLE asked (tab text, query text, kind text, answer text);
CREATE FUNCTION set_plan(kind text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	each text;
BEGIN
	FOREACH each IN ARRAY ARRAY['enable_seqscan', 'enable_indexscan', 'enable_bitmapscan', 'enable_indexonlyscan'] LOOP
		PERFORM set_config(each, (each = kind OR each = 'enable_indexscan' AND kind = 'enable_indexonlyscan')::text, true);
	END LOOP;
	PERFORM set_config('enable_sort', (kind = 'enable_seqscan')::text, true);
END $$;
CREATE FUNCTION learn(tab text, query text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	right_answer text;
	answer text;
	plan json;
	scan text[];
BEGIN
	PERFORM set_plan('enable_seqscan');
	EXECUTE query INTO STRICT right_answer;
	FOREACH scan SLICE 1 IN ARRAY ARRAY[['enable_indexscan', 'Index Scan'], ['enable_bitmapscan', 'Bitmap Index Scan'], ['enable_indexonlyscan', 'Index Only Scan']] LOOP
		PERFORM set_plan(scan[1]);
		EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
		CONTINUE WHEN plan::text !~ ('"Node Type": "' || scan[2]);
		EXECUTE query INTO STRICT answer;
		IF answer IS DISTINCT FROM right_answer THEN
			RAISE EXCEPTION '% %: % not %', scan[2], query, answer, right_answer;
		END IF;
		INSERT INTO asked VALUES (tab, query, scan[1], answer);
	END LOOP;
END $$;
CREATE FUNCTION ask_others(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	known record;
	found text;
BEGIN
	FOR known IN SELECT * FROM asked WHERE tab = name LOOP
		PERFORM set_plan(known.kind);
		BEGIN
			EXECUTE known.query INTO STRICT found;
		EXCEPTION WHEN query_canceled OR OTHERS THEN
			found := 'error ' || SQLSTATE || ': ' || translate(SQLERRM, E'\n\r', '  ');
		END;
		IF found IS DISTINCT FROM known.answer THEN
			RETURN format('%s: %s: %s, not %s', known.kind, known.query, found, known.answer);
		END IF;
	END LOOP;
	RETURN 'same';
END $$;
};

# Returns the statements that create a table and its index.  Unless the shape says
# which rows are deleted, VACUUM empties pages, and inserts split others.
sub create_shape
{
	my ($name, $shape) = @_;
	my $half = $shape->{pending} ? $shape->{rows} : $shape->{rows} * 3 / 4;
	my $insert = sub { "INSERT INTO $name SELECT i, $shape->{row} FROM generate_series($_[0], $_[1]) i" };
	my $gone = $shape->{gone} // 'id % 10 = 3 OR id BETWEEN 100 AND 140';
	my @later = $shape->{pending} ? $insert->($half + 1, $half + $shape->{pending}) : ("DELETE FROM $name WHERE $gone", "VACUUM $name", $insert->($half + 1, $shape->{rows}));

	return join ";\n", "CREATE TABLE $name (id int, $shape->{columns})", $insert->(1, $half), "CREATE INDEX ${name}_i ON $name USING $shape->{index}",
	  @later, $shape->{pending} ? () : "VACUUM (INDEX_CLEANUP on) $name", "ANALYZE $name";
}

# Creates all tables that the server can have.  Returns the shapes by name, each
# with its method.
sub create_others
{
	my ($node) = @_;
	my %can = map { ($_ => 1) } split /\n/, $node->safe_psql('postgres', 'SELECT name FROM pg_available_extensions');
	my %have;

	$node->safe_psql('postgres', $functions . join '', map { "CREATE EXTENSION $_;" } grep { $can{$_} } qw(btree_gist btree_gin pg_trgm intarray));
	foreach my $name (sort keys %shapes)
	{
		my $shape = $shapes{$name};
		next if $shape->{extension} && !$can{ $shape->{extension} };
		($shape->{method}) = $shape->{index} =~ /^(\w+)/;
		$have{$name} = $shape;
		foreach my $statement (split /;\n/, create_shape($name, $shape))
		{
			$node->safe_psql('postgres', $statement);
		}
		my @queries = map { s/TABLE/$name/r } @{ $shape->{queries} };
		$node->safe_psql('postgres', join ';', map { "SELECT learn('$name', \$q\$$_\$q\$)" } @queries);
	}
	return %have;
}

1;
