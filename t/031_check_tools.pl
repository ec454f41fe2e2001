# The scripts of make check and similar targets must fail when they should.
# The scripts find forbidden messages in servers' logs.  A test may declare
# messages that only its own log may have.  A difference in the output of the
# server's own suites is a failure, unless a file lists the difference.
#
# Needs no assertions: it tests scripts
use strict;
use warnings;
use File::Basename;
use File::Temp qw(tempdir);
use Test::More;

my $top = dirname(dirname(__FILE__));
my $dir = tempdir(CLEANUP => 1);

sub write_file
{
	my ($name, $text) = @_;
	open(my $fh, '>', "$dir/$name") or die "could not write $name: $!";
	print $fh $text;
	close $fh;
	return "$dir/$name";
}

# Runs a piece of shell with the functions of tally.sh; returns the shell's
# status and output.
sub shell
{
	my ($script) = @_;
	my $path = write_file('script.sh', "set -u\n. contrib/dev/tally.sh\n$script\n");
	my $out = qx(cd '$top' && bash '$path' 2>&1);
	return ($?, $out);
}

# Runs a piece of shell with the functions of packages.sh, on a machine that
# lacks the packages "one" and "two" until the shell installs them.  The
# machine's apt-get records its arguments.
sub installer
{
	my ($script, %opt) = @_;
	my $user = $opt{user} // 0;
	my $env = $opt{env} // '';
	my $installs = $opt{fails} ? ':' : "touch '$dir/there'";
	my $changes = $opt{changes} // '';
	my $path = write_file('installer.sh', <<"EOF");
set -u
. contrib/dev/packages.sh
rm -f '$dir/apt' '$dir/there'
id() { echo $user; }
apt-get()
{
	case "\$*" in
		"-s install"*) echo "Inst base (1.0 here)"; echo "Inst one (2.0 here)"
			printf '%s' '$changes' ;;
		*) echo "called: \$*" >>'$dir/apt' ;;
	esac
}
apt_install()
{
	echo "apt_install \$*"
	$installs
}
lister() { [ -f '$dir/there' ] || printf 'two\none\n'; }
$script
EOF
	my $out = qx(cd '$top' && $env bash '$path' 2>&1);
	return ($? >> 8, $out, -e "$dir/apt" ? slurp("$dir/apt") : '');
}

# Lines that no log may have, in the server's words
my @defects = (
	'TRAP: FailedAssertion("n > 0", File: "btload.c", Line: 12, PID: 7)',
	'2026-11-21 22:00:00 UTC [7] PANIC:  could not write to file "pg_wal/xlogtemp.7"',
	'2026-11-21 22:00:00 UTC [7] LOG:  server process (PID 9) was terminated by signal 11: Segmentation fault',
	'2026-11-21 22:00:00 UTC [7] LOG:  server process (PID 9) exited with exit code 2',
	'2026-11-21 22:00:00 UTC [7] WARNING:  problem in alloc set ptsort: detected write past chunk end in block 0x5, chunk 0x6',
	'2026-11-21 22:00:00 UTC [7] WARNING:  problem in alloc set ptsort: bogus aset link in block 0x5, chunk 0x6',
	'2026-11-21 22:00:00 UTC [7] WARNING:  relcache reference leak: relation "t" not closed',
	'2026-11-21 22:00:00 UTC [7] WARNING:  buffer refcount leak: [003] (rel=base/5/6, blockNum=1, flags=0x9, refcount=1 1)',
	'2026-11-21 22:00:00 UTC [7] WARNING:  resource was not closed: relation "t"',
	'2026-11-21 22:00:00 UTC [7] WARNING:  snapshot 0x55 still active',
	'2026-11-21 22:00:00 UTC [7] ERROR:  buffer 7 is not owned by resource owner Portal',
	'==9==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x6',
	'keypack.c:224:28: runtime error: shift exponent 79 is too large for 64-bit type');
my @harmless = (
	'2026-11-21 22:00:00 UTC [7] LOG:  ptsort: built index "leak": 3 participants, 5 tuples',
	'2026-11-21 22:00:00 UTC [7] FATAL:  terminating connection due to administrator command',
	'2026-11-21 22:00:00 UTC [7] LOG:  background worker "logical replication launcher" (PID 9) exited with exit code 1',
	'2026-11-21 22:00:00 UTC [7] ERROR:  canceling statement due to user request');
my $calm = join("\n", @harmless) . "\n";

