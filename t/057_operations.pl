# What doc/operations.md says about a running server: the query for indexes that
# minor releases ask to rebuild finds each kind, and nothing else; the names of
# wait events; the version of the loaded library.
#
# Depends on the version: operator classes, wait events, pg_get_loaded_modules()
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/..";
my $major = server_major();
# autovacuum takes numbers, which the query of TOAST indexes compares
my $node = new_node('main', conf => "maintenance_work_mem = '4MB'\nautovacuum = off\nwal_level = replica\n");
my ($query) = slurp_file("$top/doc/operations.md") =~ /^## After a minor release\n.*?^```sql\n(.*?)^```/ms
  or die 'where is the query?';

sub new_database
{
	my ($name, $options) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0 $options");
	$node->safe_psql($name, 'CREATE SCHEMA ptsort; CREATE EXTENSION ptsort SCHEMA ptsort');
	return;
}

# Indexes that are affected, with their reasons; others have no reason.
my %affected = (
	'CREATE INDEX %s ON s."T" USING brin (a)' => 'NULLs may be missing',
	'CREATE INDEX %s ON s."T" USING brin (d date_minmax_multi_ops)' => 'NULLs may be missing; slow',
	'CREATE INDEX %s ON s."T" USING brin (ts timestamp_minmax_multi_ops)' => 'NULLs may be missing; slow',
	'CREATE INDEX %s ON s."T" USING brin (a, tz timestamptz_minmax_multi_ops)' => 'NULLs may be missing; slow',
	'CREATE INDEX %s ON s."T" USING brin (n numeric_minmax_multi_ops)' => 'NULLs may be missing; slow',
	'CREATE INDEX %s ON s."T" USING brin (a int4_bloom_ops)' => 'NULLs may be missing; rows may be missing',
	'CREATE INDEX %s ON s."T" USING gist (p)' => 'rows may be missing',
	'ALTER TABLE s."T" ADD CONSTRAINT %s EXCLUDE USING gist (b WITH &&)' => 'rows may be missing',
	'CREATE INDEX %s ON s."T" USING gin (l)' => 'damaged by writers, or by vacuum',
	'CREATE INDEX %s ON s."T" (a, i)' => 'other values in index-only scans',
	'CREATE UNIQUE INDEX %s ON s."T" (di DESC)' => 'other values in index-only scans',
	'CREATE INDEX %s ON s."T" (c bpchar_pattern_ops) WHERE a > 0' => 'other values in index-only scans',
	'CREATE INDEX %s ON s."T" (((c || c)::bpchar))' => 'other values in index-only scans',
	'CREATE INDEX %s ON s."T" (a, d, n)' => undef,
	'CREATE INDEX %s ON s."T" (c5)' => undef,
	'CREATE INDEX %s ON s."T" (t)' => undef,
	'CREATE INDEX %s ON s."T" (a) INCLUDE (i)' => undef,
	'CREATE INDEX %s ON s."T" USING hash (i)' => undef,
	'CREATE INDEX %s ON s."T" USING spgist (p)' => undef);

my %extensions = (
	'btree_gist' => {
		'CREATE INDEX %s ON s."T" USING gist (f4)' => 'rows may be missing; rows with NaN may be missing',
		'CREATE INDEX %s ON s."T" USING gist (a, f8)' => 'rows may be missing; rows with NaN may be missing',
		'CREATE INDEX %s ON s."T" USING gist (v)' => 'rows may be missing' . ($major >= 18 ? '; slow' : ''),
		'ALTER TABLE s."T" ADD CONSTRAINT %s EXCLUDE USING gist (v WITH =)' => 'rows may be missing' . ($major >= 18 ? '; slow' : '')
	},
	'ltree' => {
		'CREATE INDEX %s ON s."T" ((t::public.ltree))' =>
		  ($major >= 18 ? 'rows may be missing; ' : '') . 'wrong order of very long values',
		'CREATE INDEX %s ON s."T" USING gist ((t::public.ltree))' => 'rows may be missing' . ($major >= 18 ? '; rows may be missing' : '')
	},
	'pg_trgm' => {
		'CREATE INDEX %s ON s."T" USING gist (t public.gist_trgm_ops)' => 'rows may be missing; rows may be missing'
	});

new_database('planted', "ENCODING 'UTF8' LOCALE 'C'");
is($node->safe_psql('planted', $query), '', 'an empty database');
$node->safe_psql('planted', q{
CREATE SCHEMA s;
CREATE DOMAIN s.span AS interval;
CREATE TABLE s."T" AS SELECT g AS a, date '2000-01-01' + g AS d, timestamp '2000-01-01' + g * interval '1 h' AS ts, now() + g * interval '1 h' AS tz,
	g::numeric AS n, point(g, g) AS p, box(point(3 * g, g), point(3 * g + 1, g)) AS b, ARRAY[g] AS l, g * interval '1 s' AS i,
	(g * interval '1 s')::s.span AS di, g::text::bpchar AS c, g::text::char(5) AS c5, 'a' || g AS t, g::float4 AS f4, g::float8 AS f8, g::bit(16)::varbit AS v
FROM generate_series(1, 300) g;
});
foreach my $extension (sort keys %extensions)
{
	next unless $node->safe_psql('planted', "SELECT count(*) FROM pg_available_extensions WHERE name = '$extension'");
	$node->safe_psql('planted', "CREATE EXTENSION $extension SCHEMA public");
	%affected = (%affected, %{ $extensions{$extension} });
}
is($node->safe_psql('planted', $query), '', 'a table without indexes, and the index of its TOAST table');

