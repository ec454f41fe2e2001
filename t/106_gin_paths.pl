# How statements reach ptsort's build of GIN indexes: all statements that build an
# index, their workers, and the reasons for leaving a build to the server.  Also
# rows that come during CONCURRENTLY, progress, limits, cancel requests, and
# autovacuum beside a build.
#
# Depends on the version: it runs every statement that builds an index
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Gin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = new_node('main', conf => "wal_level = replica\nptsort.max_wal_rate = 0\n");
create_sound($node);
$node->safe_psql('postgres', $gin_functions . q{
CREATE TABLE t AS SELECT i AS id, ARRAY[1, i % 7 + 2, i + 100] AS a, 'word ' || i % 300 AS w FROM generate_series(1, 3000) i;
CREATE TABLE big AS SELECT i AS id, ARRAY[i % 7, i, i + 1, i + 2, i % 1000] AS a FROM generate_series(1, 200000) i;
CREATE FUNCTION unsafe(a int[]) RETURNS int[] IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN a; END';
CREATE FUNCTION extract_unsafe(int[], internal, internal) RETURNS internal IMMUTABLE STRICT PARALLEL RESTRICTED LANGUAGE internal AS 'ginarrayextract';
CREATE OPERATOR CLASS unsafe_ops FOR TYPE int[] USING gin AS OPERATOR 2 @> (anyarray, anyarray), FUNCTION 1 btint4cmp(int4, int4),
	FUNCTION 2 extract_unsafe(int[], internal, internal), FUNCTION 3 ginqueryarrayextract(anyarray, internal, int2, internal, internal, internal, internal),
	FUNCTION 4 ginarrayconsistent(internal, int2, anyarray, int4, internal, internal, internal, internal), STORAGE int4;
VACUUM ANALYZE});

# Runs SQL, which must do these builds; all GIN indexes must then have the entries
# of their rows.
sub path
{
	my ($name, $sql, @expected) = @_;
	my $end = log_end($node);
	my ($out, $err) = try_sql($node, "SET client_min_messages = warning; SET ptsort.parallel_workers = 2; $sql");
	is($err, '', "$name: no error");
	is_deeply([ sort(builds_since($node, $end)) ], [ sort @expected ], "$name: builds");
	is($node->safe_psql('postgres', q{
SELECT count(sound(oid)) FROM pg_class WHERE relkind = 'i' AND relpersistence <> 't' AND relam = (SELECT oid FROM pg_am WHERE amname = 'gin')})
		> 0, 1, "$name: sound") unless $name =~ /^left/;
}
my $i = 'CREATE INDEX i ON t USING gin (a)';
my $drop = 'DROP INDEX i';
my $again = "$drop; $i";

path('CREATE INDEX', $i, 'i: 3');
path('WITH (parallel_workers)', "$again WITH (parallel_workers = 1)", 'i: 2');
path('WITH (parallel_workers = 0)', "$again WITH (fastupdate = off, parallel_workers = 0)", 'i: 1');
is($node->safe_psql('postgres', q{SELECT reloptions FROM pg_class WHERE relname = 'i'}), '{fastupdate=off}', '... which the index does not keep');
path('the table\'s parallel_workers', "ALTER TABLE t SET (parallel_workers = 1); RESET ptsort.parallel_workers; $again; ALTER TABLE t RESET (parallel_workers)", 'i: 2');
path('max_parallel_maintenance_workers', "SET max_parallel_maintenance_workers = 1; $again", 'i: 2');
path('REINDEX INDEX', 'REINDEX INDEX i', 'i: 3');
path('REINDEX TABLE', 'CREATE INDEX t_id ON t (id); REINDEX TABLE t', 't_id: 3', 'i: 3', 't_id: 3');
path('CONCURRENTLY', "$drop; CREATE INDEX CONCURRENTLY i ON t USING gin (a)", 'i: 3');
path('REINDEX CONCURRENTLY', 'REINDEX INDEX CONCURRENTLY i', 'i_ccnew: 3');
path('VACUUM FULL', 'VACUUM FULL t', 'i: 3', 't_id: 3');
path('CLUSTER', 'CLUSTER t USING t_id', 'i: 3', 't_id: 3');
path('ALTER TABLE, rewrite', 'ALTER TABLE t ALTER id TYPE int8', 't_id: 3', 'i: 3');
path('ALTER TABLE, type of the column', 'ALTER TABLE t ALTER a TYPE int8[]', 'i: 3', 't_id: 3');
path('ALTER TABLE back', 'ALTER TABLE t ALTER a TYPE int[], ALTER id TYPE int', 't_id: 3', 'i: 3');
path('TRUNCATE', 'BEGIN; TRUNCATE t; ROLLBACK', 'i: left, empty table', 't_id: left, empty table');
path('a filled table after TRUNCATE', 'BEGIN; CREATE TABLE copy AS TABLE t; TRUNCATE t; INSERT INTO t TABLE copy; REINDEX INDEX i; DROP TABLE copy; COMMIT',
	'i: left, empty table', 't_id: left, empty table', 'i: 3');
