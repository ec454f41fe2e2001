#!/bin/bash
#
# typedefs.sh - `make typedefs`: print the names of types for pgindent, one per
# line.  These are the types that ptsort defines, and the types that ptsort's
# sources use from the server's list.
#
# The indenter treats each name in the list as a type everywhere.  The script
# therefore leaves out names of server types that ptsort also uses for variables
# or fields, such as "string" and "text".  Otherwise the indenter would break
# the layout.

set -u
cd "$(dirname "$0")/../.." || exit 1

dir=$(contrib/dev/indenter.sh) || exit 1
find src include contrib -name '*.[ch]' -exec cat {} + |
	perl -0777 -e '
	my %name;
	my $text = do { open my $in, "<", "/dev/stdin" or die; <$in> };
	my @servers = do {
		open my $in, "<", $ARGV[0] or die "$ARGV[0]: $!";
		split /\n/, <$in>;
	};

	$text =~ s{/\*.*?\*/}{ }gs;
	# the types that ptsort defines
	$name{$1} = 1 while $text =~ /^typedef\s[^;{]*\(\s*\*\s*(\w+)\s*\)\s*\(/mg;
	$name{$1} = 1 while $text =~ /^typedef\s[^;{(]*?\b(\w+)\s*(?:\[[^\]]*\])?;/mg;
	$name{$1} = 1
	  while $text =~ /^typedef\s(?:struct|union|enum)[^;{]*\{.*?^\}\s*(\w+);/msg;

	# the names in the sources, and the names of variables or fields
	$text =~ s{^[ \t]*\#[ \t]*include\b.*}{}mg;
	$text =~ s{"(?:[^"\\\n]|\\.)*"|\x27(?:[^\x27\\\n]|\\.)*\x27}{0}g;
	my %used = map { $_ => 1 } $text =~ /\b([A-Za-z_]\w*)/g;
	my %variable;
	$variable{$1} = 1 while $text =~ /(?:->|\.|[\s(]\*+)\s*(\w+)/g;
	$variable{$1} = 1
	  while $text =~ /(?<!struct )\b(\w+)(?=\s*(?:\((?!\*)|[-+\/<>=!?:;.|^&[]))/g;
	$name{$_} = 1 foreach grep { $used{$_} && !$variable{$_} } @servers;
	print map { "$_\n" } sort keys %name;
	' "$dir/typedefs.list"
