# contrib/bench: its unit tests, and a tiny benchmark from end to end.  The
# measured values do not matter here; the test checks that the tools measure
# what they report.
#
# Needs no assertions: other tests have the same builds and sorts
use strict;
use warnings;
use File::Spec::Functions qw(catfile);
use FindBin;
use JSON::PP qw(decode_json);
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'python3 is missing'
  if system('python3 -c "" >/dev/null 2>&1') != 0;

my $dir = "$FindBin::RealBin/../contrib/bench";
my $bench = "$dir/bench.py";
$ENV{PYTHONDONTWRITEBYTECODE} = 1;

command_ok(
	[ 'python3', '-m', 'unittest', 'discover', '-s', $dir, '-p', 'test_*.py' ],
	'unit tests');

my $node = new_node('main');
my ($bindir) = run_command([ 'pg_config', '--bindir' ]);
local %ENV = (
	%ENV,
	PGHOST => $node->host,
	PGPORT => $node->port,
	PATH => "$bindir:$ENV{PATH}");

# Runs bench.py, or another program in its directory, with these arguments.
# Returns the program's status and its results.json.
sub bench
{
	return program($bench, @_);
}

sub program
{
	my ($program, @arguments) = @_;
	my $out = PostgreSQL::Test::Utils::tempdir();
	my ($stdout, $stderr);
	my $good = IPC::Run::run(
		[ 'python3', $program, 'run', '--out', $out, @arguments ],
		'<', \undef, '>', \$stdout, '2>', \$stderr);
	diag($stderr) if $stderr;
	my $file = catfile($out, 'results.json');
	return ($good, -f $file ? decode_json(slurp_file($file)) : undef, $out);
}

# Builds of a cached table, in parallel, with runs on disk, and the limit of the
# machine
my ($headers) = run_command([ 'pg_config', '--includedir-server' ]);
my $limit = PostgreSQL::Test::Utils::tempdir() . '/limit';
command_ok([ 'cc', '-O2', "-I$headers", '-o', $limit, "$dir/limit.c" ], 'limit');
my ($good, $results, $out) = bench('--rows', 20000, '--runs', 2, '--memory', '1MB',
	'--shapes', 'int8,text_c,url_en,path_c', '--check', '--limit', $limit);
ok($good, 'warm');
my ($int8, $text, $url, $path) = @{ $results->{shapes} };
is("$int8->{status} $text->{status}", 'ok ok', 'both shapes are measured');
like($url->{status}, qr/^(?:ok|skipped)$/, 'a shape is skipped without its collation');
is($int8->{summary}{amcheck}, 'ok', 'amcheck');
is($int8->{summary}{server_index} <=> 0, 1, 'size of the index');
cmp_ok(abs($int8->{summary}{server_index} - $int8->{summary}{ptsort_index}),
	'<', 100000, 'of both alike');
foreach my $builder (qw(server ptsort))
{
	my @builds = @{ $int8->{$builder} };
	is(scalar(@builds), 2, "$builder: two builds");
	is_deeply(
		[ sort map { $_->{role} } @{ $builds[0]{participants} } ],
		[ 'leader', 'worker' ],
		"$builder: leader and worker");
	cmp_ok($text->{$builder}[0]{temp_bytes}, '>', 500000,
		"$builder: temporary bytes");
	cmp_ok($builds[0]{wal_bytes}, '>', 100000, "$builder: WAL");
}
is($int8->{ptsort}[0]{tuples}, 20000, 'tuples');
foreach my $shape ($int8, $text, $path)
{
	my ($build, $measured) = map { $shape->{$_}[0] } qw(ptsort limit);

	is($measured->{index_bytes}, $build->{index_bytes}, "$shape->{name}: the limit writes as large an index");
	cmp_ok($measured->{wal_bytes}, '>=', $build->{wal_bytes}, "$shape->{name}: ... and as much WAL");
	cmp_ok($measured->{$_}, '>', 0, "$shape->{name}: $_") foreach qw(seconds read_s form_s);
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class
	WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT LIKE 'ptsort\_%'}),
	0, 'tables are dropped');
is($path->{summary}{amcheck}, 'ok', 'real text');
cmp_ok($path->{rows}, '<=', 10000, 'real text: at most half of the rows');

# The report of these results
command_like([ 'python3', $bench, 'report', '--phases', $out ],
	qr/^int8, random +20000 .*^Phases: text 32, "C".*ptsort \/ limit/ms, 'report');
like(slurp_file("$out/chart.svg"), qr/<svg .*int8, random.*<\/svg>/s, 'chart');
like(slurp_file("$out/timeline-text_c.svg"), qr/<svg .*ptsort, worker.*<\/svg>/s,
	'timeline');

# Serial builds of a table that is not cached; --keep keeps the table
($good, $results) = bench('--rows', 20000, '--runs', 1, '--cache', 'cold',
	'--workers', 0, '--shapes', 'int8', '--keep');
ok($good, 'cold');
is($results->{shapes}[0]{status}, 'ok', 'cold: status');
is(scalar(@{ $results->{shapes}[0]{$_}[0]{participants} }),
	1, "serial $_: one participant")
  foreach qw(server ptsort);