path('REFRESH', 'CREATE MATERIALIZED VIEW v AS SELECT * FROM t; CREATE INDEX v_a ON v USING gin (a); REFRESH MATERIALIZED VIEW v; DROP MATERIALIZED VIEW v', 'v_a: 3', 'v_a: 3');
path('partitions', q{CREATE TABLE p (id int, a int[]) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (1500);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (1500) TO (9000); INSERT INTO p SELECT id, a FROM t; CREATE INDEX p_a ON p USING gin (a) WITH (parallel_workers = 1);
ALTER TABLE p DETACH PARTITION p2; DROP INDEX p2_a_idx; ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (1500) TO (9000); REINDEX TABLE p; DROP TABLE p},
	'p1_a_idx: 2', 'p2_a_idx: 2', 'p2_a_idx: 3', 'p1_a_idx: 3', 'p2_a_idx: 3');
path('temporary', 'CREATE TEMP TABLE temp AS TABLE t; CREATE INDEX temp_a ON temp USING gin (a)', 'temp_a: 1');
path('expression that is not parallel safe', "DROP INDEX i; CREATE INDEX i ON t USING gin (unsafe(a))", 'i: 1');
path('extract function that is not parallel safe', "$again", 'i: 3');
path('class', 'CREATE INDEX c ON t USING gin (a unsafe_ops); DROP INDEX c', 'c: 1');
path('left: ptsort.enable', "SET ptsort.enable = off; $again WITH (parallel_workers = 2)", 'i: left, ptsort.enable is off');
path('left: min_table_size', "SET ptsort.min_table_size = '1GB'; REINDEX INDEX i", 'i: left, table smaller than ptsort.min_table_size');
path('left: empty table', 'CREATE TABLE e (a int[]); CREATE INDEX e_a ON e USING gin (a); DROP TABLE e', 'e_a: left, empty table');
foreach my $bad ('-1', '2000', 'many', '1, parallel_workers = 1')
{
	like((try_sql($node, "CREATE INDEX bad ON t USING gin (a) WITH (parallel_workers = $bad)"))[1], qr/22023|invalid value|more than once/, "parallel_workers = $bad: an error");
}

# The reason for building alone, the report
like(slurp_file($node->logfile), qr/building index "c": 1 participant, .*serial because of a support function that is not parallel safe/, 'the reason for building alone: class');
like(slurp_file($node->logfile), qr/building index "i": 1 participant, .*serial because of a function that is not parallel safe/, 'the reason for building alone: expression');
is($node->safe_psql('postgres', q{SET ptsort.parallel_workers = 1; REINDEX INDEX i;
SELECT string_agg(concat_ws(' ', index_name, participant, role), ', ' ORDER BY participant) FROM ptsort_last_build();
SELECT sum(tuples) FILTER (WHERE role <> 'total') = max(tuples) FILTER (WHERE role = 'total'), max(pages) FILTER (WHERE role = 'total') = pg_relation_size('i') / 8192 FROM ptsort_last_build()}),
	"i 0 leader, i 1 worker, i total\nt|t", 'ptsort_last_build()');

# pg_dump, pg_restore with jobs
{
	my $file = PostgreSQL::Test::Utils::tempdir . '/dump';
	command_ok([ 'pg_dump', '-Fc', '-f', $file, $node->connstr('postgres') ], 'dump');
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	my $end = log_end($node);
	$node->safe_psql('postgres', q{ALTER DATABASE restored SET ptsort.parallel_workers = 1; CREATE INDEX big_a ON big USING gin (a)});
	command_ok([ 'pg_restore', '-j', '2', '-d', $node->connstr('restored'), $file ], 'restore');
	ok((grep { $_ eq 'i: 2' } builds_since($node, $end)), 'restore: by ptsort');
	is($node->safe_psql('restored', q{SELECT sound('i')}), $node->safe_psql('postgres', q{SELECT sound('i')}), 'restore: all entries');
	$node->safe_psql('postgres', 'DROP DATABASE restored; DROP INDEX big_a');
}

