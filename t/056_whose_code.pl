# doc/safety.md has a table: each function and documented statement, who may call
# it, whose code can run in it, and as whom.  The test reads the table, and has a
# test of each of its rows.  An owner plants functions that report as whom they
# run: in expressions and a predicate of indexes and in extended statistics, for
# each row and while the server folds constants.  A third user plants a function
# that a call in one of them would find in the caller's search_path.
#
# Depends on the version: the context of the server's own statements
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/..";
my $node = new_node('main', conf => "ptsort_test.all_workers = off\n");
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
my $major = server_major();

# spy() reports its caller's context: the user, whether the user could become the
# session's user, and the search_path.  A parallel worker cannot try.
$node->safe_psql('postgres', q{
CREATE ROLE hostile LOGIN;
CREATE ROLE third LOGIN;
CREATE ROLE other LOGIN;
CREATE DATABASE d;
});
$node->safe_psql('d', q{
GRANT CREATE ON SCHEMA public TO PUBLIC;
CREATE SCHEMA ptsort;
GRANT USAGE ON SCHEMA ptsort TO PUBLIC;
CREATE EXTENSION ptsort SCHEMA ptsort;
CREATE EXTENSION ptsort_am;
CREATE EXTENSION amcheck SCHEMA ptsort;
ALTER DATABASE d SET search_path = public;
ALTER DATABASE d SET client_min_messages = warning;
SET ROLE third;
CREATE FUNCTION public.length(varchar) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$BEGIN
	RAISE LOG 'spy: function of the third user as %', current_user; RETURN 0; END$$;
SET ROLE hostile;
CREATE FUNCTION public.spy(what text) RETURNS int VOLATILE LANGUAGE plpgsql AS $$
DECLARE
	restricted text := 'restricted';
BEGIN
	BEGIN
		PERFORM set_config('role', 'none', true);
		RAISE assert_failure;
	EXCEPTION
		WHEN insufficient_privilege THEN NULL;
		WHEN assert_failure THEN restricted := 'free';
	END;
	RAISE LOG 'spy: % as %, %, search_path %', what, current_user, restricted, current_setting('search_path');
	RETURN 0;
END $$;
CREATE FUNCTION public.spy_in_worker(what text) RETURNS int VOLATILE PARALLEL SAFE LANGUAGE plpgsql AS $$BEGIN
	RAISE LOG 'spy: % as %, restricted, search_path %', what, current_user, current_setting('search_path');
	RETURN 0;
END $$;
-- the planner inlines neither
CREATE FUNCTION public.f(what text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN public.spy(what); END$$;
CREATE FUNCTION public.g(what text) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$BEGIN RETURN public.spy_in_worker(what); END$$;
CREATE FUNCTION public.by_path(varchar) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$BEGIN RETURN length($1); END$$;
CREATE TABLE public.t AS SELECT i AS a, i::text::varchar AS b, point(i, i) AS p FROM generate_series(1, 2000) i;
SET search_path = pg_catalog;
CREATE UNIQUE INDEX t_unique ON public.t ((a + public.f('an expression, folded')), public.f('an expression ' || b)) WHERE public.f('a predicate, folded') = 0 AND public.f('a predicate ' || b) = 0;
CREATE INDEX t_path ON public.t (public.by_path(b), public.by_path('folded'));
CREATE INDEX t_gist ON public.t USING gist (p) WHERE public.f('a predicate, folded') = 0 AND public.f('a predicate ' || b) = 0 AND public.by_path(b) > 0;
CREATE STATISTICS public.t_statistics ON (a + public.f('statistics, folded')), public.f('statistics ' || b) FROM public.t;
CREATE TABLE public.w AS SELECT i AS a, i::text::varchar AS b FROM generate_series(1, 2000) i;
CREATE INDEX w_worker ON public.w ((a + public.g('an expression, folded')), public.g('an expression ' || b)) WHERE public.g('a predicate ' || b) = 0 AND public.by_path(b) > 0;
CREATE INDEX w_a ON public.w (a);
CREATE TABLE public.twice AS SELECT i AS a, (i / 2)::text::varchar AS b FROM generate_series(1, 1000) i;
CREATE INDEX twice_b ON public.twice (b, public.f('an expression ' || b), public.f('folded')) WHERE public.by_path(b) > 0;
CREATE DOMAIN public.spied AS varchar CHECK (public.f('a domain ' || VALUE) = 0 AND public.f('a domain, folded') = 0 AND public.by_path(VALUE) > 0);
CREATE TABLE public.ranged (a int, b public.spied, CHECK (public.f('a constraint ' || b) = 0 AND public.f('a constraint, folded') = 0))
	PARTITION BY LIST ((public.f('a partition key ' || b) + public.f('a partition key, folded') + public.by_path(b)));
CREATE TABLE public.ranged_1 PARTITION OF public.ranged FOR VALUES IN (1);
CREATE TABLE public.ranged_rest PARTITION OF public.ranged DEFAULT;
INSERT INTO public.ranged SELECT i, i FROM generate_series(1, 20) i;
CREATE INDEX ranged_b ON public.ranged (b, public.f('an expression ' || b), public.f('folded')) WHERE public.by_path(b) > 0;
CREATE FUNCTION public.on_delete() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM public.spy('a trigger'); RETURN OLD; END$$;
CREATE TRIGGER deleted BEFORE DELETE ON public.twice FOR EACH ROW EXECUTE FUNCTION public.on_delete();
RESET ROLE;
UPDATE pg_index SET indisunique = true WHERE indexrelid = 'public.twice_b'::regclass OR indexrelid IN (SELECT relid FROM pg_partition_tree('public.ranged_b'));
ANALYZE public.t, public.w, public.twice;
});

# Runs SQL in a new session of a user; returns rows, errors, and a list of what
# the functions reported, without numbers of rows.
sub spied
{
	my ($sql, $user) = @_;
	my $offset = log_end($node);
	my ($ret, $out, $err) = $node->psql('d', $sql, on_error_stop => 0, extra_params => [ '-U', $user // $superuser ]);
	my $log = slurp_file($node->logfile, $offset);
	my %reports = map { s/ \d+ as/ of a row as/r => 1 } $log =~ /LOG:  spy: (.*)/g;

	$err =~ s/^psql:<stdin>:\d+: //mg;
	return ($out, $err, join("\n", sort keys %reports));
}

my $safe = 'as hostile, restricted, search_path pg_catalog, pg_temp';

# A statement of a superuser runs the owner's code as the owner, with a safe
# search_path, and nobody else's.
sub runs_as_owner
{
	my ($sql, $name) = @_;
	my ($out, $err, $reports) = spied($sql);

	is($err, '', "$name: $sql");
	like($reports, qr/\A(?:.* \Q$safe\E(?:\n|\z))+\z/, "... the owner's code runs as the owner");
	return $out;
}

sub runs_nothing
{
	my ($sql, $name, $user) = @_;
	my ($out, $err, $reports) = spied($sql, $user);

	is($err, '', "$name: $sql");
	is($reports, '', '... runs no code of a user');
	return $out;
}

sub refused
{
	my ($sql, $user, $name) = @_;
	my ($out, $err, $reports) = spied($sql, $user);
	like($err, qr/^ERROR:  (?:must be owner of|permission denied for)/, "$name: not for $user: $sql");
	is($reports, '', '... and runs nothing');
	return;
}

# A statement calls the owner's code as it does if the server executes it alone:
# "... as hostile, restricted", and since 17 with a safe search_path.
sub runs_like_the_server
{
	my ($sql, $name) = @_;
	my @reports;

	foreach my $enable ('off', 'on')
	{
		my ($out, $err, $reports) = spied("SET ptsort.enable = $enable; SET ptsort.sort = $enable; $sql");
		is($err, '', "$name, ptsort.enable = $enable: $sql");
		push @reports, $reports;
	}
	is($reports[1], $reports[0], '... the same code runs in the same context');
	return $reports[0];
}

my %row_tests = (
	'ptsort_check(), ptsort_check_indexes(), ptsort_check_all(), ptsort_duplicates()' => sub {
		my ($name) = @_;
		$node->safe_psql('d', q{CREATE INDEX t_gin ON public.t USING gin ((ARRAY[b])) WHERE public.f('a predicate, folded') = 0 AND public.f('a predicate ' || b) = 0});
		foreach my $index (qw(t_unique w_worker twice_b t_gist t_gin))
		{
			runs_as_owner("SELECT problems FROM ptsort.ptsort_check('$index', heap => true, workers => $_)", $name) foreach 0, 2;
			runs_as_owner("SELECT problems FROM ptsort.ptsort_check_indexes('{$index}', heap => true, workers => $_)", $name) foreach 0, 2;
		}
		# The check does not find the function of the third user, which has other
		# results.
		is(runs_as_owner("SELECT problems FROM ptsort.ptsort_check('t_path', heap => true)", $name), '0', '... finds no problem');
		runs_as_owner('SELECT count(*) FROM ptsort.ptsort_check_all(heap => true)', $name);
		runs_as_owner('SELECT count(*) FROM ptsort.ptsort_check_all(heap => true, workers => 2)', $name);
		is(runs_as_owner("SELECT count(*) FROM ptsort.ptsort_duplicates('twice_b')", $name), '998', '... finds duplicates');
		runs_as_owner("SELECT count(*) FROM ptsort.ptsort_duplicates('$_')", $name) foreach 't_unique', 'ranged_b';
		refused("SELECT * FROM ptsort.$_('t_unique')", 'other', $name) foreach 'ptsort_check', 'ptsort_duplicates';
		refused("SELECT * FROM ptsort.ptsort_duplicates('ranged_b')", 'other', $name);
		is(runs_nothing("SELECT count(index) FROM ptsort.$_", $name, 'other'), '0', '... leaves them out')
		  foreach "ptsort_check_indexes('{t_unique}', true)", 'ptsort_check_all(true)';
		if ($major >= 17)
		{
			$node->safe_psql('d', 'GRANT MAINTAIN ON public.w TO other');
			is((spied("SELECT problems FROM ptsort.ptsort_check('w_worker', heap => true)", 'other'))[0], '0', "$name: a role with MAINTAIN");
		}
		# A rebuild in the same session uses what the check left in the caches.
		is((spied("SELECT problems FROM ptsort.ptsort_check('t_path', heap => true); SET search_path = pg_catalog; REINDEX INDEX public.t_path;
			SELECT problems FROM ptsort.ptsort_check('public.t_path', heap => true)"))[0], "0\n0", '... a build in the same session makes a sound index');
	},
	'ptsort_wrong_rows()' => sub {
		my ($name) = @_;
		foreach my $table (qw(ranged ranged_1 ranged_rest))
		{
			# The function of the third user has other results.
			is(runs_as_owner("SELECT count(*) FROM ptsort.ptsort_wrong_rows('$table')", $name), '0', '... finds no wrong row');
			refused("SELECT * FROM ptsort.ptsort_wrong_rows('$table')", 'other', $name);
		}
		my ($out, $err, $reports) = spied("SELECT * FROM ptsort.ptsort_wrong_rows('ranged')");
		like($reports, qr/^a $_ of a row as.*^a $_, folded as/ms, "... in a $_") foreach 'constraint', 'domain', 'partition key';
		if ($major >= 17)
		{
			$node->safe_psql('d', 'GRANT MAINTAIN ON public.ranged_rest TO other');
			is((spied("SELECT count(*) FROM ptsort.ptsort_wrong_rows('ranged_rest')", 'other'))[0], '0', "$name: a role with MAINTAIN");
			refused("SELECT * FROM ptsort.ptsort_wrong_rows('ranged')", 'other', "$name: on one partition");
		}
	},
	'ptsort_forecast() of REINDEX, CLUSTER, REPACK, VACUUM FULL' => sub {
		my ($name) = @_;
		runs_as_owner("SELECT verdict FROM ptsort.ptsort_forecast('$_')", $name)
		  foreach 'REINDEX INDEX t_unique', 'REINDEX TABLE t', 'REINDEX TABLE w', 'VACUUM FULL t';
		refused("SELECT * FROM ptsort.ptsort_forecast('REINDEX TABLE t')", 'other', $name);
	},
	'ptsort_forecast() of a new index or constraint' => sub {
		my ($name) = @_;
		my ($out, $err, $reports) = spied(q{SELECT verdict FROM ptsort.ptsort_forecast($$CREATE INDEX ON t (public.f('the caller''s, folded'), public.f('the caller''s ' || b))$$)});
		is($err, '', $name);
		like($reports, qr/\A(?:.* \Q$safe\E(?:\n|\z))+\z/, '... as the owner');
		like($reports, qr/the caller's, folded/, "... the caller's code");
		refused("SELECT * FROM ptsort.ptsort_forecast('CREATE INDEX ON t (b)')", 'other', $name);
	},
	'ptsort_collations(), ptsort_collation_digest()' => sub {
		my ($name) = @_;
		foreach my $user ($superuser, 'other')
		{
			runs_nothing('SELECT count(*) FROM ptsort.ptsort_collations()', $name, $user);
			runs_nothing(q{SELECT ptsort.ptsort_collation_digest('"C"')}, $name, $user);
		}
	},
	'ptsort_record_checks()' => sub {
		my ($name) = @_;
		runs_nothing("SELECT ptsort.ptsort_record_checks(ARRAY['public.t_unique'::regclass::oid], '{x}', '{t}')", $name);
		refused("SELECT ptsort.ptsort_record_checks(ARRAY['public.t_unique'::regclass::oid], '{x}', '{t}')", 'other', $name);
	},
	'ptsort_remember_collations()' => sub {
		my ($name) = @_;
		runs_nothing('SELECT ptsort.ptsort_remember_collations()', $name);
		refused('SELECT ptsort.ptsort_remember_collations()', 'other', $name);
	},
	'ptsort_progress(), ptsort_last_build(), ptsort_last_copy(), ptsort_last_sort()' => sub {
		my ($name) = @_;
		foreach my $function ($name =~ /\w+\(\)/g)
		{
			runs_nothing("SELECT count(*) FROM ptsort.$function", $name, $_) foreach $superuser, 'other';
		}
	},
	'ptsort_set_limits()' => sub {
		my ($name) = @_;
		is(runs_nothing("SELECT ptsort.ptsort_set_limits(pg_backend_pid(), '1MB')", $name, $_), 'f', '... of no build')
		  foreach $superuser, 'other';
	},
	'CREATE INDEX, REINDEX, constraints' => sub {
		my ($name) = @_;
		foreach my $sql ('REINDEX TABLE t', 'REINDEX TABLE w', 'REINDEX INDEX CONCURRENTLY w_worker', 'CREATE INDEX made ON w (g(b)); DROP INDEX made',
			q{ALTER TABLE t ADD CONSTRAINT made EXCLUDE USING btree ((a + f('folded')) WITH =); ALTER TABLE t DROP CONSTRAINT made})
		{
			my $reports = runs_like_the_server($sql, $name);
			like($reports, qr/\A(?:(?:.* as hostile, restricted, search_path .*|function of the third user as hostile)(?:\n|\z))+\z/, '... as the owner');
			unlike($reports, qr/search_path public|third/, '... with a safe search_path') if $major >= 17;
		}
		# The functions above found the third user's before 17.
		$node->safe_psql('d', 'SET search_path = pg_catalog; REINDEX TABLE public.t; REINDEX TABLE public.w');
	},
	'CLUSTER, REPACK, VACUUM FULL' => sub {
		my ($name) = @_;
		foreach my $sql ('CLUSTER public.w USING w_a', 'VACUUM FULL public.w', $major >= 19 ? 'REPACK public.w USING INDEX w_a' : ())
		{
			my $reports = runs_like_the_server("SET search_path = pg_catalog; $sql", $name);
			like($reports, qr/\A(?:.* as hostile, restricted, search_path .*(?:\n|\z))+\z/, '... as the owner');
		}
	},
	'sorts of queries (ptsort.sort)' => sub {
		my ($name) = @_;
		my $reports = runs_like_the_server("SELECT count(*) FROM (SELECT FROM w ORDER BY b, g(b) OFFSET 0) s", $name);
		like($reports, qr{as \Q$superuser\E}, '... functions of the query run as its user');
	},
	'the statements in the columns repair and wrong_rows' => sub {
		my ($name) = @_;
		my $text = runs_as_owner(q{SET search_path = ptsort; SELECT concat_ws(E'\n', wrong_rows, repair) FROM ptsort.ptsort_check_all(heap => true) WHERE problems > 0}, $name);
		is($text, "SELECT * FROM ptsort.ptsort_duplicates('public.twice_b'::pg_catalog.regclass)\nREINDEX INDEX CONCURRENTLY public.twice_b", '... hold only names');
		my ($duplicates, $repair) = split /\n/, $text;
		runs_as_owner($duplicates, $name);
		like((spied("SET search_path = ptsort; $repair"))[2], qr/\A(?:.* as hostile, restricted, search_path .*(?:\n|\z))*\z/, "... $repair");
		# The rebuild fails because of the duplicates.  Remove what it leaves.
		$node->safe_psql('d', 'DROP INDEX IF EXISTS public.twice_b_ccnew');
	},
	'statements in these documents' => [ 't/055_planted.pl', qr/^# The documents\. /m ],
	'DELETE of rows with equal keys' => sub {
		my ($name) = @_;
		my ($out, $err, $reports) = spied(q{SET search_path = ptsort; BEGIN; DELETE FROM public.twice WHERE ctid = '(0,7)'; ROLLBACK});
		like($reports, qr/\Aa trigger as \Q$superuser\E, free/, "$name: the owner's trigger runs as the caller");
	},
	'the embedded sort' => sub {
		my ($name) = @_;
		my ($out, $err, $reports) = spied(
			'SET search_path = pg_catalog; CREATE INDEX made ON public.w USING ptsort_am (((a + public.g(b))::int8)); DROP INDEX public.made');
		like($reports, qr/\A(?:.* as hostile, restricted, search_path .*(?:\n|\z))+\z/, "$name: contrib/ptsort_am runs in the context of the server's index_build()");
	});

# The server's own checks beside them.  amcheck became safe on 15 and 16 with
# CVE-2026-14673.
{
	my ($out, $err, $reports) = spied("SELECT ptsort.bt_index_check('t_unique', true)");
	like($reports, qr/\A(?:.* as hostile, restricted, search_path .*(?:\n|\z))+\z/, 'control: amcheck');
	($out, $err, $reports) = spied("SELECT count(*) FROM t WHERE f('folded') = 0 AND by_path(b) > 0");
	like($reports, qr/folded as \Q$superuser\E, free, search_path public/, "control: a query runs an owner's function as its user");
	like($reports, qr/^function of the third user as \Q$superuser\E$/m, '... and what it calls by the search_path');
}

# The table's rows: each function of the extension is in one, and each has a test.
my ($table) = slurp_file("$top/doc/safety.md") =~ /^(\| function or statement \|.*?)^(?!\|)/ms;
my @rows = map { my ($first) = /^\| (.*?) \|/; $first =~ s/`//gr =~ s/\[(.*?)\]\(.*?\)/$1/gr } (split /\n/, $table)[ 2 .. ($table =~ tr/\n//) - 1 ];
is_deeply([ sort @rows ], [ sort keys %row_tests ], 'each row has a test');
my $functions = $node->safe_psql('d', q{SELECT DISTINCT proname FROM pg_depend JOIN pg_proc p ON p.oid = objid
WHERE deptype = 'e' AND classid = 'pg_proc'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ptsort') ORDER BY 1});
my %named = map { $_ => 1 } "@rows" =~ /(ptsort_\w+)\(\)/g;
is(join("\n", sort keys %named), $functions, 'each function of the extension has a row');

foreach my $row (@rows)
{
	my $test = $row_tests{$row} // next;
	if (ref $test eq 'ARRAY')
	{
		like(slurp_file("$top/$test->[0]"), $test->[1], "$row: $test->[0]");
	}
	else { $test->($row) }
}
$node->stop;
done_testing();
