# Copies by REPACK (CONCURRENTLY): ptsort's copy has the same rows as the server's
# copy, in the same tuple format.  Also tests transactions that change the table
# during the copy, canceled statements, errors, a crash, and a replica.
#
# Depends on the version: REPACK is new in 19
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'this server has no REPACK' if server_major() < 19;
my $node = new_node(
	'main',
	init => { allows_streaming => 1, extra => ['--data-checksums'] },
	conf => q{
ptsort.parallel_workers = 2
maintenance_work_mem = '2MB'
});
$node->safe_psql('postgres', 'CREATE EXTENSION pageinspect');

# Tables with columns of all kinds, and with dead row versions.  The rows of
# NAME have dropped columns, generated columns, and columns that were added
# later.  NAME_big also has values in a TOAST table.
my $columns = q{
	id int PRIMARY KEY, gone text, word text, few int,
	twice int GENERATED ALWAYS AS (few * 2) STORED,
	thrice int GENERATED ALWAYS AS (few * 3) VIRTUAL, last numeric};
my $fill = qq{
CREATE TABLE NAME ($columns) WITH (fillfactor = 80);
CREATE TABLE NAME_big ($columns, big text, packed text);
ALTER TABLE NAME_big ALTER big SET STORAGE EXTERNAL;
INSERT INTO NAME (id, gone, word, few, last) SELECT i, repeat('g', i % 50), md5(i::text), i % 100, nullif(i % 7, 0)
FROM generate_series(1, 20000) i;
INSERT INTO NAME_big (id, gone, word, few, last, big, packed) SELECT id, gone, word, few, last,
	CASE WHEN id % 10 = 0 THEN repeat(word, 80) END,
	CASE WHEN id % 9 = 0 THEN (SELECT string_agg(md5((id * j)::text), '') FROM generate_series(1, 150) j) END
FROM NAME WHERE id <= 3000;
} . join '', map { qq{
CREATE INDEX ${_}_word ON $_ (word);
UPDATE $_ SET few = few + 1 WHERE id % 11 = 0;
UPDATE $_ SET word = md5(word) WHERE id % 13 = 0;
ALTER TABLE $_ DROP COLUMN gone;
ALTER TABLE $_ ADD COLUMN late int DEFAULT 7, ADD COLUMN later text DEFAULT 'later';
UPDATE $_ SET late = id, later = NULL WHERE id % 17 = 0;
DELETE FROM $_ WHERE id % 19 = 0;
} } ('NAME', 'NAME_big');

sub of
{
	my ($sql, $name) = @_;
	return $sql =~ s/NAME/$name/gr;
}