my %reasons;
my $n = 0;
foreach my $create (sort keys %affected)
{
	my $name = q{"i""'} . $n++ . '"';
	$node->safe_psql('planted', sprintf($create, $name));
	$reasons{"s.$name"} = $affected{$create} if defined $affected{$create};
}

# Runs the query; returns the reason of each index, and all statements.
sub found
{
	my ($database) = @_;
	my (%found, @statements);
	foreach my $row (split /\n/, $node->safe_psql($database, $query))
	{
		my ($index, $reasons, $statement) = split /\|/, $row;
		$found{$index} = join '; ', map { s/^.*?: //r } split /; /, $reasons;
		push @statements, $statement;
	}
	return (\%found, @statements);
}
my ($found, @statements) = found('planted');
is_deeply($found, \%reasons, 'all kinds, and no other index');
is(scalar(grep { !/^SELECT \* FROM ptsort\.ptsort_check\('.*', heap => true\)$|^REINDEX INDEX(?: CONCURRENTLY)? s\."/ } @statements),
	0, 'statements');
my $rebuilt = $major >= 18 && grep { /EXCLUDE USING gist \(v / } keys %affected;
is(scalar(grep { /^REINDEX INDEX s/ } @statements), $rebuilt ? 1 : 0, 'no CONCURRENTLY for an exclusion constraint');
foreach my $statement (@statements)
{
	my ($ret, $out, $err) = $node->psql('planted', $statement);
	is($err, '', $statement);
	is((split /\|/, $out)[3], 0, '... no problem') if $statement =~ /^SELECT/;
}

# The index of a TOAST table, rebuilt
$node->safe_psql('planted', 'CREATE TABLE s.long (t text)');
is_deeply((found('planted'))[0], \%reasons, 'a new TOAST table');
my $toast = $node->safe_psql('planted', q{SELECT indexrelid::regclass FROM pg_index WHERE indrelid = (SELECT reltoastrelid FROM pg_class WHERE oid = 's.long'::regclass)});
$node->safe_psql('planted', "REINDEX INDEX CONCURRENTLY $toast");
is((found('planted'))[0]{$toast}, 'rebuilt CONCURRENTLY: missing chunks', 'its index, after REINDEX CONCURRENTLY');
is($node->safe_psql('planted', "SELECT problems FROM ptsort.ptsort_check('$toast', heap => true)"), 0, '... which the check accepts');

# A database whose LC_CTYPE is C while its LC_COLLATE is not
SKIP:
{
	my $locale = $node->safe_psql('postgres', q{SELECT collname FROM pg_collation
WHERE collprovider = 'c' AND collencoding = 6 AND collname ~ '^[a-z]+_[A-Z]+\.utf-?8$' ORDER BY collname LIMIT 1});
	skip 'no locale of the C library in UTF-8', 1 if $locale eq '';
	new_database('mixed', "ENCODING 'UTF8' LC_COLLATE '$locale' LC_CTYPE 'C'" . ($major >= 17 ? ' LOCALE_PROVIDER libc' : ''));
	$node->safe_psql('mixed', q{CREATE TABLE t AS SELECT 'a'::text AS a; CREATE INDEX t_a ON t (a); CREATE INDEX t_c ON t (a COLLATE "C")});
	is_deeply((found('mixed'))[0], $major >= 17 ? { 'public.t_a' => 'wrong order' } : {}, 'LC_CTYPE is C');
}

# Wait events: participants of a copy pause for a limit.  In a sorted copy, others
# wait for the place at which they may write.
$node->safe_psql('postgres', q{CREATE TABLE t AS SELECT hashint4(g) AS a, md5(g::text) AS word FROM generate_series(1, 200000) g; CREATE INDEX t_a ON t (a)});
foreach my $copy ('CLUSTER t USING t_a', 'VACUUM FULL t')
{
	my $slow = start_psql($node, 'SET ptsort.parallel_workers = 2', q{SET ptsort.max_wal_rate = '10kB'}, $copy);
	foreach my $event ($major >= 17 ? [ 'Extension', 'PtsortPause' ] : [ 'Extension', 'Extension' ],
		$copy =~ /CLUSTER/ ? [ 'IPC', 'ParallelCreateIndexScan' ] : ())
	{
		my ($type, $name) = @$event;
		ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = '$type' AND wait_event = '$name' AND backend_type IN ('client backend', 'parallel worker')"),
			"$copy: wait event $type, $name");
	}
	$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ '^(CLUSTER|VACUUM)' AND backend_type = 'client backend'});
	$slow->{run}->finish;
}
is($node->safe_psql('postgres', q{SELECT type FROM pg_wait_events WHERE name = 'PtsortPause'}), 'Extension', 'pg_wait_events') if $major >= 17;

# The library's version
SKIP:
{
	skip 'the server has no pg_get_loaded_modules()', 1 if $major < 18;
	my ($version) = slurp_file("$top/ptsort.control") =~ /^default_version\s*=\s*'(.*)'/m;
	is($node->safe_psql('postgres', q{SELECT module_name, version FROM pg_get_loaded_modules() WHERE file_name ~ 'ptsort\.so'}),
		"ptsort|$version", 'pg_get_loaded_modules()');
}
$node->stop;
done_testing();
