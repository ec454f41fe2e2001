# A server that lacks ptsort mounts the tree that contrib/image/image.sh makes,
# and names the tree in extension_control_path and dynamic_library_path, as
# CloudNativePG does.  The server is a copy of the installed one, without ptsort.
#
# Needs no assertions: it tests where the server finds files
#
# Depends on the version: extension_control_path is new in 18
use strict;
use warnings;
use Cwd;
use File::Basename;
use File::Find;
use File::Path qw(make_path);
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = Cwd::realpath("$FindBin::RealBin/..");
my $script = "$top/contrib/image/image.sh";
my $dir = PostgreSQL::Test::Utils::tempdir();
my $major = server_major();

# Runs image.sh for a directory; returns the status and the output.
sub image
{
	my ($tree) = @_;
	my $said = '';

	local $ENV{PG_CONFIG} = 'pg_config';
	local $ENV{COPT} = '-O0';    # compile quickly
	IPC::Run::run([ $script, $tree ], '<', \undef, '>', \$said, '2>', \$said);
	return ($? >> 8, $said);
}

if ($major < 18)
{
	is_deeply([ image("$dir/image") ],
		[ 1, "image.sh: PostgreSQL $major has no extension_control_path, only 18 and later\n" ],
		'a server that cannot mount images');
	ok(!-e "$dir/image", '... and nothing is made');
	SKIP: { skip("PostgreSQL $major cannot mount images: it has no extension_control_path", 1) }
	done_testing();
	exit;
}

# The tree
umask 0077;    # the tree must be readable by all nonetheless
my $image = "$dir/image";
is_deeply([ image($image) ], [ 0, '' ], 'image.sh');
my (@files, @unreadable);
find(
	{
		no_chdir => 1,
		wanted => sub {
			my $mode = (stat)[2];
			push @files, s{^\Q$image\E/}{}r if -f;
			push @unreadable, $_ if ($mode & (-d _ ? 0555 : 0444)) != (-d _ ? 0555 : 0444);
		}
	},
	"$image/lib", "$image/share", "$image/licenses");
is(join("\n", sort @files), join("\n", 'lib/ptsort.so', 'licenses/ptsort/LICENSE',
		sort map { 'share/extension/' . basename($_) } "$top/ptsort.control", glob("$top/ptsort--*.sql")),
	'the files of the image');
is(join("\n", glob("$image/*")), join("\n", map { "$image/$_" } qw(lib licenses share)),
	'there is nothing else');
is("@unreadable", '', 'all may read them');
my ($status, $said) = image($image);
is($status, 1, 'a directory that is not empty: refused');
is($said, "image.sh: $image is not empty\n", '... with a message');
chmod 0755, $dir;

# A copy of the server, without the files of ptsort; the relative paths between
# directories stay the same.
my $server = "$dir/server";
foreach my $option (qw(bindir pkglibdir sharedir))
{
	chomp(my $from = qx(pg_config --$option));
	make_path("$server$from");
	system_or_bail('cp', '-RL', "$from/.", "$server$from");
}
my @ours;
find({ no_chdir => 1, wanted => sub { push @ours, $_ if -f && m{/(?:ptsort|sortbench)[^/]*$} } }, $server);
unlink @ours;
cmp_ok(scalar(@ours), '>', 3, 'the copy of the server lacks the files of ptsort');
chomp(my $bindir = qx(pg_config --bindir));
chmod 0755, $server;
my $node = PostgreSQL::Test::Cluster->new('main', install_path => dirname("$server$bindir"));
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nmax_worker_processes = 8\n");
$node->start;
my (undef, undef, $err) = $node->psql('postgres', 'CREATE EXTENSION ptsort');
like($err, qr/extension "ptsort" is not available/, 'without the image: no extension');
(undef, undef, $err) = $node->psql('postgres', "LOAD 'ptsort'");
like($err, qr/could not access file "ptsort"/, '... and no library');

# Mount the image.
my $build = q{
CREATE TABLE t AS SELECT i, md5(i::text) AS b FROM generate_series(1, 50000) i;
SET ptsort.min_table_size = 0;
CREATE INDEX i ON t (b) WITH (parallel_workers = 2);
CREATE EXTENSION amcheck;
SELECT bt_index_parent_check('i', true, true);
};
$node->append_conf('postgresql.conf', <<"EOC");
extension_control_path = '\$system:$image/share'
dynamic_library_path = '\$libdir:$image/lib'
EOC
$node->reload;
$node->safe_psql('postgres', 'CREATE DATABASE later');
my $report = 'SELECT index_name, role, count(*) FROM ptsort_last_build() GROUP BY 1, 2 ORDER BY 2;';
my $built = "i|leader|1\ni|total|1\ni|worker|2";
is($node->safe_psql('postgres', "CREATE EXTENSION ptsort; $build $report"), $built =~ s/^/\n/r,
	'CREATE EXTENSION, and an index built by three participants');
my $mapped = q{SELECT DISTINCT substring(line, '/.*') FROM
regexp_split_to_table(pg_read_file('/proc/' || pg_backend_pid() || '/maps', 0, 10000000), '\n') line WHERE line ~ '/ptsort[.]so$'};
is($node->safe_psql('postgres', "SELECT FROM ptsort_last_build(); $mapped"),
	Cwd::realpath("$image/lib/ptsort.so"), "the session's library is the image's");

# Each of the two preload settings: for each session, and for the whole server
foreach my $setting (qw(session_preload_libraries shared_preload_libraries))
{
	$node->append_conf('postgresql.conf', "session_preload_libraries = ''\n$setting = 'ptsort'");
	$node->restart;
	is($node->safe_psql('postgres', "SET ptsort.min_table_size = 0; REINDEX INDEX i;
SELECT bt_index_parent_check('i', true, true); $mapped; SELECT count(*) > 0 FROM ptsort_last_build()"),
		"\n" . Cwd::realpath("$image/lib/ptsort.so") . "\nt", $setting);
}
is($node->safe_psql('later', "CREATE EXTENSION ptsort; $build $report"), $built =~ s/^/\n/r,
	'the extension, from the script of the image');

# Without the image, the index works.
$node->append_conf('postgresql.conf', <<'EOC');
shared_preload_libraries = ''
extension_control_path = '$system'
dynamic_library_path = '$libdir'
EOC
$node->restart;
is( $node->safe_psql('postgres', q{SET enable_seqscan = off; SELECT i FROM t WHERE b = md5('77');
SELECT bt_index_parent_check('i', true, true)}), "77\n", 'the index outlives the image');

$node->stop;
done_testing();
