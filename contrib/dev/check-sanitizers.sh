#!/bin/bash
#
# check-sanitizers.sh [MAJOR] - `make check-sanitizers VERSION=MAJOR`: run
# ptsort's tests with gcc's address and undefined-behaviour sanitizers.  The
# script compiles both the server (server.sh) and ptsort with the sanitizers.  A
# sanitizer's finding ends the process and appears in the server's log, which
# tally.sh checks.  The last line is "N passed, N failed".

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

config=$(contrib/dev/server.sh "${1:-15}" sanitize) || give_up "no server"

# Do not look for leaks: psql and the server's processes exit without freeing
# all memory.  The server relies on the machine's alignment rules, so server.sh
# leaves out the alignment check.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1
# Skip tests that preload ptsort_shortage.so, because this library would
# intercept the sanitizer's own malloc.
tests=()
for file in t/*.pl contrib/*/t/*.pl; do
	grep -q '^use Faults;' "$file" || tests+=("$file")
done
export TESTS=${TESTS:-${tests[*]}}
start=$SECONDS
count_child check.sh env "PG_CONFIG=$config" contrib/dev/check.sh
say "ptsort's tests: $((SECONDS - start)) s"
objdump -T "$(dirname "$config")/postgres" | grep -q __asan_report_store8
result $? "the server is compiled with the sanitizer"
finish
