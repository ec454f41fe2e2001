# "make uninstall" removes everything that "make install" installed, also the
# directories, and nothing else.  The test installs ptsort, and then each
# extension of contrib, below another root (DESTDIR), and compares lists of all
# files and directories.
#
# Needs no assertions: it installs files
use strict;
use warnings;
use Cwd;
use File::Basename;
use File::Find;
use File::Path qw(make_path);
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = Cwd::realpath("$FindBin::RealBin/..");
my $root = PostgreSQL::Test::Utils::tempdir();
my %place = map { chomp(my $dir = `pg_config --$_`); $_ => "$root$dir" }
  qw(pkglibdir sharedir includedir-server docdir);
my $headers = "$place{'includedir-server'}/extension";

# Returns all paths below the root.
sub tree
{
	my @found;
	find({ no_chdir => 1, wanted => sub { push @found, $_ } }, $root);
	return [ sort @found ];
}

sub write_file
{
	my ($path) = @_;
	make_path(dirname($path));
	append_to_file($path, "not ours\n");
}

sub make
{
	my ($dir, $goal) = @_;
	my $said = '';

	ok(IPC::Run::run([ 'make', '-C', $dir, 'PG_CONFIG=pg_config', "DESTDIR=$root", $goal ],
			'<', \undef, '>', \$said, '2>', \$said),
		"make $goal") or diag($said);
}

# Runs "make install" and "make uninstall" in a directory; returns the paths
# that the installation added.
sub there_and_back
{
	my ($dir, $name) = @_;
	my $before = tree();
	my %old = map { $_ => 1 } @$before;

	make($dir, 'install');
	my @new = grep { !$old{$_} } @{ tree() };
	make($dir, 'uninstall');
	is_deeply(tree(), $before, "$name: what was there before is all that is left");
	make($dir, 'uninstall');
	is_deeply(tree(), $before, "$name: a second time changes nothing");
	return @new;
}

# A server without headers of other extensions
make_path("$place{pkglibdir}/pgxs", "$place{sharedir}/extension",
	$place{'includedir-server'}, $place{docdir});
my @new = there_and_back($top, 'the first extension');
foreach my $file ("$place{pkglibdir}/ptsort.so", "$place{sharedir}/extension/ptsort.control",
	(map { "$place{sharedir}/extension/" . basename($_) } glob("$top/ptsort--*.sql")),
	$headers, "$headers/ptsort", (map { "$headers/ptsort/" . basename($_) } glob("$top/include/*.h")))
{
	ok((grep { $_ eq $file } @new), basename($file) . ' was installed');
}

# A server with files of other extensions
write_file($_) foreach "$headers/hstore/hstore.h", "$place{sharedir}/extension/hstore.control",
  "$place{sharedir}/extension/ptsort_more--1.0.sql", "$place{pkglibdir}/hstore.so";
there_and_back($top, 'beside another extension');

# A file that somebody else put into ptsort's directory
write_file("$headers/ptsort/more.h");
there_and_back($top, 'beside a file in its directory');
ok(-f "$headers/ptsort/more.h", 'the file is there');

foreach my $dir (map { dirname($_) } glob("$top/contrib/*/Makefile"))
{
	my $name = basename($dir);
	@new = there_and_back($dir, $name);
	ok((grep { $_ eq "$place{pkglibdir}/$name.so" } @new), "$name: was installed");
}

done_testing();
