# Pages that the scan copies from the table's file instead of reading them into
# buffers.  The test checks which pages the scan copies.  The scan must never
# miss changes that only buffers have.  Statistics and errors must equal those
# of the server's scan.
#
# Depends on the version: ptsort reads the server's buffers
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The server reads tables larger than a quarter of shared_buffers through a
# ring buffer.  ptsort copies pages only from these tables.
my $node = new_node(
	'main',
	init => { extra => ['--data-checksums'] },
	conf => q{
shared_buffers = 4MB
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
});

# Creates a table of this number of rows, with eight or nine rows on a page.
sub fill_table
{
	my ($name, %opt) = @_;
	my $rows = $opt{rows} // 10000;
	my $kind = $opt{kind} // '';
	$node->safe_psql(
		'postgres', qq{
DROP TABLE IF EXISTS $name;
CREATE $kind TABLE $name (id int, a int8, filler text) WITH (fillfactor = 95);
INSERT INTO $name SELECT i, i * 7919::int8 % 100003, repeat('x', 850) FROM generate_series(1, $rows) i;
});
}

# Writes all buffers to disk and empties them.
sub empty_buffers
{
	$node->restart;
}

# Builds an index on t and checks the index.  Returns the number of the table's
# pages, the number of pages that the scan copied, and the index's problems.
sub build
{
	my (%opt) = @_;
	my $workers = $opt{workers} // 0;
	my $columns = $opt{columns} // '(a, id)';
	my $kind = $opt{kind} // '';
	my ($ret, $out, $err) = $node->psql(
		'postgres', qq{
SET ptsort.parallel_workers = $workers;
SET ptsort.log_build = off;
SET client_min_messages = debug2;
CREATE INDEX $kind i ON t $columns;
SET client_min_messages = warning;
SELECT pg_relation_size('t') / current_setting('block_size')::int;
SELECT 'unsound' FROM bt_index_parent_check('i', true, true) AS r WHERE r::text <> '';
SET enable_seqscan = off; SET enable_sort = off;
SELECT count(*), sum(a), sum(id) FROM t;
SET enable_seqscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;
SELECT count(*), sum(a), sum(id) FROM t;
DROP INDEX i;
});
	my ($pages, @sums) = split /\n/, $out;
	my ($scanned, $copied) = (0, 0);
	my @by = $err =~ /ptsort: built index "i": (\d+) participant/;
	my $wrong = $ret ? $err : '';

	while ($err =~ /ptsort: scanned (\d+) pages of table "t", \d+ of them by the server's rules, (\d+) as copies/g)
	{
		$scanned += $1;
		$copied += $2;
	}
	$wrong .= "built by @by\n" unless @by && $by[0] == $workers + 1;
	$wrong .= "scanned $scanned of $pages\n" unless $scanned == $pages;
	$wrong .= "found $out\n" unless @sums == 2 && $sums[0] eq $sums[1];
	return ($pages, $copied, $wrong);
}

# Skips the test on a system on which the scan copies no pages.
fill_table('t');
$node->safe_psql('postgres', 'VACUUM t');
empty_buffers();
my ($pages, $copied, $wrong) = build();
plan skip_all => 'this system cannot tell what it has in its cache'
  if $copied == 0 && $wrong eq '' && $^O ne 'linux';
is($wrong, '', 'no page in buffers: sound');
cmp_ok($copied, '>', 0.9 * $pages, 'no page in buffers: nearly all are copied');

# copies with workers, and with an expression and a predicate
empty_buffers();
($pages, $copied, $wrong) = build(workers => 2);
is($wrong, '', 'workers: sound');
cmp_ok($copied, '>', 0.9 * $pages, 'workers: nearly all are copied');
empty_buffers();
($pages, $copied, $wrong) = build(workers => 2, columns => "((a + 1), (left(filler, 5))) WHERE id % 3 > 0");
is($wrong, '', 'expressions: sound');
cmp_ok($copied, '>', 0.9 * $pages, 'expressions: nearly all are copied');

# copies in a scan with an MVCC snapshot
foreach my $workers (0, 2)
{
	empty_buffers();
	($pages, $copied, $wrong) = build(workers => $workers, kind => 'CONCURRENTLY');
	is($wrong, '', "concurrently, $workers workers: sound");
	cmp_ok($copied, '>', 0.9 * $pages, "concurrently, $workers workers: nearly all are copied");
}

# Statistics: the build counts one read of each block, copied or not.
empty_buffers();
is( $node->safe_psql(
		'postgres', q{
SET ptsort.parallel_workers = 0;
CREATE TEMP TABLE before AS SELECT heap_blks_read FROM pg_statio_user_tables WHERE relname = 't';
CREATE INDEX i ON t (id);
DROP INDEX i;
} . ($node->pg_version >= 15 ? 'SELECT pg_stat_force_next_flush();' : '') . q{
SELECT now.heap_blks_read - before.heap_blks_read BETWEEN pages AND pages + 1
FROM pg_statio_user_tables now, before, LATERAL (SELECT pg_relation_size('t') / current_setting('block_size')::int pages) p
WHERE relname = 't'}) =~ s/\A\s+//r,
	't', 'blocks read are counted');

# Changes that only buffers have: a session just updated, inserted or deleted
# rows.
$node->safe_psql('postgres', 'UPDATE t SET a = -a WHERE id % 400 = 1; INSERT INTO t SELECT i, i, i FROM generate_series(20001, 20100) i; DELETE FROM t WHERE id % 500 = 7');
foreach my $workers (0, 2)
{
	($pages, $copied, $wrong) = build(workers => $workers);
	is($wrong, '', "changed in buffers, $workers workers: sound");
	cmp_ok($copied, '>', 0, "changed in buffers, $workers workers: some are copied");
	cmp_ok($copied, '<', $pages - 20, "changed in buffers, $workers workers: some are not");
}

# Without hint bits on the pages, the scan must read the pages into buffers.
# Later scans can copy the pages.
fill_table('t');
empty_buffers();
($pages, $copied, $wrong) = build();
is($wrong, '', 'no hint bits: sound');
is($copied, 0, 'no hint bits: no copies');
empty_buffers();
($pages, $copied, $wrong) = build();
is($wrong, '', 'hint bits that a build has set: sound');
cmp_ok($copied, '>', 0.9 * $pages, 'hint bits that a build has set: copies');

# HOT chains, redirected and dead line pointers
$node->safe_psql('postgres', $_)
  foreach 'DELETE FROM t WHERE id % 6 = 0', 'VACUUM t', 'UPDATE t SET filler = $$y$$ WHERE id % 5 = 0', 'SELECT count(*) FROM t', 'VACUUM t';
empty_buffers();
($pages, $copied, $wrong) = build(workers => 1);
is($wrong, '', 'HOT chains: sound');
cmp_ok($copied, '>', 0.9 * $pages, 'HOT chains: copies');

# Local buffers; tables that fit into buffers
($pages, $copied, $wrong) = do {
	fill_table('small', rows => 800);
	$node->safe_psql('postgres', 'VACUUM small; DROP TABLE t; ALTER TABLE small RENAME TO t');
	empty_buffers();
	build();
};
is($wrong, '', 'a small table: sound');
is($copied, 0, 'a small table: read into buffers');
unlike(
	$node->safe_psql('postgres', q{
SET temp_buffers = 800;
CREATE TEMP TABLE local AS SELECT i AS id, repeat('x', 850) FROM generate_series(1, 10000) i;
SELECT count(*) FROM local;
CREATE INDEX ON local (id);
SELECT bt_index_parent_check('local_id_idx', true, true);
}), qr/[^\s\d]/, 'a temporary table');

# Pages outside the system's cache, unless the system refuses to drop them
fill_table('t');
$node->safe_psql('postgres', 'VACUUM t');
$node->stop;
my $file = $node->data_dir . '/' . do {
	$node->start;
	my $path = $node->safe_psql('postgres', q{SELECT pg_relation_filepath('t')});
	$node->stop;
	$path;
};
foreach my $from (0, 300)
{
	system_or_bail('dd', "if=$file", 'of=/dev/null', 'bs=8192', "skip=$from", 'count=200', 'iflag=nocache', 'status=none');
	system_or_bail('dd', "if=$file", 'bs=8192', "skip=$from", 'count=0', 'iflag=nocache', 'status=none', 'of=/dev/null');
	$node->start;
	($pages, $copied, $wrong) = build(workers => $from ? 0 : 2);
	is($wrong, '', "not in the system's cache, from $from: sound");
	$node->stop;
}

# A broken page: the error equals that of the server's build.
open my $table, '+<:raw', $file or die "$file: $!";
seek $table, 700 * 8192 + 5000, 0;
print $table 'broken';
close $table;
$node->start;
foreach my $workers (0, 2)
{
	my ($ret, undef, $err) = $node->psql('postgres', "SET ptsort.parallel_workers = $workers; CREATE INDEX i ON t (a)");
	like($err, qr/invalid page in block 700 of relation/, "a broken page, $workers workers");
}
is($node->safe_psql('postgres', "SET zero_damaged_pages = on; SET ptsort.parallel_workers = 0; CREATE INDEX i ON t (a); SELECT count(*) FROM pg_class WHERE relname = 'i'"),
	'1', 'zero_damaged_pages is obeyed');

# Other sessions set hint bits and prune pages; no table lock prevents these
# changes.  (t/020 tests sessions that release their locks early.)
fill_table('t');
$node->safe_psql('postgres', 'UPDATE t SET a = a + 1 WHERE id % 3 = 0');
empty_buffers();
my $busy = start_psql($node, "DO \$\$ BEGIN FOR i IN 1 .. 20 LOOP PERFORM count(filler) FROM t; END LOOP; END \$\$");
foreach my $n (1 .. 4)
{
	(undef, undef, $wrong) = build(workers => $n % 2);
	is($wrong, '', "while others set hint bits, build $n");
}
$busy->{run}->finish;

$node->stop;
done_testing();
