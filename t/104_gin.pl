# GIN indexes of larger tables: with 0, 1, 3 and 7 workers, in memory and from runs
# on disk, logged and not logged, with any number of slices, the index has the
# entries of the rows, and gives the answers of a sequential scan.  It stays
# sound through inserts, deletes, VACUUM and cleanups of its pending list, after a
# crash, and on a standby.
#
# Depends on the version: it replays the version's WAL
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Gin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = $ENV{PTSORT_GIN_ROWS} || 30000;

# Indexes by name: what they index, conditions
my %indexes = (
	a => [ '(a)', conditions((map { "a @> '{$_}'" } 1, 8, '1,2', '3,777', 100777, ''), q{a && '{5,6,100042}'}, q{a <@ '{1,2,3,4,5}'}, q{a = '{1,3,4,7,100007,1}'}, q{a = '{}'}) ],
	v => [ '(v)', conditions(map { "v @@ '$_'::tsquery" } qw(all all&few3 rare77 w12&!few1 mid:* few2|few5 nothing)) ],
	j => [ '(j)', conditions(q{j @> '{"kind": 3}'}, q{j @> '{"tags": ["t3"], "id": 1003}'}, q{j @> '{}'}, q{j ? 'id'}, q{j ?| '{odd,id}'}, q{j ?& '{odd,tags}'},
			q{j @? '$.tags[*] ? (@ == "t5")'}, q{j @@ '$.kind == 2'}) ],
	p => [ '(j jsonb_path_ops, few)', conditions(q{j @> '{"kind": 3}'}, q{j @? '$.tags[*] ? (@ == "t5")'}, q{j @@ '$.kind == 2'}, q{few @> '{4}'},
			q{j @> '{"kind": 4}' AND few @> '{4}'}) ]);

