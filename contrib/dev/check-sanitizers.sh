#!/bin/bash
#
# check-sanitizers.sh [MAJOR] - `make check-sanitizers VERSION=MAJOR`: our suite
# on a server compiled, as ptsort then is, with gcc's address and
# undefined-behaviour sanitizers (server.sh).  What they find ends the process,
# and is in the server's log, which is a test of its own (tally.sh).  The last
# line is "N passed, N failed".

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

config=$(contrib/dev/server.sh "${1:-15}" sanitize) || give_up "no server"

# Leaks are not looked for: a process of the server, and psql, ends without
# giving back what ends with it.  The server's alignment is that of the machine
# (server.sh leaves that check out).
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1
# Not those that preload ptsort_shortage.so: it stands between the server and the
# sanitizer's own malloc.
tests=()
for file in t/*.pl contrib/*/t/*.pl; do
	grep -q '^use Faults;' "$file" || tests+=("$file")
done
export TESTS=${TESTS:-${tests[*]}}
start=$SECONDS
count_child check.sh env "PG_CONFIG=$config" contrib/dev/check.sh
say "our suite: $((SECONDS - start)) s"
objdump -T "$(dirname "$config")/postgres" | grep -q __asan_report_store8
result $? "the server is compiled with the sanitizer"
finish