like($node->safe_psql('postgres', '\dt'), qr/plain_20000_/, 'the table is kept');

# If the benchmark cannot compare a build, it reports an error, not a number.
($good, $results) = bench('--rows', 20000, '--runs', 1, '--shapes', 'int8',
	'--workers', 9, '--keep');
ok(!$good, 'too few workers: status');
is($results->{shapes}[0]{status}, 'error', 'too few workers: error');
like($results->{shapes}[0]{reason}, qr/participants, not 10/, 'too few workers: reason');

command_fails_like([ 'python3', $bench, 'run', '--shapes', 'none', '--out', $out ],
	qr/unknown shape none; there are: int8 /, 'unknown shape');

# Sort benchmark: all kinds of sorts, in memory and on disk
my $sorts = "$dir/sortbench.py";
($good, $results, $out) = program($sorts, '--scale', 0.005, '--runs', 1,
	'--budgets', '2GB,4MB', '--by', 'cpu', '--limit', '--shapes',
	'int8,text_c,uses,two_int8,log_en');
ok($good, 'sorts');
my %sorted = map { ("$_->{name} $_->{budget}" => $_) } @{ $results->{shapes} };
is_deeply([ grep { $sorted{$_}{status} eq 'error' } sort keys %sorted ],
	[], 'sorts: both have read the same');
foreach my $shape (grep { $_->{status} eq 'ok' } values %sorted)
{
	my $name = "sorts: $shape->{name} $shape->{budget}";

	cmp_ok($shape->{$_}[0]{put_cpu}, '>', 0, "$name: $_")
	  foreach qw(server ptsort);
	cmp_ok($shape->{summary}{ratio}, '>', 0, "$name: ratio");
}
foreach my $engine (qw(server ptsort))
{
	is($sorted{'text_c 2GB'}{$engine}[0]{temp}, 0, "sorts: $engine in memory");
	cmp_ok($sorted{'text_c 4MB'}{$engine}[0]{temp}, '>', 1000000,
		"sorts: $engine on disk");
	cmp_ok($sorted{'text_c 4MB'}{$engine}[0]{memory}, '<', 2000000,
		"sorts: ${engine}'s memory");
	is($sorted{'top_int8 4MB'}{$engine}[0]{tuples}, 100, "sorts: $engine, the first");
	is($sorted{'access_int8 2GB'}{$engine}[0]{tuples},
		30000, "sorts: $engine, read three times");
	is($sorted{'groups_int8 4MB'}{$engine}[0]{tuples}, 50000, "sorts: $engine, groups");
}
is(scalar(@{ $sorted{'two_int8 2GB'}{ptsort}[0]{processes} }), 2,
	'sorts: two processes');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class
	WHERE relkind = 'r' AND relname LIKE 'sort%'}), 0, 'sorts: tables are dropped');
command_like([ 'python3', $sorts, 'report', $out ],
	qr/^int8 +2GB .*^int8, 2 processes +2GB .*^key +budget +limit ms/ms, 'sorts: report');
like(slurp_file("$out/chart-4MB.svg"), qr/<svg .*top 100: int8.*<\/svg>/s,
	'sorts: chart');
command_fails_like([ 'python3', $sorts, 'run', '--shapes', 'none', '--out', $out ],
	qr/unknown none; there are: int8 /, 'sorts: unknown shape');

# Query benchmark: all kinds of queries.  With --min-rows 0, ptsort also does
# small sorts.  There are enough rows that a worker's sort by ICU reads the
# collation's tables.
my $queries = "$dir/querybench.py";
($good, $results, $out) = program($queries, '--rows', 70000, '--reps', 1, '--by', 'cpu',
	'--min-rows', 0, '--limit', '--shapes',
	'order,uses,aggregates,analytics,start,small_int8_100,rescan_token_1000,few_icu_4,few_two_2');
ok($good, 'queries');
my @measured = grep { $_->{status} eq 'ok' } @{ $results->{shapes} };
is_deeply([ map { $_->{reason} } grep { $_->{status} eq 'error' } @{ $results->{shapes} } ],
	[], 'queries: both have the same result, ptsort has sorted');
is(scalar(grep { $_->{name} eq 'agg_count_int8' } @measured), $node->pg_version >= 16 ? 3 : 0,
	'queries: aggregates have a Sort node since PostgreSQL 16');
foreach my $query (@measured)
{
	my $name = "queries: $query->{name} $query->{memory} $query->{workers}";

	cmp_ok($query->{$_}[0]{cpu}, '>', 0, "$name: $_") foreach qw(server ptsort);
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class
	WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND relname NOT LIKE 'ptsort\_%'
	AND relname NOT LIKE 'plain%'}), 0, 'queries: tables are dropped');
command_like([ 'python3', $queries, 'report', $out ],
	qr/^ORDER BY int8 +1GB +1 .*^With workers, .*^ORDER BY int8 +4MB .*^query +work_mem +workers +limit ms/ms, 'queries: report');
