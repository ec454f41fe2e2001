# Free space: builds, copies and sorts end with an error before they leave less
# than ptsort.disk_reserve in a file system, leave nothing behind, and the server
# goes on.  The server's own build fills the file system of pg_wal, and stops the
# server.  Without a reserve, ptsort completes what the server completes, and
# still does not stop the server.  What the forecast says fits, fits.
#
# The file systems are small, and in memory.  The test mounts them in a namespace
# of its own, which all its processes share.
#
# Its log may have: PANIC:  could not write to file|terminated by signal 6
use strict;
use warnings;
use Test::More;

BEGIN    # before the server's modules redirect the output
{
	my @namespace = ('unshare', '--user', '--map-current-user', '--keep-caps', '--mount');
	if (!$ENV{PTSORT_IN_NAMESPACE})
	{
		plan skip_all => 'the system allows no mount in a namespace'
		  if system("@namespace mount -t tmpfs -o size=1m none /mnt >/dev/null 2>&1") != 0;
		$ENV{PTSORT_IN_NAMESPACE} = 1;
		exec @namespace, $^X, (map { "-I$_" } @INC), $0 or die "unshare: $!";
	}
}

use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

my $mb = 1024 * 1024;
my $base = PostgreSQL::Test::Utils::tempdir();

# Mounts an empty file system of this size; returns its directory.
sub small_fs
{
	my ($name, $size) = @_;
	my $dir = "$base/$name";
	mkdir $dir or die "$dir: $!";
	system_or_bail('mount', '-t', 'tmpfs', '-o', "size=${size}m,mode=700", 'none', $dir);
	return $dir;
}

# Returns the free bytes of a directory's file system.
sub free_bytes
{
	my ($dir) = @_;
	my ($blocks, $size) = split / /, qx(stat -f -c '%a %S' $dir);
	return $blocks * $size;
}

# Changes the size of a file system so that this many MB are free.
sub leave_free
{
	my ($dir, $free) = @_;
	my ($blocks, $size) = split / /, qx(stat -f -c '%b %S' $dir);
	my $bytes = $blocks * $size - free_bytes($dir) + $free * $mb;
	system_or_bail('mount', '-o', "remount,size=$bytes", $dir);
}

# Runs SQL; returns its output, its error, and the fewest free bytes meanwhile.
sub watch_space
{
	my ($node, $dir, @sql) = @_;
	my $psql = start_psql($node, @sql);
	my $least = free_bytes($dir);
	while ($psql->{run}->pumpable)
	{
		$psql->{run}->pump_nb;
		my $now = free_bytes($dir);
		$least = $now if $now < $least;
	}
	$psql->{run}->finish;
	return ($psql->{out}, $psql->{err}, $least);
}

my $wal = small_fs('wal', 128);
my $temp = small_fs('temp', 48);
my $tiny = small_fs('tiny', 24);
my $small = small_fs('small', 32);
my $node = new_node('main',
	init => { extra => [ '--waldir', "$wal/pg_wal", '--wal-segsize', '1' ] },
	conf => "max_wal_size = '2MB'\nmin_wal_size = '2MB'\nmaintenance_work_mem = '3MB'\nwork_mem = '1MB'\n"
	  . "wal_keep_size = '1GB'\nwal_level = replica\nptsort.disk_reserve = '8MB'\n");
$node->safe_psql('postgres', "CREATE TABLESPACE temp LOCATION '$temp'");
$node->safe_psql('postgres', "CREATE TABLESPACE tiny LOCATION '$tiny'");
$node->safe_psql('postgres', "CREATE TABLESPACE small LOCATION '$small'");
$node->safe_psql('postgres', q{
CREATE UNLOGGED TABLE t AS SELECT g AS a, md5(g::text) || repeat('x', 60) AS word FROM generate_series(1, 600000) g;
CREATE UNLOGGED TABLE ordered (a int, word text);
CREATE INDEX ordered_a ON ordered (a);
INSERT INTO ordered SELECT hashint4(a), word FROM t;
});
# Statistics that are too low: there are workers although their files will not fit.
$node->safe_psql('postgres', q{ANALYZE t; UPDATE pg_statistic SET stawidth = 4 WHERE starelid = 't'::regclass});
my $segments = dsm_segments($node);

