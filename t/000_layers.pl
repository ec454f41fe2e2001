# The rules of the source tree: dependency arrows, version differences in one
# place, sizes, and no paths that exist on one machine only.  Each rule is a
# function that takes a tree and returns the tree's violations.  Each rule must
# also fail on a tree that breaks it; this failure shows that the rule detects
# violations.
#
# Needs no assertions: it reads the sources
use strict;
use warnings;
use File::Basename;
use File::Find;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

my $max_function = 60;
my $max_file = 700;
my $max_columns = 80;
my $max_constants = 143;
my $max_share = 0.25;

# Returns a tree's files below the given directories, except files that builds
# and tests create.
sub files
{
	my ($top, $pattern, @dirs) = @_;
	my @found;
	my $skip = qr{/(?:\.git|results|tmp_check|log)$|^\Q$top\E/(?:\./)?build$};

	@dirs = grep { -d "$top/$_" } @dirs;
	return () unless @dirs;
	find(
		{
			no_chdir => 1,
			wanted => sub {
				if ($_ =~ $skip) { $File::Find::prune = 1; return; }
				return unless -f $_ && $_ =~ $pattern;
				push @found, $_ =~ s{^\Q$top\E/(\./)?}{}r;
			}
		},
		map { $_ eq '.' ? "$top/." : "$top/$_" } @dirs);
	return sort @found;
}

sub slurp
{
	my ($path) = @_;
	open(my $fh, '<', $path) or die "could not open $path: $!";
	local $/;
	return scalar <$fh>;
}

# Returns the names in the #include "..." lines of a file.
sub includes
{
	my ($path) = @_;
	return slurp($path) =~ /^[ \t]*#[ \t]*include[ \t]+"([^"]+)"/mg;
}

# Returns the layer of each source file (folder/name): the file's place in the
# Makefile's LAYERS, bottom first.
sub layers
{
	my ($top) = @_;
	my $makefile = slurp("$top/Makefile") =~ s/\\\n/ /gr;
	my ($list) = $makefile =~ /^LAYERS\s*=\s*(.*)$/m
	  or die "the Makefile has no LAYERS";
	my %rank = (compat => 0);
	my $n = 0;

	$list =~ s{\$\(addprefix\s+(\w+/),([^)]*)\)}{
		join ' ', map { $1 . $_ } split ' ', $2}ge;
	$rank{$_} = ++$n foreach split ' ', $list;
	return \%rank;
}