foreach my $defect (@defects)
{
	my $log = write_file('one.log', "$calm$defect\n$calm");
	my ($status, $out) = shell("log_findings '' '$log'");
	is($out =~ s/^\S+?:\d+://r, "$defect\n", substr($defect, 0, 60));
	isnt($status, 0, 'it is a failure');
}
my $log = write_file('calm.log', $calm);
is_deeply([ shell("log_findings '' '$log'") ], [ 0, '' ], 'nothing to find');
is((shell("check_logs words '' '$dir/missing.log'; finish"))[0] >> 8, 1, 'no log is no clean log');

# Lines that a test allows
my $test = write_file('test.pl',
	"# A test.\n#\n# Its log may have: PID [0-9]+\\) was terminated by signal 9\n# Its log may have: PANIC:  as wished\n");
my $killed = 'LOG:  server process (PID 9) was terminated by signal';
$log = write_file('killed.log', "$killed 9: Killed\n$killed 6: Aborted\nPANIC:  as wished\n");
is((shell("log_findings \"\$(may_log '$test')\" '$log'"))[1] =~ s/^\S+?:\d+://r,
	"$killed 6: Aborted\n", 'only what the test allows is allowed');

# Totals
$log = write_file('pg15.log', "test a    ... ok    1 ms\n     b    ... FAILED  2 ms\ntest c  ... ok 3 ms\n");
is((shell("count '$log' 1; echo \$passed \$failed"))[1], "2 1\n", 'pg_regress before 16');
$log = write_file('pg16.log', "ok 1         - a      12 ms\nnot ok 2     + b      3 ms\n# diff\n");
is((shell("count '$log' 1; echo \$passed \$failed"))[1], "1 1\n", 'pg_regress since 16');
$log = write_file('died.log', "ok 1 - a\n");
is((shell("count '$log' 255; echo \$passed \$failed"))[1], "1 1\n", 'a program that died');
is((shell("count_child x sh -c 'echo 3 passed, 1 failed'; echo \$passed \$failed"))[1],
	"3 passed, 1 failed\n3 1\n", 'a script within a script');
is((shell("count_child x sh -c 'echo 3 passed, 0 failed; echo == kept: x; exit 1'; echo \$passed \$failed"))[1],
	"3 passed, 0 failed\n== kept: x\n3 1\n", 'a script that fails without a number');
is((shell("count_child x sh -c 'echo 3 passed'; echo \$passed \$failed"))[1],
	"3 passed\nx did not finish\n0 1\n", 'a script that does not finish');

# Tests that run at the same time: the functions of check.sh, with replacements
# for the functions that run tests
my ($functions_of_lanes) = slurp("$top/contrib/dev/check.sh") =~ /^(# run_lane TEST.*?)^# show_processes/ms;
mkdir "$dir/$_" foreach qw(tap tap/t);
write_file("tap/t/$_.pl", "# A test.\n") foreach qw(a b);
write_file('tap/t/c.pl', "# A test.\n#\n# Runs alone: it would disturb others\n");

# SQL_TESTS chooses SQL tests by name, in all directories that have them: the
# functions of check.sh, with a replacement for make
my ($functions_of_regress) = slurp("$top/contrib/dev/check.sh") =~ /^(# sql_tests DIR.*?)^# run_all_regress/ms;
mkdir "$dir/$_" foreach qw(with with/sql without without/sql);
write_file("$_.sql", '') foreach qw(with/sql/setup with/sql/a with/sql/b without/sql/b);

# Returns the arguments with which run_regress calls make in a directory.
sub chosen
{
	my ($tests, $directory) = @_;
	my ($status, $out) = shell(<<"EOF");
$functions_of_regress
work='$dir'
private_config=config
say() { :; }
as_user() { echo "\$*" >'$dir/called'; echo 'test x ... ok 1 ms'; }
rm -f '$dir/called'
SQL_TESTS='$tests'
run_regress '$dir/$directory' >/dev/null
cat '$dir/called' 2>/dev/null
EOF
	return $out;
}
my $make = "make -C $dir/%s --no-print-directory PG_CONFIG=config %sinstallcheck\n";
is(chosen('', 'with'), sprintf($make, 'with', ''), 'all SQL tests');
is(chosen('b none a', 'with'), sprintf($make, 'with', 'REGRESS=setup b a '), 'SQL tests by name, after setup');
is(chosen('b none', 'without'), sprintf($make, 'without', 'REGRESS=b '), 'without setup');
is(chosen('a', 'without'), '', 'a directory without these tests');
is(chosen('without/b with/b', 'with'), sprintf($make, 'with', 'REGRESS=setup b '), 'SQL tests of one directory');
is(chosen('with/b', 'without'), '', '... are not those of another');

# Runs the lanes of check.sh (its parallel processes).  Returns their output,
# and the order in which TAP files began and ended.
sub lanes
{
	my ($jobs, $run_tap) = @_;
	qx(rm -rf '$dir/lanes' '$dir/order' '$dir'/begun.*);
	my ($status, $out) = shell(<<"EOF");
$functions_of_lanes
work='$dir'
child=
watcher=
lanes=()
cd '$dir/tap'
run_tap()
{
	echo "begin \$1" >>"\$work/order"
	touch "\$work/begun.\${1#t/}"
	$run_tap
	echo "end \$1" >>"\$work/order"
	echo "said by \$1"
	passed=\$((passed + 2))
}
run_all_regress()
{
	run_tap pg_regress
}
JOBS=$jobs run_tests t/c.pl t/a.pl t/none.pl t/b.pl pg_regress
echo \$passed \$failed
EOF
	return ($out, split /\n/, slurp("$dir/order"));
}
my @together = lanes(2, <<'EOF');
	for _ in $(seq 600); do
		[ "$1" = t/a.pl ] && [ ! -e "$work/begun.b.pl" ] || break
		sleep 0.1
	done
EOF
my $said = join "\n", sort split /\n/, shift @together;
is($said, "8 0\nsaid by pg_regress\nsaid by t/a.pl\nsaid by t/b.pl\nsaid by t/c.pl",
	'two tests at a time: all run');
is(join(' ', sort @together[ 0, 1 ]), 'begin t/a.pl begin t/b.pl', '... side by side');
is(join(' ', @together[ 6, 7 ]), 'begin t/c.pl end t/c.pl', '... except the test that runs alone');
is( (lanes(1, ':'))[0],
	"said by t/a.pl\nsaid by t/b.pl\nsaid by pg_regress\nsaid by t/c.pl\n8 0\n",
	'one at a time');
is((lanes(2, '[ "$1" != t/b.pl ] || failed=$((failed + 1))'))[0] =~ s/^said .*\n//mgr,
	"8 1\n", 'a failure counts');
is( (lanes(1, '[ "$1" != t/a.pl ] || exit 3'))[0] =~ s/ {2,}/ /gr,
	join('', map { "$_ did not finish FAILED\n" } qw(t/a.pl t/b.pl pg_regress))
	  . "said by t/c.pl\n2 3\n",
	'so do tests that do not come to their ends');

# ensure_packages names packages before it installs them.  If NO_INSTALL is set,
# or if the user may not install packages, it installs nothing.
my $update = "called: -o DPkg::Lock::Timeout=600 update -q\n";
is_deeply(
	[ installer('ensure_packages lister') ],
	[
		0,
		"== missing: one two\n== installing one two (NO_INSTALL=1 prevents it)\n"
		  . "== with dependencies: base\napt_install one two\n",
		$update
	],
	'missing packages are named, then installed');
is_deeply(
	[ installer('ensure_packages lister', fails => 1) ],
	[
		1,
		"== missing: one two\n== installing one two (NO_INSTALL=1 prevents it)\n"
		  . "== with dependencies: base\napt_install one two\n"
		  . "still missing after the installation: one two\n",
		$update
	],
	'they are still missing');

# ensure_packages names separately the installed packages that apt upgrades or
# removes.  With UPGRADE=0, these packages stay.
my $changes = "Inst perl [5.36.0-7+deb12u2] (5.36.0-7+deb12u4 Security:12 [amd64]) [perl:amd64 ]\n"
  . "Remv old [1:2.0-3] [here ]\nConf perl (5.36.0-7+deb12u4 Security:12 [amd64])\n";
my @changed = ('old (1:2.0-3, removed)', 'perl (5.36.0-7+deb12u2 to 5.36.0-7+deb12u4)');
foreach my $env ('', 'UPGRADE=1')
{
	is_deeply(
		[ installer('ensure_packages lister', changes => $changes, env => $env) ],
		[
			0,
			"== missing: one two\n== installing one two (NO_INSTALL=1 prevents it)\n"
			  . "== with dependencies: base\n"
			  . join('', map { "== changing $_\n" } @changed)
			  . "apt_install one two\n",
			$update
		],
		"packages that are upgraded or removed are named, $env");
}
is_deeply(
	[ installer('ensure_packages lister', changes => $changes, env => 'UPGRADE=0') ],
	[
		1,
		"== missing: one two\n== installing one two would change installed packages:\n"
		  . join('', map { "==   $_\n" } @changed)
		  . "not installing packages: UPGRADE=1 allows the changes\n",
		$update
	],
	'UPGRADE=0: nothing is upgraded, and nothing installed');
is((installer('ensure_packages lister', env => 'UPGRADE=0'))[0],
	0, 'UPGRADE=0: what changes nothing is installed');
like(slurp("$top/contrib/dev/$_"), qr/^export UPGRADE="\$\{UPGRADE:-0\}"$/m, "$_ upgrades only if told")
  foreach qw(check-package.sh check-rpm.sh);
my $advice = "missing: one two\ninstall with: sudo apt-get install one two\n";
my $refusal = "not installing packages: NO_INSTALL is set\n";
is_deeply([ installer('ensure_packages lister', env => 'NO_INSTALL=1') ],
	[ 1, "$refusal$advice", '' ], 'NO_INSTALL=1: nothing is installed');
is_deeply([ installer('ensure_packages true', env => 'NO_INSTALL=1') ],
	[ 0, '', '' ], 'NO_INSTALL=1: nothing is missing');
is((installer('ensure_packages lister', env => 'NO_INSTALL=0'))[0],
	0, 'NO_INSTALL=0 is the same as unset');
is_deeply([ installer('ensure_packages lister', user => 1000) ],
	[ 1, $advice, '' ], 'without the right to install');

# PGXS also has a variable NO_INSTALL, which stops "make install" from
# installing.
foreach my $value ('1', '0')
{
	my $path = write_file('no_install.sh',
		"set -u\n. contrib/dev/common.sh\nas_user sh -c 'echo \${NO_INSTALL-unset}'\n");
	is(qx(cd '$top' && NO_INSTALL=$value bash '$path' 2>&1),
		"unset\n", "NO_INSTALL=$value: what scripts build and install does not see it");
}

# If pg_config does not return a server's directory, copy_into_root() must not
# copy the whole file system.
foreach my $path ('', '/', '$work/root/usr')
{
	my $script = write_file('copy.sh',
		"set -u\n. contrib/dev/common.sh\nwork='$dir/copy'\n" .
		"copy_into_root \"$path\"\necho \$?\n");
	like(qx(cd '$top' && bash '$script' 2>&1), qr/^cannot copy ".*" into .*\n1\n\z/,
		"a directory that is never copied: \"$path\"");
	ok(!-e "$dir/copy", '... and is not');
}

# A whole check on a machine without gcc
mkdir "$dir/bin";
symlink($_, "$dir/bin/" . basename($_)) foreach glob('/usr/bin/* /bin/* /sbin/*');
unlink "$dir/bin/gcc";
my $out = qx(cd '$top' && PATH='$dir/bin' NO_INSTALL=1 contrib/dev/check.sh 2>&1);
is($? >> 8, 1, 'make check with NO_INSTALL=1 on a machine without gcc: fails');
is( $out,
	$refusal . $advice =~ s/one two/gcc/gr . "packages are missing\n0 passed, 1 failed\n",
	'make check with NO_INSTALL=1 on a machine without gcc: says so');

# Only packages.sh installs packages on this machine; root.sh installs
# packages inside a root directory, and foreign.sh only downloads packages.
my @installers =
  grep { slurp($_) =~ s/\\\n/ /gr =~ /^(?!\s*(?:#|echo|step "packages" inside)|.*--download-only).*\bapt(?:-get)?\b.*\binstall\b/m }
  glob("$top/contrib/*/*.sh $top/.ci/*");
is_deeply([ map { basename($_) } @installers ], ['packages.sh'],
	'one place that installs');

# Differences from the server's suites: the functions of core-suites.sh
my ($functions) = slurp("$top/contrib/dev/core-suites.sh") =~ /^(without_workers\(\).*?)^# judge_suite/ms;
mkdir "$dir/$_" foreach qw(regress diffs diffs/regress listed listed/regress);

sub slurp
{
	my ($path) = @_;
	open(my $fh, '<', $path) or die "could not open $path: $!";
	local $/;
	return scalar <$fh>;
}

# Returns the verdict of core-suites.sh on pg_regress's diff of one test.
sub judged
{
	my ($diff) = @_;
	unlink "$dir/diffs/regress/a.diff";
	write_file('regress/regression.diffs',
		"diff -U3 /x/expected/a.out /y/results/a.out\n--- /x/expected/a.out\t2026\n+++ /y/results/a.out\t2026\n$diff");
	my ($status) = shell("keep_report() { :; }\nwork='$dir'\nlisted='$dir/listed'\nsay() { :; }\n$functions\nsplit_diffs regress\njudge_difference regress a");
	return $status == 0 ? 'as listed' : 'differs';
}
my $worker = "\@\@ -1,2 +1,3 \@\@\n ERROR:  could not create\n+CONTEXT:  parallel worker\n next\n";
my $known = "\@\@ -7,2 +8,3 \@\@\n before\n-old\n+new\n after\n";
my $other = "\@\@ -20,2 +22,3 \@\@\n before\n+more\n after\n";
is(judged($worker), 'as listed', 'an error of a worker');
is(judged($known), 'differs', 'a difference that is not listed');
write_file('listed/regress/a.diff', "# because\n$known" =~ s/^\@\@ .*/\@\@/mr);
is(judged($known), 'as listed', 'a difference that is listed');
is(judged("$worker$known"), 'as listed', 'both differences');
is(judged("$known$other"), 'differs', 'a further difference in the same test');
is(judged($other), 'differs', 'another difference');
is(judged($worker), 'as listed', 'the listed difference is gone');

# Returns the verdict of core-suites.sh on the whole output of one test, for
# runs in which ptsort sorts for queries.
sub order_judged
{
	my ($output) = @_;
	write_file('regress/results/a.out', $output);
	my ($status) = shell("keep_report() { :; }\nwork='$dir'\ntop='$top'\nlisted='$dir/listed'\n$functions\njudge_order regress a");
	return $status == 0 ? 'as listed' : 'differs';
}
mkdir "$dir/$_" foreach qw(regress/expected regress/results listed/sorts);
write_file('regress/expected/a.out', "SELECT 1;\nERROR:  one\n");
my $in_worker = "SELECT 1;\nERROR:  one\nCONTEXT:  parallel worker\n";
is(order_judged($in_worker), 'as listed', 'an error of a worker, ptsort sorts');
is(order_judged("${in_worker}ERROR:  two\n"), 'differs', 'an error that is not listed');
write_file('listed/sorts/a.diff', "# because\n+ERROR:  two\n+CONTEXT:  f\n");
is(order_judged("${in_worker}ERROR:  two\nCONTEXT:  f\nparallel worker\n"), 'as listed', 'a listed error of a worker');

# Returns the output of rows-differ.py.
sub differs
{
	my ($old, $new) = @_;
	my ($expected, $result) =
	  map { write_file($_->[0], $_->[1]) }[ 'old.out', $old ], [ 'new.out', $new ];
	return scalar qx('$top/contrib/dev/rows-differ.py' '$expected' '$result' 2>&1);
}
my $table = "SELECT a, b FROM t\nORDER BY a;\n a | b \n---+---\n 1 | x\n 1 | y\n 2 | z\n(3 rows)\n\nSELECT 1;\n";
my $turned = $table =~ s/( 1 \| x\n)( 1 \| y\n)/$2$1/r;
my $sorted = " QUERY PLAN \n----\n Sort\n   Sort Method: quicksort  Memory: 25kB\n(2 rows)\n";
is(differs($table, $table), '', 'no difference');
is(differs($table, $turned), '', 'rows in another order');
is(differs($table, $table =~ s/x/w/r), "\@\@ ORDER BY a;\n\@\@  a | b \n- 1 | x\n+ 1 | w\n", 'another row');
is(differs($table, $table =~ s/ 1 \| x\n//r), "\@\@ ORDER BY a;\n\@\@  a | b \n- 1 | x\n", 'a row is missing');
is(differs($table, $turned =~ s/SELECT 1/SELECT 2/r), "-SELECT 1;\n+SELECT 2;\n", 'another line');
is(differs("$table$table", $table), "2 tables are expected, there are 1\n", 'a table is missing');
is(differs($sorted, " QUERY PLAN \n---\n Sort\n(1 row)\n"), '', 'how the server sorted');
is(differs($sorted, " QUERY PLAN \n---\n Scan\n(1 row)\n"), "\@\@ QUERY PLAN\n- Sort\n+ Scan\n", 'another plan');

done_testing();
