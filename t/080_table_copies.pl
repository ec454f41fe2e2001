# Copies of tables by CLUSTER, with older snapshots, waiting readers, crashes, a
# replica and logical decoding.
#
# Depends on the version: ptsort copies rows as the server does
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node(
	'primary',
	init => { allows_streaming => 'logical', extra => ['--data-checksums'] },
	conf => q{
fsync = on
ptsort.parallel_workers = 2
maintenance_work_mem = '2MB'
});

# A table for the tests, and a digest that depends only on the table's contents
my $fill = q{
CREATE TABLE NAME (id int, word text, few int) WITH (fillfactor = 80);
CREATE INDEX NAME_word ON NAME (word);
INSERT INTO NAME SELECT i, md5(i::text), i % 10 FROM generate_series(1, 20000) i;
};
my $digest = 'SELECT count(*), sum(hashtext(NAME::text)) FROM NAME';

sub of
{
	my ($sql, $name) = @_;
	return $sql =~ s/NAME/$name/gr;
}

# Returns the copies in the log since a position: "table: participants, writer".
sub copies_since
{
	my ($offset) = @_;
	return join '; ', map { s/"(\w+)": (\d+) participants?, .* written by (.*)/$1: $2, $3/r }
	  slurp_file($node->logfile, $offset) =~ /LOG:  ptsort: copied table (.*)/g;
}

# Returns what amcheck finds in the table ('sound' if nothing), and the number of
# rows whose word is smaller than the previous row's word in the table's file.
sub sound
{
	my ($server, $name) = @_;
	return $server->safe_psql('postgres', of(q{
SET enable_indexscan = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0;
SELECT coalesce((SELECT string_agg(msg, ' ') FROM verify_heapam('NAME')), 'sound'),
	(SELECT count(*) FROM (SELECT word, lag(word) OVER (ORDER BY ctid) AS before FROM NAME) s WHERE word < before);
}, $name));
}

# A copy keeps row versions that an older snapshot sees, with links to their
# successors.  A session that follows a link finds that the row changed.
$node->safe_psql('postgres', of($fill, 'chains'));
my $old_digest = $node->safe_psql('postgres', of($digest, 'chains'));
my $old = $node->background_psql('postgres', on_error_stop => 0);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$node->safe_psql('postgres', q{
UPDATE chains SET few = few + 1 WHERE id % 7 = 0;
UPDATE chains SET word = md5(word), few = few + 1 WHERE id % 14 = 0;
UPDATE chains SET word = 'last' || word WHERE id % 28 = 0;
DELETE FROM chains WHERE id % 5 = 0;
});
my $new_digest = $node->safe_psql('postgres', of($digest, 'chains'));
my $end = log_end($node);
$node->safe_psql('postgres', 'CLUSTER chains USING chains_word');
is(copies_since($end), q{chains: 3, the server's functions}, 'chains: copied');
is($node->safe_psql('postgres', of($digest, 'chains')), $new_digest, 'chains: what is new');
is(sound($node, 'chains'), 'sound|0', 'chains: in order');
is($old->query(of($digest, 'chains')), $old_digest, 'chains: what the old snapshot sees');
$old->query('UPDATE chains SET few = 0 WHERE id = 28');
like($old->{stderr}, qr/could not serialize access due to concurrent update/, 'chains: links are there');
$old->{stderr} = '';
end_session($old);
$end = log_end($node);
$node->safe_psql('postgres', 'CLUSTER chains');
is(copies_since($end), 'chains: 3, all of them', 'chains: when the snapshot is gone');
is($node->safe_psql('postgres', of($digest, 'chains')), $new_digest, 'chains: the same rows');
is(sound($node, 'chains'), 'sound|0', 'chains: in order again');

# Progress, while participants write slices; a reader waits and then gets all
# rows; a session cancels the statement and runs it again
$node->safe_psql('postgres', of($fill, 'watched'));
my $watched_digest = $node->safe_psql('postgres', of($digest, 'watched'));
my $segments = dsm_segments($node);
foreach my $cancel (1, 0)
{
	my $pause = pause_points($node);
	my $psql = start_psql($node,
		q{SET ptsort_test.fault = 'copywrite: begin slice:1:pause:leader, copywrite: begin slice:1:pause:worker'},
		'CLUSTER watched USING watched_word');
	ok(wait_for_point($node, 'copywrite: begin slice', 3), 'progress: all are about to write');
	is($node->safe_psql('postgres', q{
SELECT command, phase, heap_tuples_scanned, heap_tuples_written, heap_blks_total = heap_blks_scanned
FROM pg_stat_progress_cluster WHERE relid = 'watched'::regclass}),
		'CLUSTER|writing new heap|20000|0|t', 'progress: what the view says');
	my $reader = start_psql($node, of($digest, 'watched'));
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'SELECT count%watched'})
	  or fail('progress: the reader waits');
	$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_progress_cluster}) if $cancel;
	end_session($pause);
	$psql->{run}->finish;
	like($psql->{err}, $cancel ? qr/canceling statement due to user request/ : qr/^$/, 'progress: the end');
	$reader->{run}->finish;
	is($reader->{out}, "$watched_digest\n", 'progress: the reader has all rows');
	check_nothing_left($node, 'progress', $segments) if $cancel;
}
is(sound($node, 'watched'), 'sound|0', 'progress: in order');

