# Plants objects that a statement would use by mistake: in a schema where
# everybody may create, a role without privileges makes functions, operators,
# types, relations and collations with the names of the server's and of
# ptsort's.  Rules choose these objects, not a list of statements, so that a new
# statement needs no new plant.  What is planted reports its caller to the
# server's log, and raises an error.
package Planter;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(plant unplant_same planted_dependencies caught);

# The functions below belong to the planter's session only.
my $tools = q{
SET search_path = pg_catalog;
SET check_function_bodies = off;
SET client_min_messages = warning;

-- Types that a function of PL/pgSQL can take or return
CREATE FUNCTION pg_temp.usable(type oid) RETURNS bool LANGUAGE sql STABLE AS $$
	SELECT typtype <> 'p' OR typname ~ '^any.' OR typname = 'record' FROM pg_type WHERE oid = $1 $$;

CREATE FUNCTION pg_temp.body(what text) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT format('BEGIN RAISE LOG ''planted: %%, as %%'', %1$L, current_user; RAISE EXCEPTION ''planted: %%, as %%'', %1$L, current_user; END', what) $$;

-- The types of which pairs are planted, and which replace "any"
CREATE TEMP TABLE common AS SELECT oid, typarray FROM pg_type
WHERE typnamespace = 'pg_catalog'::regnamespace AND
	(typname ~ '^reg' OR typname IN ('oid', 'name', 'text', 'char', 'bool', 'int2', 'int4', 'int8', 'float8', 'numeric',
		'timestamp', 'timestamptz', 'date', 'interval', 'bpchar', 'varchar', 'jsonb', 'tid', 'xid'));

CREATE TEMP TABLE called AS
SELECT oprcode::oid AS oid FROM pg_operator UNION SELECT amproc FROM pg_amproc UNION
SELECT unnest(ARRAY[aggtransfn, aggfinalfn, aggcombinefn, aggmtransfn, aggminvtransfn, aggmfinalfn]) FROM pg_aggregate;
ANALYZE called;

-- The functions whose names are planted.  Those that nobody calls by their name,
-- because operators, operator classes and aggregates do, have no overloads.
CREATE TEMP TABLE sources AS
SELECT oid, proname, pronargs, pronargdefaults, ARRAY(SELECT unnest(proargtypes)) AS types, provariadic,
	coalesce(proargmodes, array_fill('i'::"char", ARRAY[pronargs])) AS modes, coalesce(proallargtypes, ARRAY(SELECT unnest(proargtypes))) AS alltypes,
	proargnames, proretset, prorettype, pronamespace <> 'pg_catalog'::regnamespace AS own, NOT EXISTS (SELECT FROM called WHERE called.oid = p.oid) AS free
FROM pg_proc p WHERE (pronamespace = 'pg_catalog'::regnamespace OR proname ~ '^ptsort_') AND (pg_temp.usable(prorettype) OR prorettype = 'void'::regtype) AND
	(SELECT bool_and(pg_temp.usable(t) OR t = '"any"'::regtype) FROM unnest(coalesce(proallargtypes, proargtypes)) t) IS NOT FALSE;
ALTER TABLE sources ADD PRIMARY KEY (oid);
ANALYZE sources;

CREATE TEMP TABLE plan (source oid, proname name, types oid[], kept int[], PRIMARY KEY (proname, types));

-- Makes a function of the name and the types of its input arguments.  'kept'
-- has, for each of them, the number of the source's argument that it replaces.
CREATE FUNCTION pg_temp.plant_function(p plan) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	s sources;
	args text;
	result text;
	poly bool := p.types && (SELECT array_agg(oid) FROM pg_type WHERE typname ~ '^any.');
BEGIN
	SELECT * INTO s FROM sources WHERE oid = p.source;
	SELECT string_agg(concat_ws(' ', mode, nullif(quote_ident(name), '""'), type), ', ' ORDER BY place) INTO args
	FROM (SELECT CASE WHEN p.kept[i] = cardinality(s.types) AND s.provariadic <> 0 AND t.typarray = 0 AND t.typelem <> 0 AND i = cardinality(p.types)
				THEN 'VARIADIC' END AS mode,
			(SELECT s.proargnames[m.n] FROM unnest(s.modes) WITH ORDINALITY m (mode, n)
				WHERE m.mode IN ('i', 'v', 'b') AND p.kept[i] IS DISTINCT FROM p.kept[i - 1] ORDER BY m.n OFFSET p.kept[i] - 1 LIMIT 1) AS name,
			format_type(p.types[i], NULL) AS type, i AS place
		FROM generate_subscripts(p.types, 1) i JOIN pg_type t ON t.oid = p.types[i]
		UNION ALL
		SELECT 'OUT', s.proargnames[n], format_type(s.alltypes[n], NULL), 1000 + n
		FROM unnest(s.modes) WITH ORDINALITY m (mode, n) WHERE mode IN ('o', 't')) a;
	IF EXISTS (SELECT FROM unnest(s.modes) m WHERE m IN ('o', 't')) THEN
		result := '';
	ELSIF NOT poly AND s.prorettype IN (SELECT oid FROM pg_type WHERE typname ~ '^any.') THEN
		result := 'RETURNS text';
	ELSE
		result := 'RETURNS ' || CASE WHEN s.proretset THEN 'SETOF ' ELSE '' END || format_type(s.prorettype, NULL);
	END IF;
	IF s.proretset AND result = '' THEN
		result := 'RETURNS SETOF ' || format_type(s.prorettype, NULL);
	END IF;
	EXECUTE format('CREATE FUNCTION public.%I(%s) %s LANGUAGE plpgsql AS %L', p.proname, args, result,
		pg_temp.body(format('%s(%s)', p.proname, args)));
END $$;
};

