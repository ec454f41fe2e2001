# Free space: builds, copies and sorts end with an error before they leave less
# than ptsort.disk_reserve in a file system, leave nothing behind, and the server
# goes on.  The server's own build fills the file system of pg_wal, and stops the
# server.
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
my $segments = dsm_segments($node);

# Checks that a statement ends with this error, that the reserve was left, and
# that afterwards all is as before.  Returns the error.
sub check_error
{
	my ($name, $dir, $reserve, $message, @sql) = @_;
	my $before = free_bytes($dir);
	my ($out, $err, $least) = watch_space($node, $dir, @sql);
	like(error_of($err), qr/^ERROR:  53100: $message\nDETAIL:  (?:After .* will follow\. )?In the file system of "[^"]+", \d+ kB are free; ptsort.disk_reserve is \d+ kB\.\nHINT:  /m, "$name: the error");
	cmp_ok($least, '>=', $reserve * $mb, "$name: the reserve is left");
	cmp_ok($least, '<', $before, "$name: there was something written")
	  unless $name =~ /^early/;    # too short to watch
	check_nothing_left($node, $name, $segments);
	return $err;
}

my $temporary = 'not enough free space for the temporary files of a sort';
foreach my $workers (0, 2)
{
	check_error("temporary files, $workers workers", $temp, 8, $temporary,
		"SET temp_tablespaces = temp; SET ptsort.parallel_workers = $workers; CREATE INDEX t_word ON t (word)");
	check_error("index, $workers workers", $small, 8, 'not enough free space for relation "t_small"',
		"SET ptsort.parallel_workers = $workers; CREATE INDEX t_small ON t (word) TABLESPACE small");
}
check_error('query', $temp, 8, $temporary, q{SET temp_tablespaces = temp; SET ptsort.sort = on; SET max_parallel_workers_per_gather = 0; SELECT count(*) FROM (SELECT * FROM t ORDER BY word OFFSET 0) s});
check_error('copy', $temp, 8, $temporary, q{SET temp_tablespaces = temp; SET ptsort.parallel_workers = 2; CLUSTER ordered USING ordered_a});
my $log = log_end($node);
$node->safe_psql('postgres', 'SET temp_tablespaces = temp; CREATE INDEX t_a ON t (a); SET ptsort.parallel_workers = 2; CREATE INDEX t_a2 ON t (a)');
is_deeply([ builds_since($node, $log) ], [ 't_a: 1', 't_a2: 3' ], 'what fits is built');
cmp_ok(free_bytes($temp), '>', 46 * $mb, 'and no temporary file is left');

# The first runs show that there will not be enough space.
foreach my $workers (0, 2)
{
	my $error = check_error("early, $workers workers", $tiny, 16, $temporary,
		"SET temp_tablespaces = tiny; SET ptsort.parallel_workers = $workers; CREATE INDEX t_word ON t (word)");
	my ($percent) = $error =~ /ERROR.*\n.*After (\d+) %/;
	cmp_ok($percent // 100, '<', 20, "early, $workers workers: the scan just began");
}

# With several tablespaces, each file system might have enough space for its
# part, so the error comes late.
foreach my $workers (0, 2)
{
	my $error = check_error("several tablespaces, $workers workers", $tiny, 8, $temporary,
		"SET temp_tablespaces = tiny, tiny; SET ptsort.parallel_workers = $workers; CREATE INDEX t_word ON t (word)");
	unlike($error, qr/After/, "several tablespaces, $workers workers: no early word");
}

# The runs prove nothing if all rows may be at the beginning: in a partial index,
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

# Without a reserve, the error is the system's.
($out, $err) = try_sql($node, q{SET ptsort.disk_reserve = 0; CREATE INDEX t_small ON t (word) TABLESPACE small});
like(error_of($err), qr/^ERROR:  53100: could not (write|extend)/, 'no reserve: the file system is full');
check_nothing_left($node, 'no reserve', $segments);

# WAL
$node->safe_psql('postgres', 'CREATE TABLE logged AS SELECT g AS a, md5(g::text) AS word FROM generate_series(1, 300000) g; CHECKPOINT');
my @indexes = map { "SET ptsort.parallel_workers = " . ($_ % 3) . "; CREATE INDEX logged_$_ ON logged (word, a)" } 1 .. 20;
($out, $err, $least) = watch_space($node, $wal, @indexes);
like(error_of($err), qr/^ERROR:  53100: not enough free space for WAL\nDETAIL:  In the file system of "pg_wal", /, 'WAL: the error');
cmp_ok($least, '>=', 8 * $mb, 'WAL: the reserve is left');
cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM pg_indexes WHERE tablename = 'logged'}), '>', 0, 'WAL: what fitted is built');
$node->safe_psql('postgres', q{CREATE TABLE after (a int); INSERT INTO after VALUES (1); CHECKPOINT; SELECT bt_index_parent_check('logged_1', true, true)});
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
$node->stop;
done_testing();