# A source file includes private headers by folder and name, and only private
# headers of lower layers.  Every source file is in LAYERS.
sub upward_includes
{
	my ($top) = @_;
	my $rank = layers($top);
	my @bad;

	foreach my $file (files($top, qr/\.[ch]$/, 'src'))
	{
		my $name = $file =~ s{^src/(.*)\.[ch]$}{$1}r;

		if (!defined $rank->{$name})
		{
			push @bad, "$file: not in LAYERS";
			next;
		}
		foreach my $header (includes("$top/$file"))
		{
			my $other = $header =~ s/\.h$//r;

			next unless -f "$top/src/$header" && $other ne $name;
			push @bad, "$file: includes $header, which is above it"
			  if ($rank->{$other} // 1e9) >= $rank->{$name};
		}
	}
	return @bad;
}

# The files of each folder are adjacent in LAYERS, and folders go bottom to
# top.
sub scattered_folders
{
	my ($top) = @_;
	my $rank = layers($top);
	my @in_order = sort { $rank->{$a} <=> $rank->{$b} } keys %$rank;
	my @folders = map { m{^(\w+)/} ? $1 : '.' } @in_order;
	my @changes =
	  map { $folders[$_] } grep { !$_ || $folders[$_] ne $folders[ $_ - 1 ] }
	  0 .. $#folders;
	my $found = join ' ', @changes;

	return $found eq '. model throttle text key order tape memory sort variant team validate write btree gist gin copy check forecast query hook function' ? () : ("LAYERS: $found");
}

# Public headers, variants and everything in contrib include public headers
# only; contrib/ptsort_test also includes function/internals.h.  Variants may also include variants.h, compat.h and util.h; variants
# whose keys learn may include sortextras.h and key.h as well.
sub private_includes
{
	my ($top) = @_;
	my @bad;
	my %private;
	push @{ $private{ basename($_) } }, $_
	  foreach files($top, qr/\.h$/, 'src');

	foreach my $file (files($top, qr/\.[ch]$/, 'include', 'contrib'),
		files($top, qr{/variant_\w+\.[ch]$}, 'src'))
	{
		foreach my $header (includes("$top/$file"))
		{
			my $base = basename($header);

			next if $file =~ m{^contrib/ptsort_test/} &&
			  $header eq 'function/internals.h';
			next if $file =~ /^src/ && $base =~ /^(?:compat|util|variants)\.h$/;
			next if $file =~ /variant_(?:index|gist|gin|heap|datum|tuple)/ &&
				$base =~ /^(?:sortextras|key|key_pack|tuplesort)\.h$/;
			next if $header eq $base && -f dirname("$top/$file") . "/$base"
			  && $file !~ /^src/;
			push @bad, "$file: includes $header"
			  if grep { m{(?:^|/)\Q@{[ $header =~ s{^(?:\.\./)+}{}r ]}\E$} }
			  @{ $private{$base} // [] };
		}
	}
	return @bad;
}

# No folder of src holds more than a quarter of src's lines.
sub large_folders
{
	my ($top) = @_;
	my %lines;
	my $all = 0;

	foreach my $file (files($top, qr/\.[ch]$/, 'src'))
	{
		my $n = () = slurp("$top/$file") =~ /\n/g;
		my ($folder) = $file =~ m{^src/(\w+)/};

		$lines{$folder} += $n if $folder;
		$all += $n;
	}
	return grep { $lines{$_} > $max_share * $all } sort keys %lines;
}

# src may have only a limited number of numeric constants, because developers
# must keep each number right by hand.  Constants whose definitions name other
# constants do not count.
sub many_constants
{
	my ($top) = @_;
	my $n = 0;

	foreach my $file (files($top, qr/\.[ch]$/, 'src'))
	{
		$n += grep { !/[A-Z][A-Z]\w*[A-Z]/ }
		  slurp("$top/$file") =~ /^#define\s+\w+\s+(\(?(?:\(?\w+\)\s*)?[-(]*\d.*)/mg;
	}
	return $n > $max_constants ? ("$n numeric constants in src") : ();
}

# Only files named compat.h distinguish server versions.
sub version_checks
{
	my ($top) = @_;
	return grep {
		!m{^(?:src|contrib/\w+)/compat\.h$}
		  && slurp("$top/$_") =~
		  /\b(?:PG_VERSION_NUM|PG_MAJORVERSION_NUM|CATALOG_VERSION_NO)\b/
	} files($top, qr/\.[ch]$/, 'src', 'include', 'contrib');
}

# Finds assignments and increments in the arguments of possible macros of the
# server: names that begin with a capital, and ereport and elog.  Some macros
# evaluate an argument more than once; which macros do so depends on the
# server's version, and on whether it has assertions.
# (contrib/dev/check-static.sh looks at the macros themselves.)
sub macro_side_effects
{
	my ($top) = @_;
	my $comment_or_string = qr{/\*.*?\*/|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'}s;
	my $parentheses = qr/(\((?:[^()]++|(?-1))*\))/;
	my @bad;

	foreach my $file (files($top, qr/\.[ch]$/, 'src', 'include', 'contrib'))
	{
		my $text = slurp("$top/$file") =~ s/$comment_or_string/0/gr;

		next if $file =~ /static-mistakes\.c$/;
		$text =~ s/^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*//mg;
		while ($text =~ /\b([A-Z]\w+|ereport|elog)(?=$parentheses)/g)
		{
			my ($name, $arguments) = ($1, $2);
			push @bad, "$file: $name$arguments"
			  if $arguments =~ /\+\+|--|(?<![=!<>])=(?!=)|(?:<<|>>)=/;
		}
	}
	return @bad;
}

# Returns the C functions whose bodies are too long.
sub long_functions
{
	my ($top) = @_;
	my @bad;

	foreach my $file (files($top, qr/\.[ch]$/, 'src', 'include', 'contrib'))
	{
		my ($start, $name, $previous) = (0, '', '');
		my $n = 0;

		foreach my $line (split /\n/, slurp("$top/$file"))
		{
			$n++;
			$name = $1 if $line =~ /^(\w+)\(/;
			$start = $n if $line =~ /^\{/ && $previous =~ /\)\s*$/;
			if ($line =~ /^\}/ && $start)
			{
				my $length = $n - $start + 1;
				push @bad, "$file: $name has $length lines"
				  if $length > $max_function;
				$start = 0;
			}
			$previous = $line;
		}
	}
	return @bad;
}

sub long_files
{
	my ($top) = @_;
	return grep { (slurp("$top/$_") =~ tr/\n//) > $max_file }
	  files($top, qr/\.[ch]$/, 'src', 'include', 'contrib');
}

# Returns lines of C that are too wide, with tabs of 4 columns.  Messages stay
# in one piece, as in the server's sources, so that readers can search for
# them.
sub wide_lines
{
	my ($top) = @_;
	my @bad;

	foreach my $file (files($top, qr/\.[ch]$/, 'src', 'include', 'contrib'))
	{
		my $n = 0;

		foreach my $line (split /\n/, slurp("$top/$file"))
		{
			$n++;
			utf8::decode($line);
			1 while $line =~ s/^([^\t]*)\t/$1 . ' ' x (4 - length($1) % 4)/e;
			push @bad, "$file:$n: " . length($line) . " columns"
			  if length($line =~ s/"(?:[^"\\]|\\.)*"/""/gr) > $max_columns;
		}
	}
	return @bad;
}

# The installation script, META.json, the RPM packages and both changelogs have
# the version of ptsort.control, and CHANGELOG.md has its date
# unless the version is in development.
sub versions_differ
{
	my ($top) = @_;
	my ($version) =
	  slurp("$top/ptsort.control") =~ /^default_version\s*=\s*'(.*)'/m;
	my @bad;

	my $meta = decode_json(slurp("$top/META.json"));

	push @bad, "no ptsort--$version.sql" unless -f "$top/ptsort--$version.sql";
	push @bad, "META.json: $_"
	  foreach grep { $_ ne $version } $meta->{version},
	  $meta->{provides}{ptsort}{version};
	push @bad, 'ptsort.spec'
	  unless slurp("$top/contrib/rpm/ptsort.spec") =~
	  /^Version:\s+\Q$version\E\n.*^%changelog\n\*[^\n]* - \Q$version\E-\d/ms;
	push @bad, 'CHANGELOG.md'
	  unless slurp("$top/CHANGELOG.md") =~ /\A## \Q$version\E \((?:\d{4}-\d\d-\d\d|in development)\)\n/;
	push @bad, 'debian/changelog'
	  unless slurp("$top/debian/changelog") =~ /\Aptsort \(\Q$version\E-\d/;
	return @bad;
}

# Returns paths that exist on one machine only.
sub machine_paths
{
	my ($top) = @_;
	my $place = qr{(?<![\w.\$\}/])/(?:home|root|work|tmp|mnt|Users)/\w[\w./-]*};
	my @bad;

	foreach my $file (files($top, qr/./, '.'))
	{
		next if $file =~ /\.(?:o|so|bc|zip)$|^regression\.|^\.git$/;
		my $text = slurp("$top/$file");
		push @bad, "$file: $&" if $text =~ $place;
	}
	return @bad;
}

# Makes a tree that breaks every rule once.
sub bad_tree
{
	my $dir = tempdir(CLEANUP => 1);
	my %file = (
		'Makefile' => "LAYERS = \$(addprefix sort/, tape run) \\\n"
		  . "\t\$(addprefix key/, \\\n\tvariant_x) \$(addprefix hook/, module)\n",
		'src/compat.h' => "#if PG_VERSION_NUM\n#endif\n",
		'src/hook/module.h' => "",
		'src/sort/run.h' => "",
		'src/sort/stray.c' => "",
		'src/sort/tape.c' => "#include \"compat.h\"\n#include \"sort/run.h\"\n",
		'src/key/variant_x.c' =>
		  "#include \"compat.h\"\n#include \"sort/run.h\"\n",
		'src/sort/run.c' => "#include \"sort/run.h\"\n#if PG_VERSION_NUM\n#endif\n"
		  . "x = Min(a == b, f(c <= d, \"=\"));\nif (BufferIsValid(b = f(c)))\n\tMax(n, (i++));\n",
		'src/hook/module.c' => ("#define ONE 1\n" x ($max_constants + 1)) . "void\nf(void)\n{\n"
		  . ("\tx++;\n" x $max_function)
		  . "}\n"
		  . ("\n" x $max_file),
		'contrib/client/client.c' => "#include \"../../src/sort/run.h\"\n",
		'include/wide.h' => ("\t" x 20) . "\n" . ("\t" x 19) . "   \t" . "x\n"
		  . (' ' x 78) . "\tx\n" . ('x' x 80) . "\n",
		'ptsort.control' => "default_version = '1.2'\n",
		'META.json' => '{"version": "1.1", "provides": {"ptsort": {"version": "1.2"}}}',
		'CHANGELOG.md' => "## 1.1 (2026)\n",
		'contrib/rpm/ptsort.spec' => "Version: 1.2\n%changelog\n* today - 1.1-1\n* before - 1.2-1\n",
		'debian/changelog' => "ptsort (1.1.2-1) unstable; urgency=medium\n",
		'README' => "see /" . "home/me/notes\n");

	foreach my $name (keys %file)
	{
		make_path(dirname("$dir/$name"));
		open(my $fh, '>', "$dir/$name") or die "could not write $name: $!";
		print $fh $file{$name};
		close $fh;
	}
	return $dir;
}

my @rules = (
	[ 'includes point downward', \&upward_includes, 2 ],
	[ 'folders in order', \&scattered_folders, 1 ],
	[ 'clients and variants use public headers', \&private_includes, 2 ],
	[ 'no folder has more than a quarter of the code', \&large_folders, 1 ],
	[ "at most $max_constants numeric constants", \&many_constants, 1 ],
	[ 'server versions only in compat.h', \&version_checks, 1 ],
	[ 'no side effects in arguments of macros', \&macro_side_effects, 2 ],
	[ "functions have at most $max_function lines", \&long_functions, 1 ],
	[ "files have at most $max_file lines", \&long_files, 1 ],
	[ "lines of C have at most $max_columns columns", \&wide_lines, 2 ],
	[ 'one version', \&versions_differ, 5 ],
	[ 'no paths of one machine', \&machine_paths, 1 ]);

my $top = dirname(dirname(__FILE__));
my $bad = bad_tree();

foreach my $rule (@rules)
{
	my ($name, $check, $expected) = @$rule;

	is(join("\n", $check->($top)), '', $name);
	is(scalar(my @found = $check->($bad)), $expected, "$name: can fail");
}
my @sources = files($top, qr/\.c$/, 'src');
cmp_ok(scalar(@sources), '>', 0, 'there are sources');

done_testing();
