# The settings that force a path belong to ptsort_test, not to the library that
# users install.  No matter how a session loads ptsort_test, the settings
# affect ptsort.  Parallel workers use the leader's values of the settings.
# Only superusers can change the settings.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
fsync = off
jit = off
max_worker_processes = 8
max_parallel_maintenance_workers = 2
max_logical_replication_workers = 0
});
$node->start;
$node->safe_psql(
	'postgres', q{
CREATE TABLE t AS SELECT hashint4(i) AS a FROM generate_series(1, 20000) i;
CREATE ROLE one LOGIN;
CREATE ROLE ordinary LOGIN;
});

my @settings = qw(all_workers collation_rules free_kilobytes key_class leader_participates
  learn_tuples merge_order sample_rows server_pages slices spill_entries trust_collations warn_after_ms);

# A session that loads only ptsort
is( $node->safe_psql('postgres', q{
CREATE EXTENSION ptsort;
SELECT name FROM pg_settings WHERE name LIKE 'ptsort%' AND 'NOT_IN_SAMPLE' = ANY (pg_settings_get_flags(name))}),
	'', 'ptsort has no setting for tests');

# Two workers build an index without the leader and write many runs each; then
# the settings have their defaults again.
my $set = q{
SET ptsort_test.leader_participates = off;
SET ptsort_test.spill_entries = 100;
};
my $build = q{
SET ptsort.min_table_size = 0;
CREATE INDEX i ON t (a) WITH (parallel_workers = 2);
SELECT role, count(*), sum(tuples), sum(runs) > 2 FROM ptsort_last_build() WHERE role <> 'total' GROUP BY 1 ORDER BY 1;
DROP INDEX i;
};
my $reset = q{
RESET ALL;
SELECT string_agg(split_part(name, '.', 2) || '=' || setting, ' ' ORDER BY name COLLATE "C") FROM pg_settings
WHERE name LIKE 'ptsort\_test.%' AND 'NOT_IN_SAMPLE' = ANY (pg_settings_get_flags(name));
};
my $defaults = 'all_workers=off collation_rules=-1 free_kilobytes=0 key_class=auto leader_participates=on '
  . 'learn_tuples=-1 merge_order=0 sample_rows=0 server_pages=off slices=0 spill_entries=0 trust_collations=off warn_after_ms=60000';

my $built = "leader|1|0|f\nworker|2|20000|t";

# Checks what a session reports about a build with these settings.
sub check_build
{
	my ($name, $sql, %opt) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', $sql, %opt);
	is($err, '', "$name: no error");
	is($out, "$built\n$defaults", "$name: workers without the leader, several runs each; then the defaults");
}

check_build('LOAD', "LOAD 'ptsort_test'; $set $build $reset");
check_build('ptsort is there', "LOAD 'ptsort'; LOAD 'ptsort_test'; $set $build $reset");
check_build('set before LOAD', "$set LOAD 'ptsort_test'; $build $reset");
foreach my $libraries ('ptsort_test', 'ptsort, ptsort_test', 'ptsort_test, ptsort')
{
	$node->safe_psql('postgres', "ALTER DATABASE postgres SET session_preload_libraries = $libraries");
	check_build("session_preload_libraries = $libraries", "$set $build $reset");
}
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET session_preload_libraries');

# Values that a role or a database sets before a session loads the library.
$node->safe_psql(
	'postgres', q{
ALTER ROLE one SUPERUSER;
ALTER ROLE one SET session_preload_libraries = ptsort_test;
ALTER ROLE one SET ptsort_test.leader_participates = off;
ALTER DATABASE postgres SET ptsort_test.spill_entries = 100;
});
my ($ret, $out, $err) = $node->psql('postgres', $build, extra_params => [ '-U', 'one' ]);
is($out, $built, 'settings of a role and a database') or diag($err);
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET ptsort_test.spill_entries');

# Users who are not superusers cannot change the settings.
$node->safe_psql('postgres', 'ALTER ROLE ordinary SET session_preload_libraries = ptsort_test');
($ret, $out, $err) = $node->psql(
	'postgres', join('', map { "SET ptsort_test.$_ TO DEFAULT;\n" } @settings),
	on_error_stop => 0, extra_params => [ '-U', 'ordinary' ]);
is_deeply([ $err =~ /permission denied to set parameter "ptsort_test\.(\w+)"/g ],
	\@settings, 'for superusers only') or diag($err);

# The whole server loads ptsort_test.
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'ptsort_test'
});
$node->restart;
check_build('shared_preload_libraries', "$set $build $reset");
($ret, $out, $err) = $node->psql('postgres', 'SET ptsort_test.nonsense = 1');
like($err, qr/invalid configuration parameter name "ptsort_test.nonsense"/, 'the prefix is reserved');

$node->stop;
done_testing();
