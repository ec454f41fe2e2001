#!/bin/bash
#
# fuzz.sh - `make fuzz`: builds random indexes of random tables, in a private
# copy of the server.  The server and ptsort build each index, and the fuzzer
# compares the two indexes; see README.md.
#
#   FUZZ_SECONDS=n   duration (120)
#   FUZZ_SEED=s      seed of the cases (by default the current time)
#   FUZZ_CASE=n      play only this case, or cases n-m
#   FUZZ_OPTIONS     more options for fuzz.py
#   FUZZ_WAL_LEVEL, FUZZ_SHARED_BUFFERS   settings of the server
#   PG_CONFIG        chooses the server, KEEP=1 keeps the working directory
#
# For each failed case, the fuzzer writes to build/fuzz/ a script that repeats
# the case.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh

contrib/dev/setup.sh || exit 1
find_server || exit 1
say "$("$pg_config" --version)"
make_workdir ""
say "build"
install_private || exit 1
start_cluster "session_preload_libraries = 'ptsort, ptsort_test'" \
	"ptsort_test.all_workers = on" "ptsort.min_table_size = 0" \
	"max_worker_processes = 16" "max_parallel_workers = 16" \
	"autovacuum = off" "jit = off" "max_logical_replication_workers = 0" \
	"wal_level = ${FUZZ_WAL_LEVEL:-replica}" "max_wal_senders = 0" \
	"shared_buffers = ${FUZZ_SHARED_BUFFERS:-128MB}" \
	"max_wal_size = 4GB" "fsync = off" || exit 1

options=(--seconds "${FUZZ_SECONDS:-120}" --log "$work/server.log"
	--out "$work/fuzz")
[ -z "${FUZZ_SEED:-}" ] || options+=(--seed "$FUZZ_SEED")
[ -z "${FUZZ_CASE:-}" ] || options+=(--case "$FUZZ_CASE")
# shellcheck disable=SC2206
options+=(${FUZZ_OPTIONS:-})
as_user python3 -B "$work/src/contrib/fuzz/fuzz.py" "${options[@]}"
status=$?
if [ -d "$work/fuzz" ]; then
	mkdir -p "$top/build/fuzz" && cp "$work"/fuzz/* "$top/build/fuzz/"
	cp "$work/server.log" "$top/build/fuzz/server.log"
	say "scripts and the server's log: build/fuzz/"
fi
exit $status
