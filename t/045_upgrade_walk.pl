# Nobody who follows a page about upgrades keeps a broken index.  The test makes
# databases whose collations order strings by bytes, and then gives the
# collations another locale, as an upgrade of the C library does.  Planted
# versions and digests tell ptsort about the past as pg_upgrade, REFRESH, musl and
# older installations would.  Then the test runs the statements of the pages,
# and compares all indexes and rows with the new order.
#
# Depends on the version: expressions in the catalogs, and versions of collations
# Needs no assertions: it is about statements and their results
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/..";
# ptsort_test.all_workers would give each of the checks' many indexes workers
my $node = new_node('main', conf => "session_preload_libraries = 'ptsort'\nptsort.log_build = off\nptsort_test.all_workers = off\n");
my $locale = $node->safe_psql('postgres', q{SELECT collcollate FROM pg_collation
	WHERE collname ~* '^en_US\.utf-?8$' AND collprovider = 'c' AND pg_encoding_to_char(collencoding) = 'UTF8' LIMIT 1});
plan skip_all => 'no locale en_US' if $locale eq '';

# The server's collation and a user's one
my $server_own = $node->safe_psql('postgres', q{SELECT quote_ident(collname) FROM pg_collation
	WHERE collcollate = '} . $locale . q{' AND oid < 16384 ORDER BY oid LIMIT 1});
my $old = "WHERE collname = 'own' OR collname = " . ($server_own =~ s/^"?(.*?)"?$/'$1'/r);

# Every kind of index and constraint that depends on an order, in the collations
# of the database, of the server and of a user
sub tables
{
	my ($name, $collation) = @_;
	my $c = $collation eq '' ? '' : "COLLATE $collation";
	my $range = $collation eq '' ? '' : ", collation = $collation";
	my $sql = <<"SQL";
CREATE TYPE ${name}_row AS (a text $c, b int);
CREATE TYPE ${name}_range AS RANGE (subtype = text$range);
CREATE DOMAIN ${name}_domain AS text $c;
CREATE DOMAIN ${name}_small AS text $c CHECK (VALUE < 'm');
CREATE TABLE $name AS
SELECT i AS id, s $c AS s, ROW(s, i)::${name}_row AS r, ${name}_range(s, NULL) AS g, s::${name}_domain AS d,
	ARRAY[s, s] $c AS a, jsonb_build_object('k', s) AS j
FROM (SELECT i, (ARRAY['a', 'B', 'c', 'a', 'o', 'N', 'B', 'c', 'a', 'B', 'o', 'Z'])[1 + i % 12] || i AS s FROM generate_series(1, 900) AS i) AS s;
CREATE UNIQUE INDEX ${name}_unique ON $name (s);
CREATE INDEX ${name}_two ON $name ((id % 3), s DESC) INCLUDE (d);
CREATE INDEX ${name}_composite ON $name (r);
CREATE INDEX ${name}_composites ON $name ((ARRAY[r]));
CREATE INDEX ${name}_in_range ON $name (g);
CREATE INDEX ${name}_in_domain ON $name (d);
CREATE INDEX ${name}_array ON $name (a);
CREATE INDEX ${name}_boolean ON $name ((s < 'm'));
CREATE INDEX ${name}_partial ON $name (id) WHERE s < 'm';
CREATE INDEX ${name}_rows ON $name (id) WHERE (s, id) < ('m', 5);
CREATE INDEX ${name}_contains ON $name (id) WHERE g \@> 'm'::text;
CREATE INDEX ${name}_pattern ON $name (s text_pattern_ops);
CREATE INDEX ${name}_equal ON $name (id) WHERE s = 'a1';
CREATE INDEX ${name}_gist ON $name USING gist (g);
CREATE INDEX ${name}_brin ON $name USING brin (s);
CREATE INDEX ${name}_gin ON $name USING gin (a);
CREATE INDEX ${name}_hash ON $name USING hash (s);
CREATE TABLE ${name}_checked AS SELECT id, s FROM $name WHERE s < 'm';
ALTER TABLE ${name}_checked ADD CONSTRAINT small CHECK (s < 'm');
CREATE TABLE ${name}_domains AS SELECT id, s::${name}_small AS s FROM ${name}_checked;
CREATE TABLE ${name}_parent (name text $c, id int) PARTITION BY RANGE (name);
CREATE TABLE ${name}_low PARTITION OF ${name}_parent FOR VALUES FROM (MINVALUE) TO ('a');
CREATE TABLE ${name}_high PARTITION OF ${name}_parent FOR VALUES FROM ('a') TO (MAXVALUE);
INSERT INTO ${name}_parent SELECT s, id FROM $name;
ALTER TABLE ${name}_parent ADD UNIQUE (name);
SQL
	# a collation inside of a type is the same for the server's collations
	$sql =~ s/^CREATE INDEX \w+_(?:composites?|in_range|in_domain|array|contains|gist|brin|gin|hash) .*\n//mg if $name eq 'servers';
	return $sql;
}

