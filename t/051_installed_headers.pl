# A client needs only the public headers, as "make install" installs them.  The
# test builds two clients of contrib in a new directory, away from the sources,
# and compiles each header alone, in C and in C++.  Two source
# files of the clients must stay short, because they show how easy the interface
# is.
use strict;
use warnings;
use Cwd;
use File::Basename;
use File::Copy;
use FindBin;
use lib $FindBin::RealBin;
use Ptsort;
use PostgreSQL::Test::Utils;
use Test::More;

my @clients = qw(ptsort_example ptsort_am);
my @headers = qw(ptsort.h ptsort_parallel.h ptsort_variant.h);
my $top = Cwd::realpath("$FindBin::RealBin/..");
my $fresh = PostgreSQL::Test::Utils::tempdir();

chomp(my $server = `pg_config --includedir-server`);
my $installed = "$server/extension/ptsort";

sub slurp
{
	my ($path) = @_;
	open(my $fh, '<', $path) or die "could not open $path: $!";
	local $/;
	return scalar <$fh>;
}

# Runs a command; returns true if it succeeded, and its output.
sub run
{
	my (@command) = @_;
	my $said = '';

	my $ok = IPC::Run::run(\@command, '<', \undef, '>', \$said, '2>', \$said);
	return ($ok, $said);
}

# "make install" installs exactly the headers of the sources.
is_deeply([ sort map { basename($_) } glob("$installed/*") ],
	\@headers, 'three headers are installed');
is_deeply([ sort map { basename($_) } glob("$top/include/*") ],
	\@headers, 'three headers are in the sources');
is(slurp("$installed/$_"), slurp("$top/include/$_"), "$_ as in the sources")
  foreach @headers;

# Clients.  -H makes the compiler name every header that it reads.
mkdir "$fresh/away" or die "could not make a directory: $!";
foreach my $client (@clients)
{
	my $dir = "$fresh/away/$client";

	mkdir $dir or die "could not make a directory: $!";
	-f $_ && $_ !~ /\.(?:o|so)$/ && copy($_, $dir)
	  foreach glob("$top/contrib/$client/*");
	my @make = ('make', '-C', $dir, 'PG_CONFIG=pg_config');
	my ($ok, $said) = run(@make, 'all', 'COPT=-Werror -H');
	ok($ok, "$client: built") or diag($said);
	like($said, qr{^\.+ \Q$installed\E/ptsort\.h$}m,
		"$client: reads the installed header");
	unlike($said, qr{^\.+ (?:\Q$top\E|\.\.)/}m,
		"$client: reads none of the sources'");
	($ok, $said) = run(@make, 'install', "DESTDIR=$fresh/root");
	ok($ok, "$client: installed") or diag($said);
	ok(IPC::Run::run([ 'find', "$fresh/root", '-name', "$client.so" ], '|',
			[ 'grep', '-q', '.' ]), "$client: there is a library");
}

# The clients are short.  In ptsort_am.c, comments and #include lines do not
# count.
my $am = slurp("$top/contrib/ptsort_am/ptsort_am.c") =~ s{/\*.*?\*/}{}gsr;
cmp_ok(scalar(grep { /\S/ && !/^#include/ } split /\n/, $am),
	'<=', 200, 'ptsort_am.c: lines of C');
cmp_ok(slurp("$top/contrib/ptsort_test/record.c") =~ tr/\n//,
	'<=', 60, 'ptsort_test/record.c: lines');

# Headers.  C++ must not change the names of the functions that the headers
# call.
my %use = (
	'ptsort.h' => 'PtSort *f(const PtSortOptions *o);
PtSort *f(const PtSortOptions *o) { return ptsort_begin_datum(20, 412, 0, false, o); }',
	'ptsort_variant.h' => 'PtSort *f(const PtSortVariant *v, const PtSortOptions *o);
PtSort *f(const PtSortVariant *v, const PtSortOptions *o) { return ptsort_begin(v, NULL, 0, NULL, o); }',
	'ptsort_parallel.h' => 'PtParallel *f(const PtParallelRequest *r);
PtParallel *f(const PtParallelRequest *r) { return ptsort_parallel(r); }');

sub compile
{
	my ($name, $source, @command) = @_;
	my $suffix = $command[0] eq 'g++' ? 'cc' : 'c';
	my $file = "$fresh/$name.$suffix";

	open(my $fh, '>', $file) or die "could not write $file: $!";
	print $fh $source;
	close $fh;
	my ($ok, $said) = run(@command, '-c', $file, '-o', "$file.o");
	ok($ok, "@command[0, 1] compiles $name") or diag($said);
	($ok, $said) = run('nm', '-u', "$file.o");
	like($said, qr/^ *U _?load_external_function$/m,
		"@command[0, 1]: a function of the server is called through $name");
}

sub compile_all
{
	my @command = @_;
	my @warnings = qw(-Wall -Wextra -Wpedantic -Werror -Wno-unused-parameter);
	my $all = join '',
	  map { "#include \"extension/ptsort/$_\"\n" } reverse @headers;

	compile($_, "#include \"$_\"\n$use{$_}\n",
		@command, @warnings, '-I', $installed, '-isystem', $server)
	  foreach @headers;
	compile('all three, by the path that the server knows',
		"$all$use{'ptsort.h'}\n", @command, '-I', $server);
}

# the oldest C in which the server's headers compile: C11 since 19
compile_all('gcc', server_major() >= 19 ? '-std=gnu11' : '-std=gnu99');
SKIP:
{
	skip 'g++ is missing', 1 if system('g++ --version >/dev/null 2>&1') != 0;
	compile_all('g++', "-std=$_") foreach qw(c++11 c++20);
}
done_testing();
