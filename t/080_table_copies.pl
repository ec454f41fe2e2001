# Copies of tables by CLUSTER and by VACUUM FULL, with older snapshots, waiting
# readers, workers that fail, crashes, a replica and logical decoding.
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
use Time::HiRes qw(time);

my $node = new_node(
	'primary',
	init => { allows_streaming => 'logical', extra => ['--data-checksums'] },
	conf => q{
shared_preload_libraries = 'ptsort_test'
fsync = on
ptsort.parallel_workers = 2
maintenance_work_mem = '2MB'
});

$node->safe_psql('postgres', 'CREATE EXTENSION pageinspect');

# The statements, for the table NAME
my %copy = (cluster => 'CLUSTER NAME USING NAME_word', vacuum => 'VACUUM FULL NAME');

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

# Returns what is_copied() expects after a copy: the rows in their new order.
sub rows_after
{
	my ($kind, $name, $server) = @_;
	my $order = $kind eq 'cluster' ? 'word' : 'ctid';
	return ($server // $node)->safe_psql('postgres', of(qq{
SET enable_indexscan = off; SET enable_bitmapscan = off;
SELECT count(*), md5(string_agg(NAME::text, ' ' ORDER BY $order)) FROM NAME}, $name));
}

# Checks that a table is sound, and has these rows in this order.
sub is_copied
{
	my ($server, $name, $rows, $what) = @_;
	is($server->safe_psql('postgres', of(q{SELECT coalesce(string_agg(msg, ' '), 'sound') FROM verify_heapam('NAME')}, $name)), 'sound', "$what: sound");
	is(rows_after('vacuum', $name, $server), $rows, "$what: the rows");
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

# VACUUM FULL copies chains as the server does.  The first chain is in the first
# page, in the middle, where other participants may have passed it, or in the
# last page.  Chains may be in one page or end in the last pages.  A snapshot
# older than the copy may see some row versions of a chain, or none.
sub versions
{
	my ($name) = @_;
	return $node->safe_psql('postgres', of(q{
WITH items AS (SELECT row_number() OVER (ORDER BY block, lp) n, format('(%s,%s)', block, lp)::tid self, i.*
	FROM generate_series(0, pg_relation_size('NAME') / 8192 - 1) block, heap_page_items(get_raw_page('NAME', block::int)) i)
SELECT count(*), count(*) FILTER (WHERE i.n <> next.n), md5(string_agg(concat_ws(' ', i.t_xmin, i.t_xmax, i.t_infomask, i.t_infomask2, i.t_hoff, i.t_bits, i.t_data, next.n), ' ' ORDER BY i.n)),
	count(next.n), pg_relation_size('NAME', 'fsm'), pg_relation_size('NAME', 'vm')
FROM items i LEFT JOIN items next ON next.self = i.t_ctid}, $name));
}
my $none = "all of them";
my $rest = qr/all of them, from block (\d+) the server's functions/;
my @few = ('UPDATE NAME SET few = few + 1 WHERE %s', 'UPDATE NAME SET few = few + 1, word = md5(word) WHERE %s');
my @chains = (
	[ 'first', "the server's functions", 'id = 1', @few ],
	[ 'middle', $rest, 'id = 11000', @few ],
	[ 'last', $rest, 'id = 20000', @few ],
	[ 'several', $rest, 'id > 5000 AND id % 1500 = 7', @few, 'DELETE FROM NAME WHERE %s AND id % 1000 = 7' ],
	[ 'moved', $rest, 'id BETWEEN 13000 AND 19000', @few ],
	[ 'deleted', $none, 'id % 7 = 0', 'DELETE FROM NAME WHERE %s' ],
	[ 'locked', $rest, 'id = 15000', 'SELECT FROM NAME WHERE %s FOR KEY SHARE', 'SAVEPOINT a', $few[0] ],
	[ 'aborted', $none, 'id % 7 = 0', 'SAVEPOINT a', @few, 'ROLLBACK TO a' ]);
foreach (@chains)
{
	my ($shape, $writers, $where, @changes) = @$_;
	$node->safe_psql('postgres', join ';', 'BEGIN', of($fill, 'twin'), of($fill, 'chains2'), 'COMMIT');
	my $seen = $node->safe_psql('postgres', of($digest, 'chains2'));
	my $old = $node->background_psql('postgres');
	$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	# both tables change in the same transactions
	$node->safe_psql('postgres', join ';', 'BEGIN', map({ my $sql = sprintf($_ =~ s/% (\d)/%% $1/gr, $where);
		$sql =~ /SAVEPOINT|ROLLBACK/ && $sql !~ /NAME/ ? $sql : (of($sql, 'twin'), of($sql, 'chains2')) } @changes), 'COMMIT') ;
	my $rows = $node->safe_psql('postgres', of($digest, 'chains2'));
	my $end = log_end($node);
	$node->safe_psql('postgres', 'VACUUM FULL chains2');
	like(copies_since($end), qr/^chains2: 3, (?:$writers)$/, "chains, $shape: copied");
	$node->safe_psql('postgres', 'SET ptsort.enable = off; VACUUM FULL twin');
	is(versions('chains2'), versions('twin'), "chains, $shape: the server's row versions");
	is($node->safe_psql('postgres', of($digest, 'chains2')), $rows, "chains, $shape: what is new");
	is($old->query_safe(of($digest, 'chains2')), $seen, "chains, $shape: what the old snapshot sees");
	is($node->safe_psql('postgres', q{SELECT string_agg(msg, ' ') FROM verify_heapam('chains2')}), '', "chains, $shape: sound");
	end_session($old);
	$node->safe_psql('postgres', 'DROP TABLE twin, chains2');
}

# Progress, while participants write slices or, without a sort, while only the
# leader copied its first slice; a reader waits and then gets all rows; a session
# cancels the statement and runs it again
$node->safe_psql('postgres', of($fill, 'watched'));
my $watched_digest = $node->safe_psql('postgres', of($digest, 'watched'));
my $segments = dsm_segments($node);
my %progress = (
	cluster => [ 'copywrite: begin slice:1:pause', qr/^CLUSTER\|writing new heap\|20000\|0\|t$/ ],
	vacuum => [ 'copywrite: begin slice:2:pause:leader, build: before scan:1:pause:worker', qr/^VACUUM FULL\|seq scanning heap\|(\d{4})\|\1\|f$/ ]);
foreach my $run (map { ([ $_, 1 ], [ $_, 0 ]) } sort keys %copy)
{
	my ($kind, $cancel) = @$run;
	my ($fault, $says) = @{ $progress{$kind} };
	my $rows = rows_after($kind, 'watched');
	my $pause = pause_points($node);
	my $psql = start_psql($node, "SET ptsort_test.fault = '$fault'",
		of($copy{$kind}, 'watched'));
	ok(wait_for_point($node, 'copywrite: begin slice', $kind eq 'vacuum' ? 1 : 3), "progress, $kind: about to write");
	like($node->safe_psql('postgres', q{
SELECT command, phase, heap_tuples_scanned, heap_tuples_written, heap_blks_total = heap_blks_scanned
FROM pg_stat_progress_cluster WHERE relid = 'watched'::regclass}), $says, "progress, $kind: what the view says");
	my $reader = start_psql($node, of($digest, 'watched'));
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'SELECT count%watched'})
	  or fail("progress, $kind: the reader waits");
	$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_progress_cluster}) if $cancel;
	end_session($pause);
	$psql->{run}->finish;
	like($psql->{err}, $cancel ? qr/canceling statement due to user request/ : qr/^$/, "progress, $kind: the end");
	$reader->{run}->finish;
	is($reader->{out}, "$watched_digest\n", "progress, $kind: the reader has all rows");
	check_nothing_left($node, "progress, $kind", $segments) if $cancel;
	is_copied($node, 'watched', $rows, "progress, $kind") unless $cancel;
}