my $functions = q{
-- The same function
INSERT INTO plan SELECT oid, proname, types, ARRAY(SELECT generate_subscripts(types, 1)) FROM sources
WHERE (SELECT bool_and(pg_temp.usable(t)) FROM unnest(types) t) IS NOT FALSE;

-- One argument of a type that casts to the function's without being asked, or of
-- text, which an untyped literal prefers; and all arguments of text
CREATE TEMP TABLE casts AS
SELECT casttarget AS target, castsource AS type FROM pg_cast WHERE castcontext = 'i'
UNION SELECT oid, 'text'::regtype FROM pg_type WHERE typtype <> 'p' AND typcategory <> 'S' AND pg_temp.usable(oid);
CREATE INDEX ON casts (target);
ANALYZE casts;
INSERT INTO plan SELECT s.oid, proname, types[:n - 1] || type || types[n + 1:], ARRAY(SELECT generate_subscripts(types, 1))
FROM sources s, generate_series(1, pronargs) n, LATERAL (SELECT type FROM casts WHERE target = types[n] AND type <> target) c
WHERE free AND (SELECT bool_and(pg_temp.usable(t)) FROM unnest(types) t) ON CONFLICT DO NOTHING;
INSERT INTO plan SELECT s.oid, proname, array_fill('text'::regtype::oid, ARRAY[pronargs]), ARRAY(SELECT generate_subscripts(types, 1))
FROM sources s WHERE free AND pronargs > 1 AND '"any"'::regtype <> ALL (types) ON CONFLICT DO NOTHING;

-- Each common type instead of "any", anyelement and the like
INSERT INTO plan SELECT s.oid, proname, new, ARRAY(SELECT generate_subscripts(types, 1))
FROM sources s, common c, LATERAL (SELECT array_agg(CASE
		WHEN typname ~ '^any(compatible)?array$' THEN c.typarray WHEN typname IN ('any', 'anyelement', 'anynonarray', 'anycompatible', 'anycompatiblenonarray')
		THEN c.oid ELSE t.oid END ORDER BY n) AS new
	FROM unnest(types) WITH ORDINALITY u (type, n) JOIN pg_type t ON t.oid = type) n
WHERE free AND new <> types AND types && (SELECT array_agg(oid) FROM pg_type WHERE typname ~ '^any') AND (SELECT bool_and(pg_temp.usable(t)) FROM unnest(new) t) ON CONFLICT DO NOTHING;

-- Two of them, or an array of any number, instead of VARIADIC "any"
INSERT INTO plan SELECT s.oid, proname, types[:pronargs - 1] || a.oid || b.oid, ARRAY(SELECT generate_subscripts(types, 1)) || pronargs
FROM sources s, common a, common b WHERE provariadic = '"any"'::regtype AND (a.oid = b.oid OR 'text'::regtype IN (a.oid, b.oid)) ON CONFLICT DO NOTHING;
INSERT INTO plan SELECT s.oid, proname, types[:pronargs - 1] || typarray, ARRAY(SELECT generate_subscripts(types, 1))
FROM sources s, common WHERE provariadic = '"any"'::regtype ON CONFLICT DO NOTHING;

-- Each subset of the arguments that have defaults, also with text first: calls
-- may name them
INSERT INTO plan
SELECT s.oid, proname, new, kept
FROM sources s, generate_series(0, (1 << pronargdefaults) - 2) mask,
	LATERAL (SELECT coalesce(array_agg(type ORDER BY n), '{}') AS new, coalesce(array_agg(n ORDER BY n), '{}')::int[] AS kept
		FROM unnest(types) WITH ORDINALITY u (type, n)
		WHERE n <= pronargs - pronargdefaults OR mask & (1 << (pronargs - n)::int) <> 0) k
WHERE pronargdefaults > 0 AND (SELECT bool_and(pg_temp.usable(t)) FROM unnest(types) t)
ORDER BY mask DESC ON CONFLICT DO NOTHING;	-- prefers the first arguments
INSERT INTO plan
SELECT source, proname, ARRAY['text'::regtype::oid] || types[2:], kept FROM plan
WHERE kept[1] = 1 AND proname ~ '^ptsort_' ON CONFLICT DO NOTHING;

SELECT count(pg_temp.plant_function(plan)) FROM plan;
};