my @names = ('plain', 'servers', 'users');

# The new order, and what the applications did in it before anybody looked
sub upgrade
{
	my ($database, $version) = @_;
	my $recorded = defined $version ? "'$version'" : 'NULL';
	$node->safe_psql($database, "UPDATE pg_collation SET collcollate = '$locale', collversion = $recorded $old;
UPDATE pg_database SET datcollate = '$locale', datcollversion = $recorded WHERE datname = '$database'");
	foreach my $name (@names)
	{
		# equal keys in one table, and in two partitions
		$node->psql($database, "INSERT INTO ${name}_parent VALUES ('B1', 0);\n" . join "\n",
			map { "INSERT INTO $name (id, s) VALUES (0, '" . ('a', 'B', 'c', 'a', 'o', 'N', 'B', 'c', 'a', 'B', 'o', 'Z')[ $_ % 12 ] . "$_');" } 1 .. 40);
	}
}

# The statements of a page: the block before the upgrade, if any, and both after
sub blocks
{
	my ($page) = @_;
	return slurp_file("$top/doc/$page.md") =~ /^```sql\n(.*?)^```/msg;
}

# Runs statements as a page shows them, in one session, and between the blocks
# what somebody does by hand.  Returns the output; nothing may fail.  A single
# statement may not even warn.
sub walk
{
	my ($database, $what, @statements) = @_;
	my ($out, $err);
	$node->psql($database, join("\n", @statements), stdout => \$out, stderr => \$err, on_error_stop => 0);
	$err =~ s/^.*WARNING:  \S+ "[^"]*" has .*version mismatch\n(?:(?:DETAIL|HINT): .*\n?)+|^.*NOTICE:  changing version.*\n?//mg if @statements > 1;
	is($err, '', "$what: no error, no warning");
	return $out;
}