# Rows that come, change and go during CONCURRENTLY
foreach my $statement ('CREATE INDEX CONCURRENTLY big_a ON big USING gin (a)', 'REINDEX INDEX CONCURRENTLY big_a')
{
	foreach my $fastupdate ('on', 'off')
	{
		my $name = lc(substr($statement, 0, 6)) . ", fastupdate = $fastupdate";
		$node->safe_psql('postgres', $statement =~ /^C/ ? 'DROP INDEX IF EXISTS big_a' : "ALTER INDEX big_a SET (fastupdate = $fastupdate)");
		my $pause = pause_points($node);
		my $sql = $statement =~ s/\(a\)$/(a) WITH (fastupdate = $fastupdate)/r;
		my $end = log_end($node);
		my $build = start_psql($node, 'SET ptsort.parallel_workers = 1', q{SET ptsort_test.fault = 'build: after scan:1:pause:leader'}, $sql,
			'SELECT max(inserted_rows) FROM ptsort_last_build()');
		ok(wait_for_point($node, 'build: after scan'), "$name: the build is there");
		$node->safe_psql('postgres', q{
INSERT INTO big SELECT -i, ARRAY[-i, 3, 777777] FROM generate_series(1, 700) i;
UPDATE big SET a = a || 888888 WHERE id BETWEEN 1000 AND 1300;
DELETE FROM big WHERE id BETWEEN 2000 AND 2300});
		end_session($pause);
		$build->{run}->finish;
		is($build->{err}, '', "$name: no error");
		is($build->{out}, "1001\n", "$name: validated by ptsort");
		like("@{[ builds_since($node, $end) ]}", qr/^big_a(_ccnew)?: 2$/, "$name: by ptsort");
		is($node->safe_psql('postgres', q{SELECT sound('big_a') > 0}), 't', "$name: sound");
		my $conditions = conditions(map { "a @> '{$_}'" } 777777, 888888, 3, 1100, 2100);
		is($node->safe_psql('postgres', "SELECT gin_answers('big', true, $conditions) = gin_answers('big', false, $conditions)"), 't', "$name: answers");
	}
}

# Progress at points of a build, as ptsort_progress() and the server report it
my %phases = server_major() >= 18
  ? ('before scan' => 'scanning', 'after scan' => 'scanning', 'before load' => 'merging') : ();
foreach my $point ([ 'before scan', 'scan' ], [ 'after scan', 'scan' ], [ 'before load', 'load' ])
{
	my $pause = pause_points($node);
	my $build = start_psql($node, 'SET ptsort.parallel_workers = 1', qq{SET ptsort_test.fault = 'build: $point->[0]:1:pause'}, 'REINDEX INDEX big_a');
	ok(wait_for_point($node, "build: $point->[0]", 2), "$point->[0]: the build is there");
	is($node->safe_psql('postgres', q{SELECT relation, kind, phase, participants, percent BETWEEN 0 AND 99 FROM ptsort_progress()}), "public.big_a|index|$point->[1]|2|t", "$point->[0]: ptsort_progress()");
	my $phase = $node->safe_psql('postgres', q{SELECT phase FROM pg_stat_progress_create_index WHERE relid = 'big'::regclass});
	like($phase, qr/^building index/, "$point->[0]: the server's phase: $phase");
	like($phase, qr/$phases{$point->[0]}/, "$point->[0]: the name of the phase") if $phases{ $point->[0] };
	end_session($pause);
	$build->{run}->finish;
	is($build->{err}, '', "$point->[0]: no error");
}

# Limits, which another session ends; cancel requests during a pause
my $event = server_major() >= 17 ? 'PtsortPause' : 'Extension';
foreach my $end ('change', 'cancel')
{
	my $build = start_psql($node, 'SET ptsort.parallel_workers = 1', q{SET ptsort.max_wal_rate = '10kB'}, 'REINDEX INDEX big_a');
	$node->poll_query_until('postgres', "SELECT count(*) >= 2 FROM pg_stat_activity WHERE wait_event = '$event'") or fail('no pause');
	my $start = time;
	$node->safe_psql('postgres', $end eq 'cancel' ? q{SELECT pg_cancel_backend(pid) FROM ptsort_progress()} : q{SELECT ptsort_set_limits(pid, max_wal_rate => '0') FROM ptsort_progress()});
	$build->{run}->finish;
	like($build->{err}, $end eq 'cancel' ? qr/57014: canceling statement due to user request/ : qr/^$/, "limit, $end: messages");
	note(sprintf '== limit, %s: %.2f s', $end, time - $start);
}

# Autovacuum of another table, and of this table, wait for nothing but its lock.
my $pause = pause_points($node);
my $build = start_psql($node, 'SET ptsort.parallel_workers = 1', q{SET ptsort_test.fault = 'build: after scan:1:pause'}, 'CREATE INDEX CONCURRENTLY big_b ON big USING gin (a)');
ok(wait_for_point($node, 'build: after scan', 2), 'autovacuum: the build is there');
$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 3 = 0');
$node->append_conf('postgresql.conf', "autovacuum = on\nautovacuum_naptime = 1\nautovacuum_vacuum_threshold = 10\nautovacuum_vacuum_scale_factor = 0");
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT autovacuum_count > 0 FROM pg_stat_user_tables WHERE relname = 't'}), 'autovacuum runs beside a build');
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->reload;
end_session($pause);
$build->{run}->finish;
is($build->{err}, '', 'autovacuum: the build ends');
is($node->safe_psql('postgres', q{SELECT count(sound(i::regclass)) FROM unnest('{i,big_a,big_b}'::text[]) i}), 3, 'autovacuum: sound');
check_nothing_left($node, 'paths');
$node->stop;
done_testing();