# An invalidation between the creation of the new table and the copy: the server
# does the copy, and ptsort logs the reason.  The test updates pg_class, because
# a GRANT, which would also invalidate, waits for the table's lock since
# PostgreSQL 18.
$end = log_end($node);
my $pause = pause_points($node);
my $psql = start_psql($node, q{SET ptsort_test.fault = 'cluster: redirected:1:pause:leader'},
	'CLUSTER watched', 'CLUSTER watched');
ok(wait_for_point($node, 'cluster: redirected'), 'invalidation: the table has been redirected');
$node->safe_psql('postgres', q{UPDATE pg_class SET relacl = relacl WHERE oid = 'watched'::regclass});
end_session($pause);
$psql->{run}->finish;
is($psql->{err}, '', 'invalidation: no error');
like(slurp_file($node->logfile, $end),
	qr/leaving copy of table "watched" to the server: its relcache entry was rebuilt meanwhile.*copied table "watched"/s,
	"invalidation: the server's copy, and then ptsort's");
is($node->safe_psql('postgres', of($digest, 'watched')), $watched_digest, 'invalidation: the same rows');

# Logical decoding shows the updates before and after a copy, and nothing of the
# copy itself.  If logical decoding reads a table as a catalog, it finds the
# table's rows in their new places
$node->safe_psql('postgres', of($fill, 'decoded'));
$node->safe_psql('postgres', q{SELECT pg_create_logical_replication_slot('slot', 'test_decoding')});
$end = log_end($node);
$node->safe_psql('postgres', q{
ALTER TABLE watched SET (user_catalog_table = true);
UPDATE watched SET few = -1 WHERE id = 1;
UPDATE decoded SET few = -1 WHERE id = 1;
CLUSTER decoded USING decoded_word;
BEGIN;
UPDATE watched SET few = -2 WHERE id = 1;
CLUSTER watched;
UPDATE decoded SET few = -2 WHERE id = 1;
COMMIT;
});
is(copies_since($end), q{decoded: 3, all of them; watched: 3, the server's functions}, 'decoding: copied');
is($node->safe_psql('postgres', q{
SELECT split_part(data, ' ', 2) || ' few:' || split_part(data, 'few[integer]:', 2) FROM pg_logical_slot_get_changes('slot', NULL, NULL)
WHERE data LIKE 'table %'}),
	"public.watched: few:-1\npublic.decoded: few:-1\npublic.watched: few:-2\npublic.decoded: few:-2", 'decoding: the changes');

# A copy of a user catalog table writes the new place of each row version that
# decoding may need.  The places that ptsort writes for one table equal those
# that the server writes for another table with the same contents.
my %mapped;
foreach my $name ('server_mapped', 'mapped')
{
	$node->safe_psql('postgres', of("$fill; ALTER TABLE NAME SET (user_catalog_table = true)", $name));
	$node->safe_psql('postgres', of($_, $name)) foreach (
		'UPDATE NAME SET few = few + 1 WHERE id % 50 = 0',
		'UPDATE NAME SET word = md5(word) WHERE id % 100 = 0',
		'DELETE FROM NAME WHERE id % 70 = 0');
	my $oid = $node->safe_psql('postgres', "SELECT to_hex('$name'::regclass::oid::int)");
	my $enable = $name eq 'mapped' ? 'on' : 'off';
	$node->safe_psql('postgres', of("SET ptsort.enable = $enable; CLUSTER NAME USING NAME_word", $name));
	# a record has the numbers of the old and the new file, and a row version's
	# old and new place
	$mapped{$name} = join ' ', sort map { join ',', unpack 'x24n6', $_ }
	  map { unpack '(a36)*', slurp_file($_) } glob($node->data_dir . "/pg_logical/mappings/map-*-$oid-*");
}
cmp_ok(scalar(split / /, $mapped{mapped}), '>', 1000, 'decoding: places of row versions');
is($mapped{mapped}, $mapped{server_mapped}, "decoding: they are the server's");
$node->safe_psql('postgres', q{SELECT pg_drop_replication_slot('slot'); ALTER TABLE watched RESET (user_catalog_table)});

# Several tables in one statement: partitions, and all tables that were
# clustered before
$node->safe_psql('postgres', q{
DROP TABLE server_mapped, mapped;
CREATE TABLE parted (LIKE watched) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (9000);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (9000) TO (MAXVALUE);
INSERT INTO parted SELECT * FROM watched;
CREATE INDEX parted_word ON parted (word);
});
$end = log_end($node);
$node->safe_psql('postgres', 'CLUSTER parted USING parted_word');
is(join('; ', sort split /; /, copies_since($end)), 'parted_1: 3, all of them; parted_2: 3, all of them', 'partitions: copied');
is(sound($node, $_), 'sound|0', "partitions: $_ is in order") foreach ('parted_1', 'parted_2');
is($node->safe_psql('postgres', of($digest, 'parted')), $node->safe_psql('postgres', of($digest, 'watched')), 'partitions: the same rows');
$node->safe_psql('postgres', q{DROP TABLE parted; UPDATE watched SET word = md5(word)});
my %all_digests = map { $_ => $node->safe_psql('postgres', of($digest, $_)) } ('chains', 'decoded', 'watched');
$end = log_end($node);
$node->safe_psql('postgres', 'CLUSTER');
is(join(' ', sort map { s/:.*//r } split /; /, copies_since($end)), 'chains decoded watched', 'all tables: copied');
foreach my $table (sort keys %all_digests)
{
	is(sound($node, $table), 'sound|0', "all tables: $table is in order");
	is($node->safe_psql('postgres', of($digest, $table)), $all_digests{$table}, "all tables: $table has the same rows");
}

# A crash right after the commit, without a checkpoint during the copy; and a
# crash after a checkpoint in the middle of the copy
$node->safe_psql('postgres', of($fill, 'crashed') . q{CREATE UNLOGGED TABLE lost (id int PRIMARY KEY); INSERT INTO lost SELECT generate_series(1, 5000)});
my $crashed_digest = $node->safe_psql('postgres', of($digest, 'crashed'));
$node->safe_psql('postgres', 'CHECKPOINT');
$node->safe_psql('postgres', 'CLUSTER crashed USING crashed_word; CLUSTER lost USING lost_pkey');
$node->stop('immediate');
$node->start;
is(sound($node, 'crashed'), 'sound|0', 'crash: in order');
is($node->safe_psql('postgres', of($digest, 'crashed')), $crashed_digest, 'crash: the same rows');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lost'), '0', 'crash: there was a recovery');

$node->safe_psql('postgres', 'UPDATE crashed SET word = md5(word); DELETE FROM crashed WHERE id % 3 = 0');
$crashed_digest = $node->safe_psql('postgres', of($digest, 'crashed'));
$pause = pause_points($node);
$psql = start_psql($node, q{SET ptsort_test.fault = 'build: after load:1:pause:leader'}, 'CLUSTER crashed');
ok(wait_for_point($node, 'build: after load'), 'checkpoint: the copy is being written');
$node->safe_psql('postgres', 'CHECKPOINT');
end_session($pause);
$psql->{run}->finish;
is($psql->{err}, '', 'checkpoint: copied');
$node->stop('immediate');
$node->start;
is(sound($node, 'crashed'), 'sound|0', 'checkpoint: in order');
is($node->safe_psql('postgres', of($digest, 'crashed')), $crashed_digest, 'checkpoint: the same rows');

# A crash in the middle of a copy: the table is unchanged
$pause = pause_points($node);
$psql = start_psql($node, q{SET ptsort_test.fault = 'copywrite: filled:2:pause'},
	q{SET ptsort_test.leader_participates = off}, 'CLUSTER crashed');
ok(wait_for_point($node, 'copywrite: filled'), 'crash in the middle: some slices are written');
$node->stop('immediate');
$psql->{run}->finish;
$pause->quit;
$node->start;
is(sound($node, 'crashed'), 'sound|0', 'crash in the middle: in order');
is($node->safe_psql('postgres', of($digest, 'crashed')), $crashed_digest, 'crash in the middle: the same rows');

# A replica
$node->backup('base');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'base', has_streaming => 1);
$replica->start;
$node->safe_psql('postgres', 'UPDATE crashed SET word = md5(word) WHERE id % 2 = 0; CLUSTER crashed; CLUSTER decoded');
$node->wait_for_catchup($replica);
foreach my $table ('crashed', 'decoded')
{
	is(sound($replica, $table), 'sound|0', "replica: $table is in order");
	my $places = of('SELECT md5(string_agg(concat(ctid, xmin, xmax, word), $$ $$ ORDER BY ctid)) FROM NAME', $table);
	is($replica->safe_psql('postgres', $places), $node->safe_psql('postgres', $places), "replica: $table is that of the primary");
}
$replica->stop;
$node->stop;
foreach my $stopped ($node, $replica)
{
	command_ok([ 'pg_checksums', '--check', '-D', $stopped->data_dir ], 'checksums of ' . $stopped->name);
}

# With wal_level = minimal, a copy writes little WAL.
$node = new_node('minimal', conf => "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\nptsort.parallel_workers = 2\n");
$node->safe_psql('postgres', of($fill, 'skipped'));
$crashed_digest = $node->safe_psql('postgres', of($digest, 'skipped'));
my $before = $node->safe_psql('postgres', 'SELECT pg_current_wal_lsn()');
is($node->safe_psql('postgres', q{CLUSTER skipped USING skipped_word; SELECT wal_bytes < 100000 FROM ptsort_last_copy() WHERE participant IS NULL}),
	't', 'no WAL: little is logged');
$node->stop('immediate');
$node->start;
is(sound($node, 'skipped'), 'sound|0', 'no WAL: in order');
is($node->safe_psql('postgres', of($digest, 'skipped')), $crashed_digest, 'no WAL: the same rows');
$node->stop;
done_testing();