# Checks that a statement ends with this error, that the reserve was left, and
# that afterwards all is as before.  Returns the error.
sub check_error
{
	my ($name, $dir, $reserve, $message, @sql) = @_;
	my $before = free_bytes($dir);
	my ($out, $err, $least) = watch_space($node, $dir, @sql);
	like(error_of($err), qr/^ERROR:  53100: $message\nDETAIL:  In the file system of "[^"]+", \d+ kB are free, but \d+ kB are needed: \d+ kB to write, 9216 kB for ptsort.disk_reserve and its margin, 0 kB for new WAL files\.\nHINT:  /m, "$name: the error");
	my ($free, $needed, $bytes) = $err =~ /, (\d+) kB are free, but (\d+) kB are needed: (\d+) kB to write/;
	ok($needed == $bytes + 9216 && $free < $needed, "$name: it states the sum");
	cmp_ok($least, '>=', $reserve * $mb, "$name: the reserve is left");
	cmp_ok($free * 1024, '<', $before, "$name: there was something written");
	check_nothing_left($node, $name, $segments);
	return $err;
}

my $temporary = 'not enough free space for the temporary files of a sort';
foreach my $workers (0, 2)
{
	my $log = log_end($node);
	check_error("temporary files, $workers workers", $temp, 8, $temporary,
		"SET temp_tablespaces = temp; SET ptsort.parallel_workers = $workers; CREATE INDEX t_word ON t (word)");
	check_error("index, $workers workers", $small, 8, 'not enough free space for relation "t_small"',
		"SET ptsort.parallel_workers = $workers; CREATE INDEX t_small ON t (word) TABLESPACE small");
	is_deeply([ builds_since($node, $log) ], [ 't_word: unended', 't_small: unended' ], "$workers workers: these were builds of ptsort");
	is(() = slurp_file($node->logfile, $log) =~ /: @{[$workers + 1]} participants?,/g, 2, "with $workers workers");
}
check_error('query', $temp, 8, $temporary, q{SET temp_tablespaces = temp; SET ptsort.sort = on; SET max_parallel_workers_per_gather = 0; SELECT count(*) FROM (SELECT * FROM t ORDER BY word OFFSET 0) s});
my $log = log_end($node);
$node->safe_psql('postgres', 'SET temp_tablespaces = temp; CREATE INDEX t_a ON t (a); SET ptsort.parallel_workers = 2; CREATE INDEX t_a2 ON t (a)');
is_deeply([ builds_since($node, $log) ], [ 't_a: 1', 't_a2: 3' ], 'what fits is built');
cmp_ok(free_bytes($temp), '>', 46 * $mb, 'and no temporary file is left');

