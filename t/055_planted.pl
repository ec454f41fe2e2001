# No install script and no statement of the documents runs what somebody planted
# in a schema that comes first in the search path: functions, operators, types,
# relations and collations with the names of the server's and of ptsort's
# (Planter.pm), and the code of the owners of broken indexes.  This is true even
# where public is open to everybody, as in databases that came from 14.
#
# Depends on the version: what the server has to offer, and how it resolves names
# Needs no assertions: it is about the names in statements
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Planter;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/..";
my $node = new_node('main', conf => "session_preload_libraries = 'ptsort'\nwal_level = replica\nptsort.log_build = off\n");
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');

$node->safe_psql('postgres', q{
CREATE ROLE planter LOGIN;
CREATE ROLE hostile LOGIN;
CREATE ROLE dba;
CREATE DATABASE planted OWNER planter;
CREATE TABLESPACE scratch LOCATION '';
});
$node->safe_psql('planted', q{
ALTER SCHEMA public OWNER TO planter;
GRANT CREATE ON SCHEMA public TO PUBLIC;
CREATE SCHEMA away;
CREATE EXTENSION ptsort SCHEMA away;
});
plant($node, 'planted', 'planter');
$node->safe_psql('planted', 'SET search_path = pg_catalog; DROP EXTENSION ptsort; DROP SCHEMA away');

# Creates a database full of plants, which come first in the search path.
sub planted_database
{
	my ($database) = @_;
	$node->safe_psql('postgres', "DROP DATABASE IF EXISTS $database");
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE planted STRATEGY file_copy OWNER planter");
	$node->safe_psql('postgres', "ALTER DATABASE $database SET search_path = public, pg_catalog");
	return;
}

# Runs SQL as a user; returns the rows, and the errors and warnings.
sub run_as
{
	my ($user, $database, $sql) = @_;
	my ($ret, $out, $err) = $node->psql($database, $sql, on_error_stop => 0, extra_params => [ '-U', $user ]);
	$err =~ s/^psql:<stdin>:\d+: //mg;
	return ($out, $err);
}

