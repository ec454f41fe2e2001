#!/bin/bash
#
# check-asserts.sh [MAJOR] - `make check-asserts VERSION=MAJOR`: run all tests
# on a server with assertions and memory checking.  server.sh builds the server
# from the distribution's source package.  ptsort's tests run at the same time
# as the server's own suites (core-suites.sh), which use one session at a time.
# The last line is "N passed, N failed".
#
# A TAP file that does not benefit from assertions contains a line such as the
# line below.  The script skips the file, unless TESTS names it.
#
#	# Needs no assertions: it reads the sources
#
# shellcheck disable=SC2317 # functions are called by name

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

# stop_suites: stop the server's suites, and remove their output
stop_suites()
{
	if [ -n "$core" ]; then
		kill -TERM "$core" 2>/dev/null
		wait "$core"
	fi
	rm -f "$said"
}

# repeat FILE STATUS: print a script's output, and return its exit status
repeat()
{
	cat "$1"
	return "$2"
}

major=${1:-15}
start=$SECONDS
config=$(contrib/dev/server.sh "$major") || give_up "no server"
say "server: $((SECONDS - start)) s"
tests=${TESTS:-$(grep -L '^# Needs no assertions: ' contrib/*/t/*.pl t/*.pl)}
start=$SECONDS
said=$(mktemp "${TMPDIR:-/var/tmp}/ptsort-core.XXXXXX") || exit 1
trap stop_suites EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
contrib/dev/core-suites.sh "$major" >"$said" 2>&1 &
core=$!
count_child check.sh env "PG_CONFIG=$config" "TESTS=${tests//$'\n'/ }" contrib/dev/check.sh
say "ptsort's tests: $((SECONDS - start)) s"
wait "$core"
status=$?
core=
count_child core-suites.sh repeat "$said" "$status"
say "with the server's suites: $((SECONDS - start)) s"
finish
