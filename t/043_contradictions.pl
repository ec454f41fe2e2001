# In this test, ptsort misreads the tables of a collation: it reads the Czech
# "ch" as two letters.  ptsort notices the error because the collation's
# provider compares some of the strings.  In each session, the first statement
# that meets the error starts over with a warning, or fails.  Later statements
# and their workers are right, without another warning.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');
my @collations = split /\n/, $node->safe_psql('postgres', q{
SELECT quote_ident(min(collname)) FROM pg_collation
WHERE collname ~ '^cs_CZ\.utf-?8$' OR collname = 'cs-x-icu' GROUP BY collprovider});
plan skip_all => 'no Czech collation' unless @collations;

# Two tables.  In the first table, the words of the sort keys distinguish the
# strings, so that few comparisons see strings that ptsort misplaces.  In the
# second table, the words do not distinguish the strings.
$node->safe_psql('postgres', q{CREATE EXTENSION ptsort_test});
my $n = 0;
foreach my $collation (@collations)
{
	$n++;
	$node->safe_psql('postgres', <<"SQL");
SET ptsort.enable = off;
CREATE TABLE spot$n AS SELECT ('{ca,ch,cz,h,d}'::text[])[1 + i % 5]
	|| md5(i::text) COLLATE $collation AS k FROM generate_series(1, 12000) i;
CREATE TABLE tied$n AS SELECT repeat('long and alike ', 5) || k COLLATE $collation AS k FROM spot$n;
CREATE INDEX spot${n}_servers ON spot$n (k);
CREATE INDEX tied${n}_servers ON tied$n (k);
VACUUM ANALYZE spot$n, tied$n;
SQL
}

my $query = q{SELECT md5(string_agg(k, '')) FROM (SELECT k FROM %s ORDER BY k OFFSET 0) s};
my %statements = (
	build => q{CREATE INDEX ours ON %1$s (k); SELECT bt_index_check('ours'); DROP INDEX ours},
	copy => q{BEGIN; CLUSTER %1$s USING %1$s_servers; SELECT 'wrong' FROM (SELECT k, lag(k) OVER () AS l FROM %1$s) s WHERE k < l LIMIT 1; ROLLBACK},
	query => $query,
	workers => $query,
	parallel => q{SELECT digest FROM ptsort_test_parallel('%1$s', '{k}', '{"<(text,text)"}', workers => current_setting('ptsort.parallel_workers')::int)});
my $right = q{SELECT digest FROM ptsort_test_parallel('%1$s', '{k}', '{"<(text,text)"}', workers => 0)};

# Runs a statement twice in one session; returns the output and messages of both
# runs.
sub twice
{
	my ($statement, $table, $workers, $settings) = @_;
	my $sql = sprintf $statements{$statement}, $table;
	my ($out, $err) = ('', '');
	my $gather = $statement eq 'workers' ? 2 : 0;
	$node->psql('postgres', <<"SQL", stdout => \$out, stderr => \$err, on_error_stop => 0);
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SET max_parallel_workers_per_gather = $gather;
SET parallel_leader_participation = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET work_mem = '64MB';
SET ptsort.sort = text;
SET client_min_messages = warning;
SET log_min_messages = debug1;
SET ptsort.parallel_workers = $workers;
SET ptsort_test.trust_collations = on;
SET ptsort_test.learn_tuples = 1000;
$settings
\\echo first
$sql;
\\warn second
\\echo second
$sql;
SQL
	return ($out, $err);
}

$n = 0;
foreach my $collation (@collations)
{
	$n++;
	my $name = $collation =~ s/"//gr;
	my $provider = $name =~ /icu/ ? 'ICU' : 'The C library';
	my %expected;
	foreach my $table ("spot$n", "tied$n")
	{
		$expected{build} = $expected{copy} = '';
		my $plain = 'SET ptsort.use_collation_tables = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;';
		$expected{workers} = $expected{query} = $node->safe_psql('postgres', "SET ptsort.sort = off; $plain" . sprintf $query, $table);
		$expected{parallel} = $node->safe_psql('postgres', $plain . sprintf $right, $table);
		foreach my $statement (sort keys %statements)
		{
			foreach my $workers ($statement =~ /^(?:query|workers)$/ ? 0 : (0, 2))
			{
				foreach my $settings ('', 'SET ptsort_test.spill_entries = 2000;')
				{
					my ($first, $later, $one, $two);
					# by chance, the worker that may learn has too few rows
					# to read ICU's tables
					foreach my $try (1 .. 10)
					{
						my ($out, $err) = twice($statement, $table, $workers, $settings);
						($first, $later) = split /second\n?/, $err, 2;
						($one, $two) = split /second\n?/, $out, 2;
						last if $first ne '' || $later eq '' && ($statement ne 'parallel' || $settings ne '');
					}
					my $what = "$name, $table, $statement, $workers workers $settings";
					# a copy that trusts no collation's tables is right, and so
					# is the index built after the copy
					my $level = $statement eq 'build' ? 'WARNING'
					  : $statement eq 'copy' ? '(?:ERROR|WARNING)'
					  : 'ERROR';
					chomp($two);
					is($two, $expected{$statement}, "$what: right the second time");
					is($later, '', "$what: no message the second time");
					if ($first eq '')
					{
						# with little memory, or few rows in a worker, ptsort
						# does not read ICU's tables and so trusts nothing
						ok($provider eq 'ICU' && ($settings ne '' || $statement eq 'workers'), "$what: nothing was trusted");
						$one =~ s/^first\n//;
						chomp $one;
						is($one, $expected{$statement}, "$what: right the first time");
						next;
					}
					like($first, qr/^\S*\s*$level:  collation "$name" contradicts its own tables\nDETAIL:  $provider orders/,
						"$what: $level");
					$one =~ s/^first\n//;
					chomp $one;
					is($one, $expected{$statement}, "$what: right in the end") if $first !~ /ERROR/;
					unlike($first, qr/contradicts.*contradicts/s, "$what: once");
				}
			}
		}
	}
}

# A query inside a build's worker: the build's leader learns of the
# contradiction.
if ($collations[0] =~ /cs_CZ/)
{
	$node->safe_psql('postgres', q{
CREATE TABLE three AS SELECT i FROM generate_series(1, 3) i;
CREATE FUNCTION sorts(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	'BEGIN RETURN $1 + (SELECT count(*) FROM (SELECT k FROM public.spot1 ORDER BY k OFFSET 0) s); END'});
	my $build = 'CREATE INDEX ours ON three (sorts(i)) WITH (parallel_workers = 1)';
	my ($out, $err);
	$node->psql('postgres', <<"SQL", stdout => \$out, stderr => \$err, on_error_stop => 0);
SET ptsort_test.trust_collations = on; SET ptsort_test.learn_tuples = 1000;
SET ptsort_test.leader_participates = off; SET ptsort.min_table_size = 0;
SET ptsort.sort = text; SET enable_indexscan = off; SET enable_indexonlyscan = off;
$build;
\\warn second
$build;
SELECT participant, tuples FROM ptsort_last_build() WHERE participant IS NOT NULL ORDER BY 1;
DROP INDEX ours;
SQL
	like($err, qr/contradicts its own tables.*\nparallel worker\nsecond$/s,
		'a query in a build: an error of the worker, once');
	is($out, "0|0\n1|3", 'a query in a build: the worker has scanned');
}

like(slurp_file($node->logfile), qr/spot check contradicts the words of neighbours/,
	'a spot check found some');
$node->stop;
done_testing();