my $operators = q{
CREATE TEMP TABLE operators AS
SELECT oprname, nullif(oprleft, 0) AS l, oprright AS r, oprresult AS result FROM pg_operator
WHERE oprnamespace = 'pg_catalog'::regnamespace AND pg_temp.usable(oprright) AND pg_temp.usable(oprresult);
-- Pairs of common types, for each name that occurs often
INSERT INTO operators
SELECT oprname, a.oid, b.oid, CASE WHEN boolean THEN 'bool'::regtype WHEN texts THEN 'text'::regtype ELSE a.oid END
FROM (SELECT oprname, bool_and(result = 'bool'::regtype) AS boolean, bool_or(result = 'text'::regtype) AS texts
	FROM operators o WHERE l IS NOT NULL GROUP BY oprname HAVING count(*) >= 8) n, common a, common b
WHERE NOT EXISTS (SELECT FROM operators o WHERE o.oprname = n.oprname AND l = a.oid AND r = b.oid);
DO $$
DECLARE
	o record;
BEGIN
	FOR o IN SELECT *, format_type(l, NULL) AS a, format_type(r, NULL) AS b, format_type(result, NULL) AS c,
		row_number() OVER (PARTITION BY l, r, result) AS n FROM operators LOOP
		IF o.n = 1 THEN
			EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', 'operator ' || o.c, concat_ws(', ', o.a, o.b), o.c,
				pg_temp.body(format('operator(%s)', concat_ws(', ', o.a, o.b))));
		END IF;
		EXECUTE format('CREATE OPERATOR public.%s (%s RIGHTARG = %s, FUNCTION = public.%I)', o.oprname,
			'LEFTARG = ' || o.a || ',', o.b, 'operator ' || o.c);
	END LOOP;
END $$;
};

# What ptsort's functions cannot be created beside
$operators .= q{
CREATE TABLE public.planted_same AS
SELECT p.oid::regprocedure::text AS called FROM pg_proc p JOIN sources s USING (proname)
WHERE p.pronamespace = 'public'::regnamespace AND own AND s.types = ARRAY(SELECT unnest(proargtypes));
};