# The first runs show that there will not be enough space: ptsort warns.
foreach my $workers (0, 2)
{
	my $error = check_error("warned, $workers workers", $tiny, 8, $temporary,
		"SET temp_tablespaces = tiny; SET ptsort.parallel_workers = $workers; CREATE INDEX t_word ON t (word)");
	my ($percent) = $error =~ /WARNING.*\n.*After (\d+) %/;
	cmp_ok($percent // 100, '<', 20, "warned, $workers workers: the scan just began");
}

# With several tablespaces, each file system might have enough space for its
# part, so there is no warning.
foreach my $workers (0, 2)
{
	my $error = check_error("several tablespaces, $workers workers", $tiny, 8, $temporary,
		"SET temp_tablespaces = tiny, tiny; SET ptsort.parallel_workers = $workers; CREATE INDEX t_word ON t (word)");
	unlike($error, qr/After/, "several tablespaces, $workers workers: no early word");
}

# The warning may be wrong: all rows may be at the beginning, in a partial index,
# and if many rows were deleted.
$node->safe_psql('postgres', q{CREATE UNLOGGED TABLE gone AS SELECT * FROM t; DELETE FROM gone WHERE a >= 100000; SELECT pg_stat_force_next_flush()});
my ($out, $err, $least);
foreach my $index ('t_part ON t (word) WHERE a < 100000', 'gone_word ON gone (word)')
{
	($out, $err, $least) = watch_space($node, $tiny,
		"SET temp_tablespaces = tiny; SET ptsort.parallel_workers = 0; SET synchronize_seqscans = off; CREATE INDEX $index");
	unlike($err, qr{ERROR:}, "$index fits");
	like($err, qr/WARNING:  01000: there may be too little free space for the temporary files of a sort\n.*DETAIL:  After \d+ % of the table they have \d+ kB, so about \d+ kB will follow\./, "$index: a warning");
	is(() = $err =~ /WARNING/g, 1, "$index: one warning");
}
$node->safe_psql('postgres', 'DROP INDEX t_part; DROP TABLE gone');

# If ptsort never looks, the error is the system's.
($out, $err) = try_sql($node, q{SET ptsort.disk_reserve = 0; CREATE INDEX t_small ON t (word) TABLESPACE small});
like(error_of($err), qr/^ERROR:  53100: could not (write|extend)/, 'no look: the file system is full');
check_nothing_left($node, 'no look', $segments);

# By default, what fits in memory needs no files, so there are no workers if their
# files do not fit.  If the server needs no files for a copy, it copies the table.
$node->safe_psql('postgres', 'CREATE INDEX ordered_2 ON ordered (a, word); CREATE INDEX ordered_3 ON ordered (word); ANALYZE ordered');
my $default = q{RESET ptsort.disk_reserve; SET temp_tablespaces = tiny; SET maintenance_work_mem = '256MB'; SET ptsort.parallel_workers = 2; SET client_min_messages = error};
$node->safe_psql('postgres', 'ALTER SYSTEM RESET ptsort.disk_reserve');
$node->append_conf('postgresql.conf', 'ptsort.disk_reserve = -1');
$node->reload;
leave_free($tiny, 8);
$log = log_end($node);
$node->safe_psql('postgres', "$default; CREATE INDEX t_word ON t (word); DROP INDEX t_word; CREATE INDEX t_word ON t (word) WITH (parallel_workers = 2); DROP INDEX t_word; SET enable_indexscan = off; CLUSTER ordered USING ordered_a; RESET enable_indexscan; SET enable_sort = off; SET enable_seqscan = off; CLUSTER ordered USING ordered_a");
my $text = slurp_file($node->logfile, $log);
is(() = $text =~ /building index "t_word": 1 participant, (?:ptsort\.|WITH \().*, serial because of free space for temporary files,/g, 2, 'no workers whose files do not fit');
like($text, qr/copying table "ordered" in the order of index "ordered_a": 1 participant, .* serial because of free space for temporary files,/, 'nor in a copy');
like($text, qr/leaving copy of table "ordered" to the server: too little free space for temporary files/, 'the server copies the table in the order of the index');
foreach my $free (100, 400)    # MB: for two of three indexes, and for all
{
	leave_free($tiny, $free);
	$log = log_end($node);
	$node->safe_psql('postgres', "$default; SET min_parallel_table_scan_size = 0; REINDEX TABLE ordered");
	$text = slurp_file($node->logfile, $log);
	is(() = $text =~ /building index "ordered_.": 3 participants,/g, 3, "$free MB: three parallel builds");
	is(() = $text =~ /from the scan for/g, $free == 400 ? 2 : 1, "$free MB: one scan for those whose files fit together");
}

# What the forecast says fits, the build does, with and without a reserve.
my %verdicts;
foreach my $reserve (-1, 6000)
{
	foreach my $free (10, 20, 24, 28, 32, 36)
	{
		leave_free($tiny, $free);
		my $set = "SET ptsort.disk_reserve = $reserve; SET temp_tablespaces = tiny; SET maintenance_work_mem = '3MB'; SET ptsort.parallel_workers = 2";
		my $statement = 'CREATE INDEX t_fits ON t (a) TABLESPACE tiny';
		my $verdict = $node->safe_psql('postgres', "$set; SELECT verdict FROM ptsort_forecast('$statement')");
		($out, $err) = try_sql($node, "$set; $statement; DROP INDEX t_fits");
		$verdicts{$verdict eq 'fits' ? 'fits' : 'does not fit'}++;
		is($err, '', "reserve $reserve, $free MB free: it fits") if $verdict eq 'fits';
	}
}
is(join(', ', sort keys %verdicts), 'does not fit, fits', 'both verdicts occurred');
leave_free($tiny, 40);

# WAL
$node->safe_psql('postgres', 'CREATE TABLE logged AS SELECT g AS a, md5(g::text) AS word FROM generate_series(1, 300000) g; CHECKPOINT');
my @indexes = map { "SET ptsort.parallel_workers = " . ($_ % 3) . "; CREATE INDEX logged_$_ ON logged (word, a)" } 1 .. 20;
unshift @indexes, q{SET ptsort.disk_reserve = '8MB'}, '\set ON_ERROR_STOP 1';
($out, $err, $least) = watch_space($node, $wal, @indexes);
like(error_of($err), qr/^ERROR:  53100: not enough free space for WAL\nDETAIL:  In the file system of "pg_wal", \d+ kB are free, but \d+ kB are needed: 0 kB to write, 9216 kB for ptsort.disk_reserve and its margin, [1-9]\d+ kB for new WAL files\./, 'WAL: the error');
cmp_ok($least, '>=', 8 * $mb, 'WAL: the reserve is left');
cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM pg_indexes WHERE tablename = 'logged'}), '>', 0, 'WAL: what fitted is built');
$node->safe_psql('postgres', q{CREATE TABLE after (a int); INSERT INTO after VALUES (1); CHECKPOINT});
check_nothing_left($node, 'WAL', $segments);