# When the copy is done, the view has all rows
{
	my $pause = pause_points($node);
	my $psql = start_psql($node, q{SET ptsort_test.fault = 'build: before scan:2:pause:leader'}, 'VACUUM FULL watched');
	ok(wait_for_point($node, 'build: before scan'), 'progress: the index is built');
	is($node->safe_psql('postgres', 'SELECT phase, heap_tuples_scanned, heap_tuples_written FROM pg_stat_progress_cluster'),
		'rebuilding index|20000|20000', 'progress: all rows');
	end_session($pause);
	$psql->{run}->finish;
	is($psql->{err}, '', 'progress: no error');
}

# Participants of VACUUM FULL wait for one that pauses in its slice.  A cancel
# ends all waits soon, and so does an error or the end of a worker.  The table
# stays as it was.
my $leader_first = q{SET ptsort_test.turns = 'copywrite: begin slice:worker after copywrite: begin slice:leader'};
my $no_leader = q{SET ptsort_test.leader_participates = off};
foreach my $slow ('leader', 'worker')
{
	foreach my $point ('copywrite: begin slice', 'copywrite: wait', 'copywrite: filled')
	{
		my $rows = rows_after('vacuum', 'watched');
		my $pause = pause_points($node);
		my $psql = start_psql($node, "SET ptsort_test.fault = '$point:1:pause:$slow'",
			$slow eq 'leader' ? $leader_first : $no_leader, 'VACUUM FULL watched');
		ok(wait_for_point($node, $point, $slow eq 'leader' ? 1 : 2), "wait: $slow, $point");
		my $begin = time;
		$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_progress_cluster});
		# the pause itself does not end
		if ($slow eq 'worker')
		{
			$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_progress_cluster}) or fail('the leader ends');
			cmp_ok(time - $begin, '<', 1, "wait: $slow, $point: canceled");
		}
		end_session($pause);
		$psql->{run}->finish;
		like($psql->{err}, qr/canceling statement due to user request/, "wait: $slow, $point: the error");
		check_nothing_left($node, "wait: $slow, $point", $segments);
		is_copied($node, 'watched', $rows, "wait: $slow, $point");
	}
}
foreach my $fault (map { ("$_:1:error:worker", "$_:2:fatal:worker", "$_:1:error:leader") } ('copywrite: begin slice', 'copywrite: wait', 'copywrite: filled'))
{
	my $rows = rows_after('vacuum', 'watched');
	my (undef, $err) = try_sql($node, join ';', $fault =~ /leader/ ? $leader_first : $no_leader,
		"SET ptsort_test.fault = '$fault'", 'VACUUM FULL watched');
	like($err, qr/injected|terminating|lost connection/, "faults: $fault");
	check_nothing_left($node, "faults: $fault", $segments);
	is_copied($node, 'watched', $rows, "faults: $fault");
}