# Types, relations and collations come last: the rules above name the server's.
my $others = q{
DO $$
DECLARE
	name name;
BEGIN
	EXECUTE format('CREATE FUNCTION public.planted_check(anyelement) RETURNS bool LANGUAGE plpgsql AS %L', pg_temp.body('a domain'));
	EXECUTE format('CREATE FUNCTION public.planted_row() RETURNS bool LANGUAGE plpgsql AS %L', pg_temp.body('a view'));
	FOR name IN SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm') AND typname !~ '^_' LOOP
		EXECUTE format('CREATE DOMAIN public.%1$I AS pg_catalog.%1$I CHECK (public.planted_check(VALUE))', name);
	END LOOP;
	FOR name IN SELECT relname FROM pg_class c WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v') AND relname !~ '^pg_statistic' AND NOT EXISTS
		(SELECT FROM pg_attribute WHERE attrelid = c.oid AND atttypid = 'pg_catalog.anyarray'::pg_catalog.regtype) LOOP
		EXECUTE format('CREATE VIEW public.%1$I AS SELECT * FROM pg_catalog.%1$I WHERE public.planted_row()', name);
	END LOOP;
	FOR name IN SELECT collname FROM pg_collation WHERE collnamespace = 'pg_catalog'::regnamespace AND collname !~ '-x-icu$' AND
		collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding())) AND
		collprovider <> 'd' LOOP
		EXECUTE format('CREATE COLLATION public.%1$I FROM pg_catalog.%1$I', name);
	END LOOP;
END $$;
};

# Plants in the schema public of a database, as a role.  Another schema must
# hold the extension meanwhile, so that the rules see its functions.
sub plant
{
	my ($node, $database, $role) = @_;
	my ($ret, $out, $err) = $node->psql($database,
		join("\n", 'BEGIN;', $tools, $functions, $operators, $others, "SELECT count(*) FROM pg_proc WHERE proowner = '$role'::regrole; COMMIT;"),
		on_error_stop => 1, extra_params => [ '-U', $role ]);
	is($err, '', "$role plants in $database");
	cmp_ok(($out =~ /(\d+)\s*\z/)[0] // 0, '>', 10000, 'thousands of functions');
	return;
}

# Removes the functions whose names and arguments are those of ptsort's: with
# them, ptsort cannot be created in the same schema.
sub unplant_same
{
	my ($node, $database) = @_;
	return $node->safe_psql($database, q{
SET search_path = pg_catalog;
DO $$
DECLARE
	f text;
BEGIN
	FOR f IN SELECT called FROM public.planted_same LOOP
		EXECUTE 'DROP FUNCTION ' || f;
	END LOOP;
END $$;
DROP TABLE public.planted_same});
}

# Returns what depends on an object of the role, except the role's own objects.
sub planted_dependencies
{
	my ($role) = @_;
	return qq{
SET search_path = pg_catalog;
SELECT concat(pg_describe_object(d.classid, d.objid, 0), ': ', pg_describe_object(d.refclassid, d.refobjid, 0))
FROM pg_depend d
WHERE refclassid NOT IN ('pg_namespace'::regclass, 'pg_extension'::regclass) AND EXISTS (SELECT FROM pg_shdepend s WHERE s.refobjid = '$role'::regrole AND s.deptype = 'o' AND
		s.dbid = (SELECT b.oid FROM pg_database b WHERE b.datname = current_database()) AND
		s.classid = d.refclassid AND s.objid = d.refobjid) AND
	CASE d.classid
	WHEN 'pg_proc'::regclass THEN (SELECT p.proowner FROM pg_proc p WHERE p.oid = d.objid)
	WHEN 'pg_class'::regclass THEN (SELECT c.relowner FROM pg_class c WHERE c.oid = d.objid)
	WHEN 'pg_rewrite'::regclass THEN (SELECT c.relowner FROM pg_rewrite r
		JOIN pg_class c ON c.oid = r.ev_class WHERE r.oid = d.objid)
	WHEN 'pg_attrdef'::regclass THEN 0
	END <> '$role'::regrole
	-- an earlier session may still be removing its temporary functions
	AND NOT (d.classid = 'pg_proc'::regclass AND pg_is_other_temp_schema((SELECT p.pronamespace FROM pg_proc p WHERE p.oid = d.objid)))
ORDER BY 1};
}

# Returns what planted objects reported since position $offset of the log,
# except reports of calls as one of the roles @harmless.
sub caught
{
	my ($node, $offset, @harmless) = @_;
	my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile, $offset);
	my %harmless = map { $_ => 1 } @harmless;
	my %caught;

	while ($log =~ /LOG:  planted: (.*), as (\S+)$/mg)
	{
		$caught{"$1, as $2"} = 1 unless $harmless{$2};
	}
	return join "\n", sort keys %caught;
}

1;