# The tables that documents name; indexes of a hostile owner that are broken, and
# whose names and expressions do harm if somebody executes them; a collation of
# another version.
my $fixtures = q{
SET search_path = pg_catalog;
SET client_min_messages = warning;
CREATE TABLE public.orders AS SELECT i AS id, md5(i::text) AS customer, now() - i * interval '1 s' AS placed_at, i % 1000 AS customer_id
	FROM generate_series(1, 20000) AS i;
CREATE UNIQUE INDEX orders_customer_idx ON public.orders (customer);
CREATE INDEX orders_customer_placed_at_idx ON public.orders (customer, placed_at);
CREATE TABLE public.t AS SELECT i AS a, i AS b, i AS id FROM generate_series(1, 20000) AS i;
CREATE TABLE public.parent (name text) PARTITION BY RANGE (name);
CREATE TABLE public.parent_1 PARTITION OF public.parent FOR VALUES FROM ('a') TO ('m');
CREATE TABLE public.roads AS SELECT point(i % 100, i) AS geom, i % 30 AS width FROM generate_series(1, 20000) AS i;
CREATE INDEX roads_geom_idx ON public.roads USING gist (geom);
CREATE TABLE public.mails AS SELECT 'message ' || i AS body FROM generate_series(1, 20000) AS i;
CREATE INDEX mails_to_tsvector_idx ON public.mails USING gin (to_tsvector('english', body));
CREATE TABLE public.events AS SELECT jsonb_build_object('number', i) AS details FROM generate_series(1, 20000) AS i;
GRANT SET ON PARAMETER allow_system_table_mods TO hostile;

SET ROLE hostile;
CREATE FUNCTION public.hostile_inner(text) RETURNS text VOLATILE LANGUAGE plpgsql AS $$BEGIN
	RAISE LOG 'planted: code of an owner, as %', current_user; RETURN $1; END$$;
CREATE FUNCTION public.hostile(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN public.hostile_inner($1); END$$;
CREATE TABLE public."x'; SELECT public.hostile_inner('');--" AS SELECT i AS a, (i / 2)::text AS b FROM generate_series(1, 3000) AS i;
CREATE INDEX "i""'; SELECT public.hostile_inner('');--" ON public."x'; SELECT public.hostile_inner('');--" (public.hostile(b), (public.hostile('y')))
	WHERE public.hostile(b) <> 'x';
CREATE TABLE public.hostile_checked AS SELECT i AS a, i::text AS b FROM generate_series(1, 10) AS i;
ALTER TABLE public.hostile_checked ADD CHECK (public.hostile(b) <> 'x' AND public.hostile('y') <> 'x');
CREATE INDEX hostile_plain ON public."x'; SELECT public.hostile_inner('');--" (b);
CREATE COLLATION public."c'; SELECT public.hostile_inner('');--" FROM "en-x-icu";
CREATE INDEX hostile_collated ON public."x'; SELECT public.hostile_inner('');--" (b COLLATE public."c'; SELECT public.hostile_inner('');--");
RESET ROLE;
UPDATE pg_index SET indisunique = true WHERE indrelid IN (SELECT oid FROM pg_class WHERE relname ~ '^x') AND indexrelid <> 'public.hostile_collated'::regclass;
UPDATE pg_collation SET collversion = '0' WHERE collname ~ '^c''';
};
$fixtures =~ s/^GRANT SET.*\n//m;

# Install scripts: every version that CREATE EXTENSION can create, and every
# update, by a superuser and by the owner of the schema.
my (@versions, @updates);
foreach my $script (map { s/.*\///r } glob "$top/ptsort--*.sql")
{
	my @ends = $script =~ /^ptsort--([\d.]+?)(?:--([\d.]+))?\.sql$/ or die "what is $script?";
	if (@ends == 2 && defined $ends[1]) { push @updates, \@ends }
	else { push @versions, $ends[0] }
}
cmp_ok(scalar @versions, '>', 0, 'there is an install script');
my @installs = (
	(map { [ "$_", "CREATE EXTENSION ptsort VERSION '$_' SCHEMA public" ] } @versions),
	(map { [ "$_->[0] to $_->[1]", "CREATE EXTENSION ptsort VERSION '$_->[0]' SCHEMA public; ALTER EXTENSION ptsort UPDATE TO '$_->[1]'" ] } @updates));

# A call of each function with all its arguments, of the types that it declares
my $index = q{'public.hostile_plain'::pg_catalog.regclass};
my $numbers = 'true, 0::pg_catalog.int4, true';
my %calls = (
	'ptsort_check(regclass,boolean,integer,boolean)' => "($index, $numbers)",
	'ptsort_check_all(boolean,boolean,integer,boolean)' => "(true, $numbers)",
	'ptsort_check_indexes(regclass[],boolean,integer,boolean)' => "(ARRAY[$index], $numbers)",
	'ptsort_collation_digest(regcollation)' => q{('pg_catalog."C"'::pg_catalog.regcollation)},
	'ptsort_collations()' => '()',
	'ptsort_duplicates(regclass)' => "($index)",
	'ptsort_forecast(text)' => q{('CREATE INDEX ON public.orders (customer)'::pg_catalog.text)},
	'ptsort_last_build()' => '()',
	'ptsort_last_copy()' => '()',
	'ptsort_last_sort()' => '()',
	'ptsort_progress()' => '()',
	'ptsort_record_checks(oid[],text[],boolean[])' => q{(ARRAY[1::pg_catalog.oid], ARRAY['x'::pg_catalog.text], ARRAY[true])},
	'ptsort_remember_collations()' => '()',
	'ptsort_set_limits(integer,text,text,text)' => q{(1::pg_catalog.int4, '1'::pg_catalog.text, '1'::pg_catalog.text, '1'::pg_catalog.text)},
	'ptsort_wrong_rows(regclass)' => q{('public.hostile_checked'::pg_catalog.regclass)});
my $members = q{SET search_path = pg_catalog;
SELECT replace(objid::regprocedure::text, 'public.', '') FROM pg_depend WHERE deptype = 'e' AND classid = 'pg_proc'::regclass AND
	refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ptsort')};

foreach my $install (@installs)
{
	my ($name, $sql) = @$install;
	foreach my $user ($superuser, 'planter')
	{
		my $offset = log_end($node);
		my $by = $user eq 'planter' ? 'the owner of the schema' : 'a superuser';
		planted_database('mydb');
		unplant_same($node, 'mydb');
		is_deeply([ run_as($user, 'mydb', $sql) ], [ '', '' ], "$name: created by $by");
		is(caught($node, $offset), '', '... nothing planted ran');
		is($node->safe_psql('mydb', planted_dependencies('planter')), '', '... nothing depends on what is planted');
		$node->safe_psql('mydb', $fixtures);
		is(join("\n", sort split /\n/, $node->safe_psql('mydb', $members)), join("\n", sort keys %calls), '... the test calls all functions')
		  unless @updates;
		foreach my $function (sort keys %calls)
		{
			my $call = "SELECT * FROM public." . $function =~ s/\(.*//r . $calls{$function};
			$offset = log_end($node);
			my ($out, $err) = run_as($superuser, 'mydb', $call);
			unlike($err, qr/ERROR:/, "$name: a superuser calls $function");
			is(caught($node, $offset, 'hostile'), '', '... nothing planted ran as the superuser');
		}
	}
}

# Splits SQL as psql does; returns statements, each with its end: ';' or
# '\gexec'.
sub statements
{
	my ($sql) = @_;
	my @statements;
	my $text = '';

	while ($sql =~ /\G(--[^\n]*|\/\*.*?\*\/|'(?:[^']|'')*'|"[^"]*"|(\$\w*\$).*?\2|\\\w+|.)/gs)
	{
		my $token = $1;
		next if $token =~ /^(?:--|\/\*)/;
		if ($token eq ';' || $token =~ /^\\/)
		{
			die "unknown command $token" unless $token =~ /^(?:;|\\gexec)$/;
			push @statements, [ $text =~ s/^\s+|\s+$//gr, $token ];
			$text = '';
		}
		else { $text .= $token }
	}
	push @statements, [ $text =~ s/^\s+|\s+$//gr, ';' ] if $text =~ /\S/;
	return @statements;
}

# Statements that the test cannot run, with the reason
my @cannot_run = (
	[ qr/^ALTER OPERATOR FAMILY public\.gist_geometry_ops_2d/, 'PostGIS may be missing; it names its objects with their schema' ]);

# Errors of statements that are expected
my @expected_errors = (
	[ qr/^SELECT repair FROM/, qr/could not create unique index/, 'nobody deleted the rows with equal keys' ],
	[ qr/^CREATE SCHEMA ptsort$/, qr/schema "ptsort" already exists/, 'where the extension is in another schema' ]);

# Runs a block of SQL in one session of a superuser.  Returns what goes wrong:
# errors, statements that depend on something planted, and calls of it.  The
# test resolves each query also in the body of a function, whose dependencies
# the catalogs hold, because what a statement calls can depend on the data.
sub wrong
{
	my ($sql, $database) = @_;
	my $offset = log_end($node);
	my $script = "SET client_min_messages = error;\n";
	my (@wrong, @queries, @expected);

	foreach my $statement (statements($sql))
	{
		my ($text, $end) = @$statement;
		next if grep { $text =~ $_->[0] } @cannot_run;
		my $query = $text =~ s/^CREATE (?:TEMP )?TABLE \S+ AS\s+//r;
		if ($query =~ /^(?:SELECT|WITH|INSERT|UPDATE|DELETE|TABLE|VALUES)\b/)
		{
			push @queries, $text;
			$script .= "CREATE FUNCTION pg_temp.resolve_$#queries() RETURNS pg_catalog.void LANGUAGE sql BEGIN ATOMIC $query; END;\n";
		}
		push @expected, map { $_->[1] } grep { $text =~ $_->[0] } @expected_errors;
		$script .= $text . ($end eq ';' ? ";\n" : " $end\n");
	}
	$script .= planted_dependencies('planter') . ";\n";
	my ($out, $err) = run_as($superuser, $database // 'mydb', $script);
	foreach my $error ($err =~ /^ERROR: .*/mg)
	{
		push @wrong, $error unless grep { $error =~ $_ } @expected;
	}
	push @wrong, "depends: $queries[$1] on $2" while $out =~ /^function pg_temp(?:_\d+)?\.resolve_(\d+)\(\): (.*)/mg;
	push @wrong, map { "runs: $_" } split /\n/, caught($node, $offset, 'hostile');
	return join "\n", @wrong;
}

# The planter catches what documents said before.
planted_database('mydb');
$node->safe_psql('mydb', 'CREATE SCHEMA ptsort; CREATE EXTENSION ptsort SCHEMA ptsort; SET search_path = pg_catalog; CREATE TABLE public.plain AS SELECT 1 AS a');
foreach my $path ('public, pg_catalog', 'public')
{
	foreach my $control (
		q{SELECT * FROM pg_class c WHERE c.oid = 'pg_class'::regclass},
		q{SELECT * FROM pg_index i WHERE i.indexrelid::regclass = i.indrelid::regclass},
		q{SELECT * FROM pg_class c WHERE relnamespace = 'pg_catalog'::regnamespace},
		q{SELECT ' COLLATE ' || c.oid::regcollation FROM pg_collation c},
		q{SELECT format('ALTER COLLATION %s REFRESH VERSION', "collation") FROM ptsort.ptsort_collations()},
		q{SELECT version_now FROM ptsort.ptsort_collations() WHERE "collation" <> 'pg_catalog."default"'::regcollation},
		q{SELECT * FROM (SELECT ctid, * FROM public.plain WHERE num_nulls(a) = 0) s},
		q{SELECT ptsort_check('plain_a', heap => true)},
		q{SELECT ptsort_collation_digest('pg_catalog."C"')},
		q{SELECT now() - 1 * interval '1 s'})
	{
		like(wrong("SET search_path = $path; $control"), qr/^depends: |collation "collate"/m, "control, $path: $control");
	}
}
is(wrong(q{SET search_path = ptsort; SELECT count(*) FROM pg_class WHERE oid = 'pg_class'::regclass}), '', 'control: a safe statement');
like(wrong('SELECT nothing'), qr/column "nothing" does not exist/, 'control: an error');

# The documents.  README.md creates what it uses.
foreach my $document ("$top/README.md", sort glob "$top/doc/*.md")
{
	my $name = $document =~ s/.*\///r;
	my $text = slurp_file($document);

	planted_database($_) foreach 'mydb', $text =~ /-d (newdb)/;
	$node->safe_psql('mydb', 'CREATE SCHEMA ptsort; GRANT USAGE ON SCHEMA ptsort TO PUBLIC; CREATE EXTENSION ptsort SCHEMA ptsort')
	  unless $name eq 'README.md';
	$node->safe_psql('mydb', $name eq 'README.md' ? $fixtures =~ s/^CREATE (?:TABLE|INDEX|UNIQUE INDEX) [^;]*public\.(?:orders|t|roads)\b[^;]*;//mgr : $fixtures);
	$text =~ s/generate_series\(1, 1000000\)/generate_series(1, 20000)/g;

	# Statements in the text come first: they may be about what a block drops.
	foreach my $span ($text =~ s/^( *)```.*?^\1```//msgr =~ /`(SELECT [^`]*)`/g)
	{
		next if $span !~ /\b(?:pg|ptsort)_/ || $span =~ s/'[^']*'//gr =~ /\.\.\./;
		$span =~ s/'CREATE INDEX CONCURRENTLY \.\.\.'/'CREATE INDEX CONCURRENTLY ON public.orders (id)'/;
		$span =~ s/customer_id_idx/customer_idx/;
		$span =~ s/\s+/ /g;
		is(wrong($span), '', "$name: $span");
	}
	while ($text =~ /^( *)```(\w*)\n(.*?)^\1```/msg)
	{
		my ($kind, $block) = ($2, $3);
		my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
		if ($kind eq 'sh')
		{
			while ($block =~ /psql -d (\w+) -c "((?:[^"\\]|\\.)*)"/g)
			{
				is(wrong($2, $1), '', "$name:$line: $2");
			}
		}
		is(wrong($block), '', "$name:$line") if $kind eq 'sql';
	}
}

# The script that documents name is safe wherever the extension is.
{
	planted_database('mydb');
	unplant_same($node, 'mydb');
	$node->safe_psql('mydb', 'CREATE EXTENSION ptsort SCHEMA public');
	my $offset = log_end($node);
	my ($out, $err);
	my $ok = IPC::Run::run([ "$top/contrib/collations/collations.py", 'digests', '-h', $node->host, '-p', $node->port, '-d', 'mydb' ],
		'<', \undef, '>', \$out, '2>', \$err);
	is("$ok$err", '1', 'collations.py digests');
	like($out, qr/^collation\t/m, '... prints collations');
	is(caught($node, $offset), '', '... nothing planted ran');
}
$node->stop;
done_testing();
