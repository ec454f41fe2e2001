#!/bin/bash
#
# indenter.sh - build the indenter of PostgreSQL 17 from the distribution's
# source package, and print its directory.  This tree follows the layout rules
# of PostgreSQL 17.  The directory contains:
#
#   pgindent        the script
#   pg_bsd_indent   the program that pgindent calls
#   typedefs.list   the names of the server's types
#
# The indenter stays in build/indenter (PTSORT_SERVERS names another place).
# The package pg-bsd-indent of Debian 12 is too old: its version 2.1.1 cannot
# parse some code that 2.1.2 can.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh
# shellcheck source=contrib/dev/source.sh
. contrib/dev/source.sh

major=17
dir=${PTSORT_SERVERS:-$PWD/build}/indenter
log=$dir/build.log

# missing_tools: print the missing packages that the build requires
missing_tools()
{
	command -v gcc >/dev/null || echo gcc
	[ -f /usr/include/stdio.h ] || echo libc6-dev
	command -v bzip2 >/dev/null || echo bzip2
}

# compile: compile the indenter with the headers and libraries of the server
# that find_server found
compile()
{
	gcc -O2 -I"$("$pg_config" --includedir-server)" \
		-I"$("$pg_config" --includedir)/internal" -o "$dir/pg_bsd_indent" \
		"$dir"/src/src/tools/pg_bsd_indent/*.c \
		-L"$("$pg_config" --libdir)" -L"$("$pg_config" --pkglibdir)" \
		-lpgcommon -lpgport
}

mkdir -p "$dir" || exit 1
# a second script that needs the indenter waits until the first one finishes
exec 9>"$dir/lock"
flock 9
if [ ! -f "$dir/complete" ]; then
	: >"$log"
	echo "== making the indenter of PostgreSQL $major in $dir" >&2
	ensure_packages missing_tools >>"$log" || give_up "packages are missing"
	contrib/dev/setup.sh >>"$log" || give_up "packages are missing"
	find_server || give_up "no PostgreSQL server found"
	fetch_source $major "$dir" src/tools/pgindent src/tools/pg_bsd_indent
	step compile compile
	cp "$dir"/src/src/tools/pgindent/{pgindent,typedefs.list} "$dir/" || exit 1
	rm -rf "$dir/src"
	touch "$dir/complete"
fi
echo "$dir"
