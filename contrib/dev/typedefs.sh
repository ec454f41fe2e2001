#!/bin/bash
#
# typedefs.sh - `make typedefs`: print the names of the types that our sources
# use, for pgindent: all that ptsort defines, and of the server's list those
# that we use as types.  One name per line.
#
# The indenter takes each name of the list for a type wherever it stands.  A
# name of the server's that is also a variable or a field of ours ("string",
# "text") is therefore left out: our sources would be laid out wrongly.

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
	# ours
	$name{$1} = 1 while $text =~ /^typedef\s[^;{]*\(\s*\*\s*(\w+)\s*\)\s*\(/mg;
	$name{$1} = 1 while $text =~ /^typedef\s[^;{(]*?\b(\w+)\s*(?:\[[^\]]*\])?;/mg;
	$name{$1} = 1
	  while $text =~ /^typedef\s(?:struct|union|enum)[^;{]*\{.*?^\}\s*(\w+);/msg;

	# the names that are used, and those that are used as a variable is
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
