# If many participants write an index, its file grows before the participants
# need the new pages.  The file ends up no larger than necessary.  The test
# covers all kinds of entries, errors, full disks, crashes, and a replica.
#
# Depends on the version: ptsort extends files as the server does
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Faults;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $workers = 23;
my $conf = qq{
max_worker_processes = 40
max_parallel_workers = 32
max_parallel_maintenance_workers = 32
max_connections = 20
ptsort.parallel_workers = $workers
ptsort_test.slices = 48
maintenance_work_mem = '64MB'
};
my $fill = q{
CREATE EXTENSION pageinspect;
CREATE %1$s TABLE %2$s AS
SELECT hashint4(i) AS random, i %% 3 AS few, CASE WHEN i <= 50000 THEN i END AS nulls,
	lpad(i::text, CASE WHEN i %% 100 = 0 THEN 1500 ELSE 8 END, '0') COLLATE "C" AS wide
FROM generate_series(1, 100000) i;
CREATE %1$s TABLE %2$s_tiny AS SELECT * FROM %2$s LIMIT 10;
VACUUM ANALYZE %2$s;
};

# Builds an index by ptsort with many participants, and then by the server.
# ptsort's index must be sound, and must have no block of zeroes.  Its size must
# equal that of the server's index, except for pages at the ends of slices.
sub compare_with_server
{
	my ($node, $index, $table, $columns) = @_;
	my $end = log_end($node);
	my ($points, $zeroes, $ours, $servers) = split /\n/, $node->safe_psql('postgres', qq{
SET ptsort_test.fault = 'nowhere';
CREATE INDEX $index ON $table ($columns);
SELECT coalesce(sum(leader + worker) FILTER (WHERE point = 'pagewrite: chunk'), 0) || ' '
	|| coalesce(sum(leader + worker) FILTER (WHERE point = 'pagewrite: grow'), 0) FROM ptsort_test_points();
SELECT count(*) FROM generate_series(0, pg_relation_size('$index') / 8192 - 1) block
	WHERE get_raw_page('$index', block::int) = decode(repeat('00', 8192), 'hex');
SELECT pg_relation_size('$index') / 8192 FROM bt_index_parent_check('$index', true, true);
SET ptsort.enable = off;
REINDEX INDEX $index;
SELECT pg_relation_size('$index') / 8192;
DROP INDEX $index});
	my ($chunks, $growths) = split / /, $points;

	is((builds_since($node, $end))[0], "$index: " . ($workers + 1), "$index: built by ptsort");
	is($zeroes, 0, "$index: every block is a page");
	cmp_ok($ours, '<=', 1.02 * $servers + 48, "$index: as large as the server's");
	return ($chunks, $growths);
}

# Faults
my $node = fault_node('growth', "$conf\nsession_preload_libraries = 'ptsort, ptsort_test'\n");
$node->safe_psql('postgres', sprintf($fill, '', 'many'));
foreach my $columns ('random', 'few', 'nulls', 'wide', 'wide, random')
{
	my $index = 'many_' . $columns =~ s/\W+/_/gr;
	my ($chunks, $growths) = compare_with_server($node, $index, 'many', $columns);
	cmp_ok($growths, '<', $chunks / 2, "$index: $chunks chunks, the file grew $growths times");
}
compare_with_server($node, 'many_ten', 'many_tiny', 'random');

# If a worker exits while it holds the extension lock, the build fails, and no
# process waits for the lock forever.  If the disk is full when the file grows,
# or earlier, the error is the server's, and the build leaves nothing behind.
my $create = 'CREATE INDEX failed ON many (random, wide) TABLESPACE space';
my $segments = dsm_segments($node);
my $files = "SELECT count(*) FROM pg_tablespace t, pg_ls_dir('pg_tblspc/' || t.oid) dir, "
  . "pg_ls_dir('pg_tblspc/' || t.oid || '/' || dir) db, pg_ls_dir('pg_tblspc/' || t.oid || '/' || dir || '/' || db) "
  . "WHERE spcname = 'space' AND db ~ '^[0-9]+\$'";