# What is wrong in the present order, by amcheck and by queries of the server
my $oracle = q{
CREATE FUNCTION is_broken(index regclass) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bt_index_parent_check(index, true, true);
	RETURN false;
EXCEPTION WHEN OTHERS THEN
	RETURN true;
END $$;
CREATE FUNCTION answer(query text, indexes text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('enable_seqscan', CASE indexes WHEN 'on' THEN 'off' ELSE 'on' END, true),
		set_config('enable_indexscan', indexes, true), set_config('enable_indexonlyscan', indexes, true),
		set_config('enable_bitmapscan', indexes, true),
		set_config('constraint_exclusion', 'off', true), set_config('enable_partition_pruning', 'off', true);
	EXECUTE query INTO result;
	RETURN result;
END $$;
};

sub wrong_objects
{
	my ($database) = @_;
	my @tests = q{SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
		WHERE amname = 'btree' AND relkind = 'i' AND indexrelid >= 16384 AND relname ~ '^(plain|servers|users)' AND is_broken(indexrelid)};
	foreach my $name (@names)
	{
		my %conditions = (boolean => q{(s < 'm')}, partial => q{s < 'm'}, rows => q{(s, id) < ('m', 5)}, contains => q{g @> 'm'::text},
			gist => q{g @> 'N101'::text}, brin => q{s = 'B1'}, gin => q{a @> ARRAY['B1']}, hash => q{s = 'B1'});
		delete @conditions{qw(contains gist brin gin hash)} if $name eq 'servers';
		$conditions{jsonb_partial} = q{j < '{"k": "m"}'} if $name eq 'plain';
		foreach my $index (sort keys %conditions)
		{
			my $query = "SELECT count(id) || ' ' || sum(id) FROM $name WHERE $conditions{$index} AND id > 0";
			push @tests, "SELECT '${name}_$index' WHERE answer(\$\$$query\$\$, 'on') IS DISTINCT FROM answer(\$\$$query\$\$, 'off')";
		}
		my %queries = (
			"$name: equal keys" => "SELECT count(*) - count(DISTINCT s) FROM $name",
			"${name}_parent: equal keys" => "SELECT count(*) - count(DISTINCT name) FROM ${name}_parent",
			"${name}_parent: bounds" => "SELECT count(*) FROM ${name}_parent WHERE (name < 'a') <> (tableoid = '${name}_low'::regclass)",
			"${name}_checked" => "SELECT count(*) FROM ${name}_checked WHERE NOT s < 'm'",
			"${name}_domains" => "SELECT count(*) FROM ${name}_domains WHERE NOT s::text < 'm'");
		push @tests, "SELECT '$_' WHERE answer(\$\$$queries{$_}\$\$, 'off') <> '0'" foreach sort keys %queries;
	}
	return split /\n/, $node->safe_psql($database, 'SET client_min_messages = error; ' . join(' UNION ', @tests) . ' ORDER BY 1');
}

# A database in the old order
$node->safe_psql('postgres', "CREATE DATABASE before TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'");
$node->safe_psql('before', join("\n", "UPDATE pg_collation SET collcollate = 'C', collversion = NULL $old;",
		'CREATE COLLATION own FROM "C";',
		tables('plain', ''), tables('servers', $server_own), tables('users', 'own'),
		'CREATE INDEX plain_jsonb ON plain (j); CREATE INDEX plain_jsonb_partial ON plain (id) WHERE j < \'{"k": "m"}\';',
		'CREATE EXTENSION amcheck; VACUUM ANALYZE;', $oracle));

# What the owner of the rows does by hand
my $by_hand = join "\n", map {
	my $name = $_;
	(map { qq{DELETE FROM public.$_->[0] AS t USING (
	SELECT "table", ctid, row_number() OVER (PARTITION BY group_number ORDER BY keys, ctid) AS n FROM ptsort.ptsort_duplicates('public.$_->[1]'::regclass)) AS d
WHERE t.tableoid = d."table"::oid AND t.ctid = d.ctid AND n > 1;} } [ $name, "${name}_unique" ], [ "${name}_parent", "${name}_parent_name_key" ]),
	(map { qq{DELETE FROM public.$_ AS t USING ptsort.ptsort_wrong_rows('public.$_'::regclass) AS w WHERE t.ctid = w.ctid;} } "${name}_checked", "${name}_domains")
} @names;
my ($move) = slurp_file("$top/doc/collations.md") =~ /^ *(UPDATE public\.parent AS p .*?;)$/ms;
isnt($move, undef, 'the document says how to move rows');
$by_hand .= join "\n", map { $move =~ s/public\.parent/public.${_}_parent/gr } @names;

my $versions = qq{SELECT version_now FROM ptsort.ptsort_collations() WHERE locale = '$locale' LIMIT 1};
my $verdicts = q{SELECT string_agg(concat_ws(' ', CASE WHEN "collation" = 'pg_catalog."default"'::regcollation THEN 'database'
	WHEN "collation"::oid < 16384 THEN 'server' ELSE 'user' END, verdict), ', ' ORDER BY "collation"::oid)
	FROM ptsort.ptsort_collations() WHERE locale = '} . $locale . q{'};
my $install = 'CREATE SCHEMA ptsort; CREATE EXTENSION ptsort SCHEMA ptsort';

# Each row: a name, the page, whether ptsort was there before, the recorded
# version (undef: none; 'now'), what is planted after the upgrade, and the verdicts
my @walks = (
	[ 'honest versions', 'upgrade-glibc', 0, '1', qq{
DELETE FROM ptsort.ptsort_known_digests;
INSERT INTO ptsort.ptsort_known_digests SELECT r, k.l, ptsort.ptsort_collation_digest(k.c::regcollation)
FROM (VALUES ('1'), (($versions))) v (r), (VALUES ('C', 'pg_catalog."C"'), (regexp_replace('$locale', '\\.[^\@]*', ''), 'public.own')) k (l, c)
WHERE r <> '1' OR l = 'C' UNION ALL
VALUES ('1', regexp_replace('$locale', '\\.[^\@]*', ''), ptsort.ptsort_collation_digest('pg_catalog."C"'))},
		'changed' ],
	[ 'remembered', 'upgrade-glibc', 1, '1', '', 'changed' ],
	[ 'pg_upgrade', 'upgrade-postgresql', 0, 'now', "UPDATE pg_database SET datcollversion = '1' WHERE datname = current_database();
UPDATE pg_collation SET collversion = '1' WHERE collname = 'own'", 'unknown' ],
	[ 'remembered, pg_upgrade', 'upgrade-postgresql', 1, 'now', '', 'changed' ],
	[ 'REFRESH', 'upgrade-refreshed', 0, 'now', '', 'unknown' ],
	[ 'musl', 'upgrade-alpine', 0, undef, '', 'unknown' ]);

foreach my $walk (@walks)
{
	my ($name, $page, $was_there, $recorded, $planted, $verdict) = @$walk;
	my @blocks = blocks($page);
	my $before = @blocks == 3 ? shift @blocks : (blocks('upgrade-glibc'))[0];
	my $database = 'walk';
	is(@blocks, 2, "$name: the page has two blocks");
	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS walk');
	$node->safe_psql('postgres', 'CREATE DATABASE walk TEMPLATE before STRATEGY file_copy');
	if ($was_there)
	{
		$node->safe_psql('walk', $install);
		unlike(walk('walk', "$name: before", $before), qr/\|f\|/, "$name: remembers");
	}
	my $version = $node->safe_psql('postgres', "SELECT pg_collation_actual_version(oid) FROM pg_collation WHERE collcollate = '$locale' LIMIT 1");
	upgrade('walk', defined $recorded && $recorded eq 'now' ? $version : $recorded);
	$node->safe_psql('walk', "UPDATE ptsort.ptsort_collation_digests SET locale = '$locale'
		WHERE collation_name IN ('default', 'own') OR collation_name = btrim('$server_own', '\"')") if $was_there;
	$node->safe_psql('walk', "SET client_min_messages = error; $install") if !$was_there;
	$node->safe_psql('walk', "SET client_min_messages = error; $planted") if $planted ne '';

	my @wrong = wrong_objects('walk');
	cmp_ok(scalar @wrong, '>', 30, "$name: much is wrong") or note "@wrong";
	is($node->safe_psql('walk', "SET client_min_messages = error; $verdicts"), "database $verdict, server $verdict, user $verdict", "$name: verdicts");
	is($node->safe_psql('walk', qq{SET client_min_messages = error; SELECT string_agg("collation"::text, ', ') FROM ptsort.ptsort_remember_collations()
		WHERE (remembered OR refresh IS NOT NULL) AND "collation"::text <> '"C"'}), '', "$name: nothing is remembered too early");
	my $out = walk('walk', $name, $blocks[0], $by_hand, $blocks[1], @blocks);
	like($out, qr/^public\.$_\|\(\d+,\d+\)\|\d+\|\(name\)=\(B1\)$/m, "$name: equal keys in two partitions: $_") foreach 'users_low', 'users_high';
	is(join(', ', wrong_objects('walk')), '', "$name: all is right");
	walk('walk', "$name: afterwards", 'SELECT 1');
	is($node->safe_psql('walk', $verdicts), 'database same order, server same order, user same order', '... and remembered');
	like($node->safe_psql('walk', 'SELECT details FROM ptsort.ptsort_check_all(changed_collations => true)'),
		qr/^\{"left out: \d+ indexes in collations whose order is the same"[^\n]*\}$/, '... and nothing is left to check');
}
$node->stop;
done_testing();