# Creates rows: keys of all rows, whose posting trees have several pages, keys of
# few rows, keys of single rows, empty items, nulls, null keys; rows that moved,
# in HOT chains and outside, and dead rows.
sub fill
{
	my ($node) = @_;
	create_sound($node);
	$node->safe_psql('postgres', $gin_functions);
	$node->safe_psql('postgres', qq{
CREATE TABLE t (id int, n int, a int[], v tsvector, j jsonb, few int[]) WITH (fillfactor = 80);
CREATE FUNCTION add(tab regclass, first int, last int) RETURNS void LANGUAGE plpgsql AS \$\$
BEGIN
	EXECUTE format('INSERT INTO %s SELECT i, 0,
		CASE WHEN i %% 97 = 0 THEN NULL WHEN i %% 97 = 1 THEN ''{}''
			ELSE ARRAY[1, 2 + i %% 2, 4 + i %% 3, CASE WHEN i %% 11 > 0 THEN i %% 1000 END, i + 100000, 1] END,
		array_to_tsvector(ARRAY[''all'', ''few'' || i %% 7, ''mid'' || i %% 500, ''w'' || hashint4(i) %% 5000, ''rare'' || i]),
		CASE WHEN i %% 89 = 0 THEN NULL WHEN i %% 89 = 1 THEN ''{}'' ELSE jsonb_build_object(''id'', i, ''kind'', i %% 5,
			''tags'', ARRAY[''t'' || i %% 9, ''t'' || i %% 13], CASE WHEN i %% 2 = 1 THEN ''odd'' ELSE ''even'' END, null) END,
		ARRAY[i / 4000] FROM generate_series(\$1, \$2) i', tab) USING first, last;
END \$\$;
SELECT add('t', 1, $rows);
UPDATE t SET n = 1 WHERE id % 10 = 0;
UPDATE t SET a = a || 8 WHERE id % 50 = 7;
UPDATE t SET n = 2 WHERE id % 30 = 0;
DELETE FROM t WHERE id % 40 = 9;
CREATE UNLOGGED TABLE u AS SELECT * FROM t;
ANALYZE});
}

my $node = new_node(
	'primary',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => "maintenance_work_mem = '64MB'\nshared_buffers = '64MB'\nmax_wal_size = '1GB'\nwal_keep_size = '1GB'");
fill($node);
is($node->safe_psql('postgres', q{SELECT (to_regprocedure('gin_index_check(regclass)') IS NOT NULL) = (current_setting('server_version_num')::int >= 180000)}),
	't', "the server's own check, since 18");
my %servers = map { $_ => [ servers_index($node, 't', @{ $indexes{$_} }) ] } keys %indexes;
foreach my $name (sort keys %servers)
{
	is($node->safe_psql('postgres', "SELECT gin_answers('t', false, $indexes{$name}[1])"), $servers{$name}[1], "$name: the server's answers");
	note("== $name: $servers{$name}[0], $servers{$name}[2] pages");
}

# Builds an index with these settings, which must have the server's numbers of keys
# and entries, and its statistics.
sub build
{
	my ($server, $case, $name, $workers, $settings, $table, $most) = @_;
	$table //= 't';
	my ($what, $conditions) = @{ $indexes{$name} };
	my ($state, $answers, $size, $built) = split /\n/, $server->safe_psql('postgres', qq{
SET client_min_messages = warning;
SET ptsort.parallel_workers = $workers;
$settings
CREATE INDEX ${table}_$name ON $table USING gin $what;
SELECT gin_state('${table}_$name');
SELECT gin_answers('$table', true, $conditions);
SELECT pg_relation_size('${table}_$name') / 8192;
SELECT count(participant) FROM ptsort_last_build() WHERE index_name = '${table}_$name'});
	$case = "$case, $name";
	is($built, ($most // $workers) + 1, "$case: by ptsort");
	is($state, $servers{$name}[0], "$case: the server's numbers of keys and entries, and statistics");
	is($answers, $servers{$name}[1], "$case: same answers");
	return $size;
}

my $segments;
foreach my $memory ('64MB', '1MB')
{
	foreach my $workers (0, 1, 3, 7)
	{
		foreach my $name (sort keys %indexes)
		{
			my $slices = $memory eq '1MB' ? 20 : 2 * $workers + 1;
			my $size = build($node, "$workers workers, $memory", $name, $workers, "SET maintenance_work_mem = '$memory'; SET ptsort_test.slices = $slices;");
			# (each slice may have a part of a page)
			cmp_ok($size, '<=', 1.02 * $servers{$name}[2] + $slices * ($workers > 0), "... $size pages, the server $servers{$name}[2]");
			$node->safe_psql('postgres', "DROP INDEX t_$name");
		}
		$segments //= dsm_segments($node);
	}
}
foreach my $name (sort keys %indexes)
{
	build($node, 'runs', $name, 2, 'SET ptsort_test.spill_entries = 1000; SET ptsort_test.merge_order = 3;');
	$node->safe_psql('postgres', "DROP INDEX t_$name");
	build($node, 'one slice of many runs', $name, 1, 'SET ptsort_test.spill_entries = 300; SET ptsort_test.slices = 1;');
	$node->safe_psql('postgres', "DROP INDEX t_$name");
	build($node, 'pages by the server', $name, 3, 'SET ptsort_test.server_pages = on;');
	$node->safe_psql('postgres', "DROP INDEX t_$name");
	build($node, 'unlogged', $name, 3, '', 'u');
}
my $limited = log_end($node);
$node->safe_psql('postgres', q{
SET temp_file_limit = '1MB';
SET ptsort.parallel_workers = 3;
CREATE INDEX t_a ON t USING gin (a);
DROP INDEX t_a});
is_deeply([ builds_since($node, $limited) ], ['t_a: left, GIN, temp_file_limit'], 'temp_file_limit: by the server');
build($node, 'temporary', 'a', 3, 'CREATE TEMP TABLE temp AS SELECT * FROM t;', 'temp', 0);
check_nothing_left($node, 'builds', $segments);

# The index has exactly the entries of the rows, and gives right answers.
sub check_set
{
	my ($server, $case, $name, $table) = @_;
	$table //= 't';
	my ($what, $conditions) = @{ $indexes{$name} };
	is($server->safe_psql('postgres', qq{
SELECT sound('${table}_$name') > 0;
SELECT gin_answers('$table', true, $conditions) = gin_answers('$table', false, $conditions)}), "t\nt", "$case, $table, $name: sound, and right answers");
}

# Inserts split pages or go to the pending list; VACUUM removes entries, and
# empties lists and pages.
my $n = $rows;
sub changes
{
	my ($server, $case, $table) = @_;
	my @steps = (
		[ 'inserts', "SELECT add('$table', " . ($n + 1) . ', ' . ($n + 3000) . ')' ],
		[ 'pending list', "SELECT gin_clean_pending_list(indexrelid) FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indrelid = '$table'::regclass AND relname !~ '_id'" ],
		[ 'deletes', "DELETE FROM $table WHERE id % 5 = 1 OR id BETWEEN 5000 AND 15000; VACUUM (INDEX_CLEANUP on) $table" ],
		[ 'more inserts', "SELECT add('$table', " . ($n + 3001) . ', ' . ($n + 9000) . ')' ],
		[ 'updates', "UPDATE $table SET a = a || 8, v = v || 'new' WHERE id % 7 = 0; VACUUM $table" ]);
	$n += 9000;
	foreach my $step (@steps)
	{
		$server->safe_psql('postgres', $_) foreach split /; /, $step->[1];
		check_set($server, "$case: $step->[0]", $_, $table) foreach sort keys %indexes;
	}
}
build($node, 'before changes', $_, 3, '') foreach sort keys %indexes;
$node->safe_psql('postgres', "ALTER INDEX u_$_ SET (fastupdate = off)") foreach keys %indexes;
changes($node, 'changes', $_) foreach 't', 'u';

# A standby replays builds, and compares each page with the primary's.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = off');
$standby->start;
my $end = log_end($node);
$node->safe_psql('postgres', q{
SET wal_consistency_checking = 'all';
SET ptsort.parallel_workers = 3;
REINDEX INDEX t_a;
REINDEX INDEX t_j;
REINDEX INDEX CONCURRENTLY t_v;
VACUUM FULL t});
is_deeply([ builds_since($node, $end) ], [ 't_a: 4', 't_j: 4', 't_v_ccnew: 4', map { "$_: 4" } $node->safe_psql('postgres',
			q{SELECT string_agg(relname, ',' ORDER BY oid) FROM pg_class WHERE relname ~ '^t_.$'}) =~ /\w+/g ], 'standby: by ptsort on the primary');
$node->wait_for_catchup($standby);
my $check = join '; ', map { "SELECT sound('t_$_'), gin_answers('t', true, $indexes{$_}[1])" } sort keys %indexes;
is($standby->safe_psql('postgres', $check), $node->safe_psql('postgres', $check), 'standby: sound, and the same answers');
$node->safe_psql('postgres', "SET wal_consistency_checking = 'all'; $_") foreach "SELECT add('t', 1000001, 1003000)", 'DELETE FROM t WHERE id % 6 = 1', 'VACUUM (INDEX_CLEANUP on) t';
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $check), $node->safe_psql('postgres', $check), 'standby: sound after changes');
$standby->promote;
changes($standby, 'promoted standby', 't');
$standby->stop;
command_ok([ 'pg_checksums', '--check', '-D', $standby->data_dir ], 'promoted standby: checksums');

# A crash after the build, before a checkpoint
$node->safe_psql('postgres', 'CHECKPOINT');
$node->safe_psql('postgres', 'SET ptsort.parallel_workers = 3; REINDEX TABLE t; REINDEX TABLE u');
$node->stop('immediate');
$node->start;
check_set($node, 'after a crash', $_) foreach sort keys %indexes;
is($node->safe_psql('postgres', q{SELECT sound('u_a')}), 0, 'unlogged: empty after a crash');
$node->safe_psql('postgres', q{SELECT add('u', 1, 5000)});
check_set($node, 'after a crash', $_, 'u') foreach sort keys %indexes;
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums');

# wal_level = minimal
my $minimal = new_node(
	'minimal',
	init => { extra => ['--data-checksums'] },
	conf => "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\nmaintenance_work_mem = '64MB'");
fill($minimal);
build($minimal, 'minimal', $_, 3, '') foreach sort keys %indexes;
$end = log_end($minimal);
$minimal->safe_psql('postgres', qq{
SET ptsort.parallel_workers = 3;
BEGIN;
CREATE TABLE new AS SELECT * FROM t;
} . join('', map { "CREATE INDEX new_$_ ON new USING gin $indexes{$_}[0];" } sort keys %indexes) . q{
SELECT add('new', 1000001, 1002000);
COMMIT});
is_deeply([ builds_since($minimal, $end) ], [ map { "new_$_: 4" } sort keys %indexes ], 'minimal, new table: by ptsort');
$minimal->stop('immediate');
$minimal->start;
foreach my $table ('t', 'new')
{
	check_set($minimal, 'minimal, after a crash', $_, $table) foreach sort keys %indexes;
}
changes($minimal, 'minimal', 'new');
$minimal->stop;
command_ok([ 'pg_checksums', '--check', '-D', $minimal->data_dir ], 'minimal: checksums');
done_testing();
