#!/bin/bash
#
# typedefs.sh - `make typedefs`: print the names of all types that ptsort
# defines, for pgindent (which needs the server's own list as well):
#
#	pgindent --typedefs=SERVER/src/tools/pgindent/typedefs.list \
#		--list-of-typedefs="$(cat typedefs.list)" src include

set -u
cd "$(dirname "$0")/../.." || exit 1

find src include contrib -name '*.[ch]' -exec cat {} + | perl -0777 -ne '
	s{/\*.*?\*/}{ }gs;
	print "$1\n" while /^typedef\s[^;{]*\(\s*\*\s*(\w+)\s*\)\s*\(/mg;
	print "$1\n" while /^typedef\s[^;{(]*?\b(\w+)\s*(?:\[[^\]]*\])?;/mg;
	print "$1\n" while /^typedef\s(?:struct|union|enum)[^;{]*\{.*?^\}\s*(\w+);/msg;
' | LC_ALL=C sort -u