# What the reserve is for: the server's own build stops the server.
($out, $err) = try_sql($node, join '', 'SET ptsort.enable = off;', map { "CREATE INDEX server_$_ ON logged (word, a);" } 1 .. 3);
like($err, qr/server closed the connection|terminating connection/, "the server's build stops the server");
like(slurp_file($node->logfile), qr/PANIC:  could not write to file "pg_wal/, 'because pg_wal is full');
system_or_bail('mount', '-o', 'remount,size=256m', $wal);
$node->stop('immediate', fail_ok => 1);
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM after'), 1, 'with more space, it recovers');
$node->safe_psql('postgres', q{SELECT bt_index_parent_check('logged_1', true, true)});

# Builds an index where pg_wal has so many MB free; returns the error and the log.
sub build_wal
{
	my ($free, $set) = @_;
	leave_free($wal, $free);
	my $log = log_end($node);
	my ($out, $err) = try_sql($node, "$set; CREATE INDEX logged_x ON logged (word, a)");
	leave_free($wal, 200);
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS logged_x');
	return ($err, slurp_file($node->logfile, $log));
}

# Sets the size of pg_wal, at which a checkpoint begins, and uses up all files that
# the server prepared.
sub set_wal
{
	my ($min, $max) = @_;
	$node->append_conf('postgresql.conf', "wal_keep_size = 0\nmin_wal_size = '$min'\nmax_wal_size = '$max'");
	$node->reload;
	$node->safe_psql('postgres', q{DO $$BEGIN
FOR i IN 1 .. (SELECT count(*) FROM pg_ls_waldir() WHERE name > pg_walfile_name(pg_current_wal_insert_lsn())) LOOP
	PERFORM pg_logical_emit_message(false, '', ''), pg_switch_wal();
END LOOP; END$$});
}

# Where recycled files suffice, WAL needs no free space, not even with a reserve.
set_wal('64MB', '64MB');
$node->safe_psql('postgres', 'CHECKPOINT');
($err, $log) = build_wal(2, q{SET ptsort.disk_reserve = '8MB'});
is($err, '', 'recycled files suffice');
unlike($log, qr/checkpoint starting/, 'without a checkpoint');

# If a checkpoint can make space, ptsort waits for one.
foreach my $workers (0, 2)
{
	set_wal('2MB', '1GB');
	($err, $log) = build_wal(4, "SET ptsort.parallel_workers = $workers");
	is($err, '', "a checkpoint makes space, $workers workers");
	my $checkpoints = () = $log =~ /checkpoint starting: (?:immediate|fast).* wait wal/g;
	cmp_ok($checkpoints, '>', 0, 'ptsort waited for it');
	cmp_ok($checkpoints, '<', 8, 'not again and again');
}

# A slot keeps all files.
set_wal('2MB', '1GB');
$node->safe_psql('postgres', q{SELECT pg_create_physical_replication_slot('slot', true)});
($err, $log) = build_wal(4, 'SET ptsort.parallel_workers = 2');
like(error_of($err), qr/^ERROR:  53100: not enough free space for WAL\nDETAIL:  .* 0 kB for ptsort.disk_reserve/, 'a slot keeps WAL: the error');
cmp_ok((() = $log =~ /checkpoint starting/g), '<=', 9, 'three checkpoints at most for each participant');
$node->safe_psql('postgres', q{CREATE TABLE after2 (a int); INSERT INTO after2 VALUES (1); CHECKPOINT});
is(() = slurp_file($node->logfile) =~ /PANIC/g, 1, 'ptsort never stopped the server');
$node->stop;
done_testing();