# An invalidation between the creation of the new table and the copy: the server
# does the copy, and ptsort logs the reason.  The test updates pg_class, because
# a GRANT, which would also invalidate, waits for the table's lock since
# PostgreSQL 18.
my ($pause, $psql);
foreach my $kind (sort keys %copy)
{
	my $sql = of($copy{$kind}, 'watched');
	$end = log_end($node);
	$pause = pause_points($node);
	$psql = start_psql($node, q{SET ptsort_test.fault = 'cluster: redirected:1:pause:leader'}, $sql, $sql);
	ok(wait_for_point($node, 'cluster: redirected'), 'invalidation: the table has been redirected');
	$node->safe_psql('postgres', q{UPDATE pg_class SET relacl = relacl WHERE oid = 'watched'::regclass});
	end_session($pause);
	$psql->{run}->finish;
	is($psql->{err}, '', 'invalidation: no error');
	like(slurp_file($node->logfile, $end),
		qr/leaving copy of table "watched" to the server: its relcache entry was rebuilt meanwhile.*copied table "watched"/s,
		"invalidation: the server's copy, and then ptsort's");
	is($node->safe_psql('postgres', of($digest, 'watched')), $watched_digest, 'invalidation: the same rows');
}

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
VACUUM FULL decoded;
VACUUM FULL watched;
UPDATE decoded SET few = -3 WHERE id = 1;
});
is(copies_since($end), q{decoded: 3, all of them; watched: 3, the server's functions; decoded: 3, all of them}, 'decoding: copied');
like(slurp_file($node->logfile, $end), qr/leaving copy of table "watched" to the server: logical decoding reads it as a catalog/, 'decoding: not copied');
is($node->safe_psql('postgres', q{
SELECT split_part(data, ' ', 2) || ' few:' || split_part(data, 'few[integer]:', 2) FROM pg_logical_slot_get_changes('slot', NULL, NULL)
WHERE data LIKE 'table %'}),
	"public.watched: few:-1\npublic.decoded: few:-1\npublic.watched: few:-2\npublic.decoded: few:-2\npublic.decoded: few:-3", 'decoding: the changes');

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
my %rows = map { $_ => rows_after('vacuum', $_) } ('parted_1', 'parted_2');
$end = log_end($node);
$node->safe_psql('postgres', 'VACUUM FULL parted');
is(join('; ', sort split /; /, copies_since($end)), 'parted_1: 3, all of them; parted_2: 3, all of them', 'partitions: copied again');
is_copied($node, $_, $rows{$_}, "partitions: $_") foreach sort keys %rows;
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

# A crash right after the commit, without a checkpoint during the copy; a crash
# after a checkpoint in the middle of the copy; and a crash in the middle, which
# leaves the table unchanged
$node->safe_psql('postgres', of($fill, 'crashed') . q{CREATE UNLOGGED TABLE lost (id int PRIMARY KEY)});
foreach my $kind (sort keys %copy)
{
	my $sql = of($copy{$kind}, 'crashed');
	$node->safe_psql('postgres', 'INSERT INTO lost SELECT generate_series(1, 5000); CHECKPOINT');
	my $rows = rows_after($kind, 'crashed');
	$node->safe_psql('postgres', $sql);
	$node->safe_psql('postgres', $kind eq 'cluster' ? 'CLUSTER lost USING lost_pkey' : 'VACUUM FULL lost');
	$node->stop('immediate');
	$node->start;
	is_copied($node, 'crashed', $rows, "crash, $kind");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM lost'), '0', 'crash: there was a recovery');

	$node->safe_psql('postgres', 'UPDATE crashed SET word = md5(word); DELETE FROM crashed WHERE id % 3 = 0; INSERT INTO crashed SELECT -i, md5((-i)::text) FROM generate_series(1, 10000) i');
	$rows = rows_after($kind, 'crashed');
	my $point = $kind eq 'cluster' ? 'build: after load' : 'copywrite: filled';
	$pause = pause_points($node);
	$psql = start_psql($node, "SET ptsort_test.fault = '$point:1:pause:leader'", $kind eq 'cluster' ? () : $leader_first, $sql);
	ok(wait_for_point($node, $point), "checkpoint, $kind: the copy is being written");
	$node->safe_psql('postgres', 'CHECKPOINT');
	end_session($pause);
	$psql->{run}->finish;
	is($psql->{err}, '', "checkpoint, $kind: copied");
	$node->stop('immediate');
	$node->start;
	is_copied($node, 'crashed', $rows, "checkpoint, $kind");

	$rows = rows_after('vacuum', 'crashed');
	$pause = pause_points($node);
	$psql = start_psql($node, q{SET ptsort_test.fault = 'copywrite: filled:2:pause'}, $no_leader, $sql);
	ok(wait_for_point($node, 'copywrite: filled'), "crash in the middle, $kind: some slices are written");
	$node->stop('immediate');
	$psql->{run}->finish;
	$pause->quit;
	$node->start;
	is_copied($node, 'crashed', $rows, "crash in the middle, $kind");
}

# A replica
$node->backup('base');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($node, 'base', has_streaming => 1);
$replica->start;
$node->safe_psql('postgres', of($fill, 'freed') . q{UPDATE crashed SET word = md5(word) WHERE id % 2 = 0; DELETE FROM freed WHERE id % 3 = 0});
%rows = map { $_ => rows_after($_ eq 'freed' ? 'vacuum' : 'cluster', $_) } ('crashed', 'decoded', 'freed');
$node->safe_psql('postgres', 'CLUSTER crashed; CLUSTER decoded; VACUUM FULL freed');
$node->wait_for_catchup($replica);
foreach my $table (sort keys %rows)
{
	is_copied($replica, $table, $rows{$table}, "replica: $table");
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
foreach my $kind (sort keys %copy)
{
	my $rows = rows_after($kind, 'skipped');
	is($node->safe_psql('postgres', of("$copy{$kind}; SELECT wal_bytes < 100000 FROM ptsort_last_copy() WHERE participant IS NULL", 'skipped')),
		't', "no WAL, $kind: little is logged");
	$node->stop('immediate');
	$node->start;
	is_copied($node, 'skipped', $rows, "no WAL, $kind");
}
$node->stop;
done_testing();