$node->safe_psql('postgres', 'CHECKPOINT');
my $before = $node->safe_psql('postgres', $files);
foreach my $case (
	[ 'pagewrite: grow:1:error', qr/ERROR:  XX000: injected error at "pagewrite: grow"/ ],
	[ 'pagewrite: grow:1:fatal:worker', qr/ERROR:  XX000: injected exit at "pagewrite: grow"/ ],
	[ 'pagewrite: chunk:1:full_index', qr/ERROR:  53100: could not (?:extend|write blocks).* No space left|ERROR:  53100: could not (?:extend|write)/ ],
	[ 'pagewrite: grow:1:full_index', qr/ERROR:  53100: could not (?:extend|write)/ ])
{
	my ($fault, $error) = @$case;
	my ($out, $err) = try_sql($node, "SET ptsort_test.leader_participates = on; SET ptsort_test.fault = '$fault'; $create; "
		  . "RESET ptsort_test.fault; CHECKPOINT; $files");
	like(error_of($err), $error, "$fault: error");
	check_nothing_left($node, $fault, $segments);
	$node->safe_psql('postgres', "SET ptsort_test.fault = 'nowhere'; CHECKPOINT");
	is($node->safe_psql('postgres', $files), $before, "$fault: no file");
}
is($node->safe_psql('postgres', "$create; SELECT bt_index_parent_check('failed', true, true)"), '',
	'then the index is built');
$node->stop;

# A crash after the commit, with unlogged and logged tables, and a replica that
# follows
my $primary = new_node(
	'primary',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => $conf);
$primary->backup('base');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($primary, 'base', has_streaming => 1);
$replica->start;
$primary->safe_psql('postgres', sprintf($fill, '', 'many'));
$primary->safe_psql('postgres', sprintf($fill =~ s/CREATE EXTENSION.*?;//r, 'UNLOGGED', 'fast'));
my $build = q{
CREATE INDEX many_random ON many (random);
CREATE INDEX many_wide ON many (wide);
CREATE INDEX many_none ON many (random) WHERE few > 3;
CREATE INDEX fast_random ON fast (random)};
my $sizes = q{SELECT relname, pg_relation_size(oid) FROM pg_class
	WHERE relkind = 'i' AND relname LIKE 'many%' ORDER BY 1};
$primary->safe_psql('postgres', 'CHECKPOINT');
my $end = log_end($primary);
$primary->safe_psql('postgres', $build);
is_deeply([ builds_since($primary, $end) ],
	[ 'many_random: 24', 'many_wide: 24', 'many_none: 24', 'fast_random: 24' ], 'built by us')
  or diag(join(', ', builds_since($primary, $end)));
my $size = $primary->safe_psql('postgres', $sizes);
$primary->wait_for_catchup($replica);
is($replica->safe_psql('postgres', $sizes), $size, 'replica: the same files');
is($replica->safe_psql('postgres', q{SELECT bt_index_check('many_random', true), bt_index_check('many_wide', true)}),
	'|', 'replica: sound');
$primary->stop('immediate');
$primary->start;
is($primary->safe_psql('postgres', $sizes), $size, 'crash: the same files');
is($primary->safe_psql('postgres', q{SELECT bt_index_parent_check(oid, true, true) FROM pg_class
	WHERE relkind = 'i' AND relname ~ '^(many|fast)_'}), "\n\n\n", 'crash: sound');
is($primary->safe_psql('postgres', 'SELECT count(*) FROM fast'), 0, 'crash: there was a recovery');
$replica->stop;
$primary->stop;
foreach my $stopped ($primary, $replica)
{
	command_ok([ 'pg_checksums', '--check', '-D', $stopped->data_dir ], 'checksums of ' . $stopped->name);
}
done_testing();
