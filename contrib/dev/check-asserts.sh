#!/bin/bash
#
# check-asserts.sh [MAJOR] - `make check-asserts VERSION=MAJOR`: all tests on a
# server that checks itself (assertions, memory checking), which server.sh
# builds from the distribution's source package: our own suite and, beside it,
# the server's (core-suites.sh), which runs one session at a time.  The last line
# is "N passed, N failed".
#
# A TAP file that finds nothing more on such a server than on another says so
# itself, and is left out unless TESTS names it:
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

# stop_suites: what a signal to this script may have left
stop_suites()
{
	if [ -n "$core" ]; then
		kill -TERM "$core" 2>/dev/null
		wait "$core"
	fi
	rm -f "$said"
}

# repeat FILE STATUS: what a script has said, and how it ended
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
say "our suite: $((SECONDS - start)) s"
wait "$core"
status=$?
core=
count_child core-suites.sh repeat "$said" "$status"
say "with the server's suites: $((SECONDS - start)) s"
finish
