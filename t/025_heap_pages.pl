# The pages of a table that is read through a ring of buffers: that each is scanned
# once whatever is in buffers, that the server's statistics and errors are the same,
# and that others may change hint bits meanwhile.  (t/020 compares the entries of
# such tables in all states.)
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A table of more than a quarter of the buffers is read through a ring.
my $node = new_node(
	'main',
	init => { extra => ['--data-checksums'] },
	conf => q{
shared_buffers = 4MB
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
});

# A table of 10000 rows, eight or nine to a page.
sub fill_table
{
	my ($name) = @_;
	$node->safe_psql(
		'postgres', qq{
DROP TABLE IF EXISTS $name;
CREATE TABLE $name (id int, a int8, filler text) WITH (fillfactor = 95);
INSERT INTO $name SELECT i, i * 7919::int8 % 100003, repeat('x', 850) FROM generate_series(1, 10000) i;
});
}

# Write what buffers have, and let nothing stay there.
sub empty_buffers
{
	$node->restart;
}

# Build an index of t, and look at it.  Returns what is wrong (nothing if all is well).
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
	my $scanned = 0;
	my @by = $err =~ /ptsort: built index "i": (\d+) participant/;
	my $wrong = $ret ? $err : '';

	$scanned += $1 while $err =~ /ptsort: scanned (\d+) pages of table "t"/g;
	$wrong .= "built by @by\n" unless @by && $by[0] == $workers + 1;
	$wrong .= "scanned $scanned of $pages\n" unless $scanned == $pages;
	$wrong .= "found $out\n" unless @sums == 2 && $sums[0] eq $sums[1];
	return $wrong;
}

fill_table('t');
foreach my $kind ('', 'CONCURRENTLY')
{
	foreach my $workers (0, 2)
	{
		empty_buffers();
		is(build(workers => $workers, kind => $kind), '', "no page in buffers, $workers workers $kind");
	}
}
is(build(workers => 2, columns => "((a + 1), (left(filler, 5))) WHERE id % 3 > 0"), '', 'expressions');

# Statistics: all blocks were read once.
empty_buffers();
is( $node->safe_psql(
		'postgres', q{
SET ptsort.parallel_workers = 0;
CREATE TEMP TABLE before AS SELECT heap_blks_read FROM pg_statio_user_tables WHERE relname = 't';
CREATE INDEX i ON t (id);
DROP INDEX i;
SELECT pg_stat_force_next_flush();
SELECT now.heap_blks_read - before.heap_blks_read BETWEEN pages AND pages + 1
FROM pg_statio_user_tables now, before, LATERAL (SELECT pg_relation_size('t') / current_setting('block_size')::int pages) p
WHERE relname = 't'}) =~ s/\A\s+//r,
	't', 'blocks read are counted');

# A scan that another one has left in the middle of the table begins there
$node->safe_psql('postgres', 'SELECT id FROM t LIMIT 3000');
foreach my $workers (0, 2)
{
	is(build(workers => $workers), '', "from the middle, $workers workers");
}

# Rows that were changed, or came, a moment ago, are in buffers only
$node->safe_psql('postgres', 'UPDATE t SET a = -a WHERE id % 400 = 1; INSERT INTO t SELECT i, i, i FROM generate_series(20001, 20100) i; DELETE FROM t WHERE id % 500 = 7');
foreach my $workers (0, 2)
{
	is(build(workers => $workers), '', "changed in buffers, $workers workers");
}

# HOT chains, redirected and dead line pointers
$node->safe_psql('postgres', $_)
  foreach 'DELETE FROM t WHERE id % 6 = 0', 'VACUUM t', 'UPDATE t SET filler = $$y$$ WHERE id % 5 = 0', 'SELECT count(*) FROM t', 'VACUUM t';
empty_buffers();
is(build(workers => 1), '', 'HOT chains');
is(build(workers => 1, kind => 'CONCURRENTLY'), '', 'HOT chains, concurrently');

# Local buffers
unlike(
	$node->safe_psql('postgres', q{
SET temp_buffers = 800;
CREATE TEMP TABLE local AS SELECT i AS id, repeat('x', 850) FROM generate_series(1, 10000) i;
SELECT count(*) FROM local;
CREATE INDEX ON local (id);
SELECT bt_index_parent_check('local_id_idx', true, true);
}), qr/[^\s\d]/, 'a temporary table');

# A page that is broken: the server's own error, as by its own build.
fill_table('t');
$node->safe_psql('postgres', 'VACUUM t');
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('t')});
$node->stop;
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

# While others set hint bits and prune pages, which no lock of a table excludes.
# (What happens where such locks were released early is t/020's concern.)
fill_table('t');
$node->safe_psql('postgres', 'UPDATE t SET a = a + 1 WHERE id % 3 = 0');
empty_buffers();
my $busy = start_psql($node, "DO \$\$ BEGIN FOR i IN 1 .. 20 LOOP PERFORM count(filler) FROM t; END LOOP; END \$\$");
foreach my $n (1 .. 4)
{
	is(build(workers => $n % 2), '', "while others set hint bits, build $n");
}
$busy->{run}->finish;

$node->stop;
done_testing();