command_fails_like([ 'python3', $queries, 'run', '--shapes', 'none', '--out', $out ],
	qr/unknown none; there are: order_url /, 'queries: unknown');

# Scaling benchmark: each number of participants, the phases of the builds, and
# a picture; checkpoints, also on a slow disk
my $scale = "$dir/scale.py";
my $slow_disk = PostgreSQL::Test::Utils::tempdir();
command_ok([ 'cc', '-shared', '-fPIC', '-o', "$slow_disk/slowdisk.so", "$dir/slowdisk.c",
	'-ldl' ], 'scale: slow disk');
append_to_file("$slow_disk/state", "\0" x 16);
$ENV{SLOW_DISK_FILE} = "$slow_disk/state";
my @scale = ('--rows', 20000, '--runs', 1, '--participants', '1,2,4', '--memory', '64MB',
	'--checkpoints');
{
	local $ENV{LD_PRELOAD} = "$slow_disk/slowdisk.so";
	$node->restart;
}
($good, $results, $out) = program($scale, @scale, '--slow-disk', 50);
ok($good, 'scale');
foreach my $n (1, 2, 4)
{
	my $build = $results->{builds}{$n}[0];

	is(scalar(@{ $build->{participants} }), $n, "scale: $n participants");
	is_deeply([ sort keys %{ $build->{parts} } ],
		[ $n > 1 ? 'plan' : (), 'start', 'stitch', 'sync' ],
		"scale: $n participants: parts");
}
is_deeply([ map { "$_->{participants} $_->{mb_s}" } @{ $results->{checkpoints} } ],
	[ '1 0', '2 0', '4 0', '1 50', '2 50', '4 50' ], 'scale: checkpoints');
foreach my $pair (@{ $results->{checkpoints} })
{
	foreach my $builder (qw(server ptsort))
	{
		my @times = map { @{ $_->{times} } } @{ $pair->{$builder} };

		cmp_ok(scalar(grep { $_ > 0 } @times), '>', 0,
			"scale: $builder, $pair->{participants} participants, $pair->{mb_s} MB/s");
	}
}
command_like([ 'python3', $scale, 'report', $out ],
	qr/^ +4 .*^ +4 .*^CHECKPOINT .*^ +4  as it is .*^ +4  50 MB\/s /ms, 'scale: report');
like(slurp_file("$out/scale.svg"), qr/<svg .*participants.*<\/svg>/s, 'scale: picture');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class
	WHERE relkind = 'r' AND relname LIKE 'bench%'}), 0, 'scale: tables are dropped');
$node->restart;
command_fails_like([ 'python3', $scale, 'run', '--out', $out, @scale, '--slow-disk', 50 ],
	qr/the server runs without slowdisk\.c/, 'scale: without a slow disk');
command_fails_like([ 'python3', $scale, 'run', '--out', $out, '--slow-disk', 50 ],
	qr/--slow-disk needs --checkpoints/, 'scale: a slow disk, and no checkpoints');

# File benchmark: all kinds of files, cold and warm, by ptsort and by the other
# installed programs
my $files = "$dir/filebench.py";
($good, $results, $out) = program($files, '--records', '20000,30000', '--kinds', 'ascii,skewed',
	'--most-others', 20000, '--runs', 1, '--memory', '256MB', '--little', '8MB',
	'--seconds-allowed', 2, '--price', 473040, '--most-bytes', 3000000);
ok($good, 'files');
is_deeply([ map { "$_->{records} $_->{kind} $_->{state}" } @{ $results->{files} } ],
	[ map { my $n = $_; map { my $kind = $_; map { "$n $kind $_" } 'warm', 'cold' } 'ascii', 'skewed' } 20000, 30000 ],
	'files: of each size and kind, warm and cold');
foreach my $part (@{ $results->{files} })
{
	my $name = "files: $part->{records} $part->{kind} $part->{state}";
	my @ours = grep { /^ptsort/ } sort keys %{ $part->{runs} };

	is_deeply([ map { $part->{runs}{$_}[0]{sort}{passes_made} } @ours ], [ 1, 1, 2, 2 ], "$name: passes");
	is(scalar(grep { $part->{runs}{$_}[0]{seconds} > 0 } @ours), 4, "$name: ours");
	cmp_ok($part->{runs}{dd}[0]{seconds}, '>', 0, "$name: dd");
	is(exists $part->{runs}{sort} ? 1 : 0, $part->{kind} eq 'ascii' && $part->{records} == 20000 ? 1 : 0,
		"$name: those that read lines");
}
is($results->{minutesort}[-1]{records}, 30000, 'files: MinuteSort');
is($results->{pennysort}{bytes}, 3000000, 'files: PennySort');
command_like([ 'python3', $files, 'report', $out ],
	qr/^ +20000  ascii +warm  ptsort, one pass .*^Datamation .*^PennySort, /ms, 'files: report');
like(slurp_file("$out/timeline.svg"), qr/<svg .*two passes, direct, worker 1.*<\/svg>/s, 'files: timeline');

$node->stop;
done_testing();