# Returns a digest that depends only on the table's contents.
sub digest
{
	my ($table, $server) = @_;
	return ($server // $node)->safe_psql('postgres', "SELECT count(*), sum(hashtextextended($table\::text, 0)) FROM $table");
}

# Returns how the log describes the last copy of the table.
sub last_copy
{
	my ($table) = @_;
	my @copies = slurp_file($node->logfile) =~ /LOG:  ptsort: (.*copy of table "$table".*|copied table "$table".*)/g;
	return ($copies[-1] // '') =~ s/^copied table "\w+": (\d) participants, .* written by (.*)/$1, $2/r;
}

# Returns the number of rows whose word is smaller than the word of the previous
# row in the table's file, the number of sound btree indexes, and what amcheck
# finds in the table.
sub state_of
{
	my ($table) = @_;
	return $node->safe_psql('postgres', qq{
SET enable_indexscan = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0;
SELECT concat_ws('/', count(*) FILTER (WHERE word < before),
	(SELECT count(bt_index_parent_check(indexrelid, true, true)::text) FROM pg_index WHERE indrelid = '$table'::regclass),
	(SELECT string_agg(msg, ' ') FROM verify_heapam('$table')))
FROM (SELECT word, lag(word) OVER (ORDER BY ctid) AS before FROM $table) s});
}

# Checks that nothing of a REPACK is left: no table, and no slot.
sub check_cleaned
{
	my ($name, $segments) = @_;
	check_nothing_left($node, $name, $segments);
	is($node->safe_psql('postgres', q{
SELECT (SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_class WHERE relname ~ '^pg_temp_|_repacknew')}),
		0, "$name: no table and no slot");
	my @slots = glob($node->data_dir . '/pg_replslot/*');
	is("@slots", '', "$name: no directory of a slot");
}

# Returns the rows in the order of the table's file.
sub rows_in_order
{
	my ($table) = @_;
	return $node->safe_psql('postgres', "SELECT md5(string_agg($table\::text, ' ' ORDER BY ctid)) FROM $table");
}

# The rows have the same form as in the server's copy.  All are new rows of one
# transaction.  Each page stores the transaction's ID, which lets the server
# prune the page later.  (The TOAST pointers in the data of NAME_big differ.
# The server's copy is not quite in order, because the server also fills gaps in
# earlier pages.)
my %forms;
foreach my $name ('server', 'ours', 'server_plain', 'ours_plain')
{
	$node->safe_psql('postgres', of($fill, $name));
	my $enable = $name =~ /ours/ ? 'on' : 'off';
	foreach my $table ($name, "${name}_big")
	{
		my $before = digest($table);
		my $in_order = rows_in_order($table);
		my $using = $name =~ /plain/ ? '' : "USING INDEX ${table}_word";
		$node->safe_psql('postgres', "SET ptsort.enable = $enable; REPACK (CONCURRENTLY) $table $using");
		my $data = $table =~ /big/ ? 'length(t_data)' : 't_data';
		$forms{$table} = $node->safe_psql('postgres', qq{
SELECT count(*), count(DISTINCT t_xmin::text), bool_and(t_xmin = prune_xid), bool_and(t_ctid = format('(%s,%s)', block, lp)::tid),
	md5(string_agg(form, ' ' ORDER BY form))
FROM generate_series(0, pg_relation_size('$table') / 8192 - 1) block, get_raw_page('$table', block::int) page,
	page_header(page), heap_page_items(page),
	concat_ws(' ', t_xmax, t_field3, t_infomask, t_infomask2, t_hoff, t_bits, $data) form
WHERE lp_flags = 1});
		is(digest($table), $before, "forms: contents of $table");
		is(state_of($table), '0/2', "forms: $table is in order") if $name eq 'ours';
		is(rows_in_order($table), $in_order, "forms: $table keeps its order") if $name eq 'ours_plain';
	}
}
like($forms{ours}, qr/^18948\|1\|t\|t\|/, 'forms: new rows');
foreach my $plain ('', '_plain')
{
	is($forms{"ours$plain"}, $forms{"server$plain"}, "forms: the server's$plain");
	is($forms{"ours${plain}_big"}, $forms{"server${plain}_big"}, "forms: the server's$plain, with TOAST");
	is(last_copy("ours$plain"), '3, all of them', "forms: all participants wrote$plain");
	is(last_copy("ours${plain}_big"), q{3, the server's functions}, "forms: the leader wrote$plain, with TOAST");
}
like(last_copy('server'), qr/ptsort.enable is off/, "forms: the server's own copy");
$node->safe_psql('postgres', 'DROP TABLE server, server_big, server_plain, server_plain_big, ours_plain, ours_plain_big');

# Transactions that change the table after the copy's snapshot was taken: before
# the scan, after the scan, before the sort, and after the copy.  One
# transaction goes on until REPACK waits for a lock that the transaction holds.
# The same statements also change the table right_rows, which shows the expected
# rows.
my $changes = q{
UPDATE NAME SET few = few + 1 WHERE id % 20 = ROUND AND id % 100 < 90;
UPDATE NAME SET word = 'ROUND' || word WHERE id % 21 = ROUND AND id % 100 < 90;
UPDATE NAME SET id = id + 1000000 WHERE id % 22 = ROUND AND id % 100 < 90;
DELETE FROM NAME WHERE id % 23 = ROUND AND id % 100 < 90;
INSERT INTO NAME (id, word) SELECT 100000 * ROUND + i, md5((i * ROUND)::text) FROM generate_series(1, 80) i;
};
my $changes_big = $changes . q{
UPDATE NAME SET big = repeat(word, 70 + ROUND) WHERE id % 24 = ROUND AND id % 100 < 90;
UPDATE NAME SET packed = NULL WHERE id % 25 = ROUND AND id % 100 < 90;
};
foreach my $table ('ours', 'ours_big')
{
	# the last copies are in the order of the blocks
	my @points = ('build: before scan', 'build: after scan', 'sort: perform', 'tablecopy: written',
		'build: before scan', 'build: after scan', 'tablecopy: written');
	my $sql = $table eq 'ours' ? $changes : $changes_big;
	$node->safe_psql('postgres', qq{
CREATE TABLE right_rows (LIKE $table INCLUDING ALL);
INSERT INTO right_rows (id, word, few, last, late, later) SELECT id, word, few, last, late, later FROM $table});
	$node->safe_psql('postgres', qq{UPDATE right_rows r SET big = t.big, packed = t.packed FROM $table t WHERE t.id = r.id})
	  if $table eq 'ours_big';
	is(digest('right_rows'), digest($table), "changes: $table has a twin");

	foreach my $n (1 .. @points)
	{
		my $point = $points[ $n - 1 ];
		my $rows = $node->safe_psql('postgres', "SELECT count(*) FROM $table");
		my $using = $n <= 4 ? "USING INDEX ${table}_word" : '';
		my $pause = pause_points($node);
		my $psql = start_psql($node, "SET ptsort_test.fault = '$point:1:pause:leader, $point:1:pause:worker'",
			"REPACK (CONCURRENTLY) $table $using");
		ok(wait_for_point($node, $point, $point eq 'tablecopy: written' ? 1 : 3), "changes: $point");
		my $changes_now = $sql =~ s/ROUND/$n/gr;
		my $session = $node->background_psql('postgres');
		$session->query_safe("BEGIN; UPDATE $table SET late = $n WHERE id % 100 = 90 + $n");
		$node->safe_psql('postgres', of($changes_now, $_)) foreach ($table, 'right_rows');
		$node->safe_psql('postgres', "BEGIN; DELETE FROM $table WHERE id % 100 < 30; ROLLBACK");
		is($node->safe_psql('postgres', q{
SELECT phase, heap_tuples_scanned, heap_blks_total = heap_blks_scanned FROM pg_stat_progress_repack}),
			($using ? 'writing new heap' : 'seq scanning heap') . "|$rows|t", "changes: progress, $point") if $point eq 'tablecopy: written';
		end_session($pause);
		ok($node->poll_query_until('postgres', qq{
SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'REPACK%'}),
			'changes: REPACK waits for the last transaction');
		$session->query_safe("DELETE FROM $table WHERE id % 100 = 94 + $n; COMMIT");
		$session->quit;
		$node->safe_psql('postgres', "UPDATE right_rows SET late = $n WHERE id % 100 = 90 + $n; DELETE FROM right_rows WHERE id % 100 = 94 + $n");
		$psql->{run}->finish;
		is($psql->{err}, '', "changes: done, $point");
		is(digest($table), digest('right_rows'), "changes: rows, $point");
		like(state_of($table), qr{^\d+/2$}, "changes: sound, $point");
		is(last_copy($table), $table eq 'ours' ? '3, all of them' : q{3, the server's functions}, "changes: copied, $point");
	}
	$node->safe_psql('postgres', 'DROP TABLE right_rows');
}

# Writers change rows but not the sum of a column, while REPACK (CONCURRENTLY)
# runs.  Of 35 statements, 28 are canceled at a point of the copy or of a build.
# The last ten copies are in the order of the blocks.
my $script = $node->basedir . '/writer';
append_to_file($script, q{
\set a random(1, 10000)
\set b random(10001, 20000)
BEGIN;
UPDATE busy SET few = few + 1 WHERE id = :a;
UPDATE busy SET few = few - 1, word = md5(word) WHERE id = :b;
END;
});
$node->safe_psql('postgres', q{
CREATE TABLE busy (id int PRIMARY KEY, word text, few int,
	CONSTRAINT busy_word EXCLUDE USING btree (word WITH =)) WITH (fillfactor = 70);
INSERT INTO busy SELECT i, md5(i::text), 0 FROM generate_series(1, 20000) i});
my $bench = start_pgbench($node, $script, '-c', '2');
$node->poll_query_until('postgres',
	"SELECT n_tup_upd > 200 FROM pg_stat_user_tables WHERE relname = 'busy'");
my $sums = 'SELECT count(*), sum(few), count(DISTINCT word) FROM busy';
my $segments = dsm_segments($node);
my $end = log_end($node);
my @cancels = map { ("$_:1:cancel:leader", "$_:1:cancel:worker") }
  ('build: before scan', 'build: after scan', 'sort: perform', 'shared: announce');
push @cancels, 'build: worker start:1:cancel:worker', map { "$_:cancel" }
  ('build: before launch:1', 'copywrite: begin slice:1', 'copywrite: begin slice:2', 'copywrite: wait:1', 'copywrite: filled:1', 'copywrite: filled:2',
	'cluster: begin:1', 'tablecopy: written:1', 'cluster: end:1', 'build: before scan:2', 'ambuild: end:2',
	'copywrite: begin slice:1', 'copywrite: begin slice:2', 'copywrite: wait:1', 'copywrite: wait:2', 'copywrite: filled:1',
	'copywrite: filled:2', 'tablecopy: written:1', 'cluster: end:1');
my ($done, $canceled) = (0, 0);
foreach my $round (0 .. 34)
{
	my $using = $round < 25 ? 'USING INDEX busy_word' : '';
	my $fault = $round % 5 == 4 ? '' : shift @cancels;
	my ($rc, undef, $error) = $node->psql('postgres',
		"SET ptsort_test.fault = '$fault'; REPACK (CONCURRENTLY) busy $using");
	$error =~ /canceling statement due to user request/ ? $canceled++ : $error eq '' ? $done++ : diag($error);
	is($error eq '', $fault eq '', "writers: $fault");
	is($node->safe_psql('postgres', $sums), '20000|0|20000', "writers: rows after round $round, $fault");
	like(state_of('busy'), qr{^\d+/2$}, "writers: the table is sound");
}
ok(stop_pgbench($bench), 'writers: they ran all the time') or diag($bench->{err});
is("$done $canceled", '7 28', 'writers: done, canceled');
my $copies = () = slurp_file($node->logfile, $end) =~ /copied table "busy": 3 participants, .* written by all of them/g;
cmp_ok($copies, '>=', 7, 'writers: ptsort copied');
check_cleaned('writers', $segments);

# Errors: no space for temporary files; an error in the leader or in a worker;
# the death of a process, and of the server.  The next statement succeeds.
my $before = digest('ours');
foreach my $settings (
	'SET temp_file_limit = 100',
	(map { "SET ptsort_test.leader_participates = off; SET ptsort_test.fault = '$_'" } ('copywrite: filled:2:error:worker',
		'copywrite: wait:1:fatal:worker', 'copywrite: begin slice:2:error:worker')),
	map { "SET ptsort_test.fault = '$_'" } ('build: before launch', 'build: worker start:1:error:worker',
		'build: after scan:1:error:worker', 'build: after load:1:fatal:worker', 'copywrite: filled',
		'tablecopy: written', 'build: before scan:1:terminate:leader'))
{
	my $using = $settings =~ /off/ ? '' : 'USING INDEX ours_word';
	my (undef, $err) = try_sql($node, "$settings; REPACK (CONCURRENTLY) ours $using");
	like($err, qr/temporary file size exceeds|injected|terminating|lost connection/, "errors: $settings");
	check_cleaned("errors: $settings", $segments);
}
$node->safe_psql('postgres', 'REPACK (CONCURRENTLY) ours USING INDEX ours_word');
is(digest('ours'), $before, 'errors: contents');
is(state_of('ours'), '0/2', 'errors: in order');

# A crash while slices are being written
foreach my $using ('USING INDEX ours_word', '')
{
	my $pause = pause_points($node);
	my $psql = start_psql($node, q{SET ptsort_test.fault = 'copywrite: filled:2:pause'},
		q{SET ptsort_test.leader_participates = off}, "REPACK (CONCURRENTLY) ours $using");
	ok(wait_for_point($node, 'copywrite: filled'), 'crash: some slices are written');
	$node->safe_psql('postgres', 'UPDATE ours SET few = few + 1 WHERE id % 5 = 0');
	$before = digest('ours');
	$node->stop('immediate');
	$psql->{run}->finish;
	$pause->quit;
	$node->start;
	is(digest('ours'), $before, 'crash: contents');
	like(state_of('ours'), qr{^\d+/2$}, 'crash: the table is sound');
	check_cleaned('crash');
}

# A crash right after the statement, and a replica
$node->backup('base');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'base', has_streaming => 1);
$replica->start;
$node->safe_psql('postgres', of($fill, 'plain'));
$node->safe_psql('postgres', 'REPACK (CONCURRENTLY) plain');
$node->safe_psql('postgres', "REPACK (CONCURRENTLY) $_ USING INDEX ${_}_word") foreach ('ours', 'ours_big');
my %before = map { $_ => digest($_) } ('ours', 'ours_big', 'plain');
is(last_copy('ours'), '3, all of them', 'replica: copied');
$node->stop('immediate');
$node->start;
$node->wait_for_catchup($replica);
foreach my $table (sort keys %before)
{
	my $places = "SELECT md5(string_agg(concat(ctid, xmin, xmax, word), ' ' ORDER BY ctid)) FROM $table";
	is(digest($table), $before{$table}, "second crash: contents of $table");
	like(state_of($table), $table eq 'plain' ? qr{^\d+/2$} : qr{^0/2$}, "second crash: $table is in order");
	is(digest($table, $replica), $before{$table}, "replica: contents of $table");
	is($replica->safe_psql('postgres', $places), $node->safe_psql('postgres', $places), "replica: places of $table");
}
$replica->stop;
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $_->data_dir ], 'checksums of ' . $_->name) foreach ($node, $replica);
done_testing();
