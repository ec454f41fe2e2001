#!/bin/bash
#
# check-valgrind.sh [MAJOR] - `make check-valgrind`: run the builds of
# valgrind.sql on a server under valgrind.  server.sh compiles the server with
# valgrind's client requests for memory contexts and buffers.  The check fails
# if valgrind finds an error in any process, except errors in the server's list
# and in valgrind.supp.  The last line is "N passed, N failed".  KEEP=1 keeps
# the working directory.  The script also saves valgrind's output in
# build/check/.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

major=${1:-15}

# missing_valgrind: print the package valgrind if it is missing.  If the
# server is already built, server.sh installs no packages, so valgrind can be
# missing
missing_valgrind()
{
	# shellcheck disable=SC2317 # called by name
	command -v valgrind >/dev/null || echo valgrind
}

# write_wrapper: write the program that pg_ctl starts in place of postgres.  The
# server forks its processes, so all processes run under valgrind.
write_wrapper()
{
	cat >"$work/postgres-valgrind" <<WRAPPER
#!/bin/sh
exec valgrind --leak-check=no --gen-suppressions=all --num-callers=30 \\
	--error-limit=no --log-file="$work/valgrind/%p.log" \\
	--suppressions="$source/src/tools/valgrind.supp" \\
	--suppressions="$work/src/contrib/dev/valgrind.supp" \\
	"$bindir/postgres" "\$@"
WRAPPER
	mkdir -p "$work/valgrind"
	chmod +x "$work/postgres-valgrind"
	own_workdir
}

# run_builds: run valgrind.sql
run_builds()
{
	local log=$work/builds.log status
	as_user "$bindir/psql" -X -d postgres \
		-f "$work/src/contrib/dev/valgrind.sql" >"$log" 2>&1
	status=$?
	count "$log" "$status" || grep -vE '^ok ' "$log"
	say "$(grep -cE '^ok ' "$log") builds were right"
}

# check_processes: check that the processes ended, and that valgrind found no
# errors.  A process that ends normally logs a summary.  If the server crashes,
# it kills its processes, so they log no summary; this function still checks
# their logs.
check_processes()
{
	local logs=("$work"/valgrind/*.log) errors summaries
	summaries=$(cat "${logs[@]}" | grep -c 'ERROR SUMMARY: ')
	[ "$summaries" -ge 20 ]
	result $? "${#logs[@]} logs of valgrind, $summaries processes ended"
	errors=$(cat "${logs[@]}" | grep -c '<insert_a_suppression_name_here>')
	if [ "$errors" -gt 0 ]; then
		grep -hvE 'insert_a_suppression|^(\{|\}|   (fun|obj|Memcheck|\.\.\.).*)$' \
			"${logs[@]}" | grep -A 200 -m 1 -E '(Invalid|Conditional|Use of|uninit|overlap)' |
			head -n 120
		cat "${logs[@]}" >"$work/valgrind.txt"
		keep_report "$work/valgrind.txt"
	fi
	result "$errors" "errors found by valgrind: $errors"
}

ensure_packages missing_valgrind || give_up "packages are missing"
PG_CONFIG=$(contrib/dev/server.sh "$major") || give_up "no server"
PG_CONFIG=$PG_CONFIG contrib/dev/setup.sh || give_up "packages are missing"
source=$(realpath "$(dirname "$PG_CONFIG")/../../src")
find_server || give_up "$PG_CONFIG is no complete server"
make_workdir ""
say "build"
install_private || give_up "the build failed"
write_wrapper
postgres_wrapper=$work/postgres-valgrind
start_cluster "max_worker_processes = 8" "max_parallel_workers = 8" \
	"max_parallel_maintenance_workers = 4" "autovacuum = off" "jit = off" \
	"fsync = off" "max_prepared_transactions = 2" \
	"max_logical_replication_workers = 0" "maintenance_work_mem = 3MB" \
	"shared_preload_libraries = 'ptsort, ptsort_test'" "ptsort.min_table_size = 0" \
	"ptsort_test.all_workers = on" ||
	give_up "the server does not start"
start=$SECONDS
run_builds
say "$((SECONDS - start)) s"
stop_cluster || failed=$((failed + 1))
check_processes
check_logs "log of the server under valgrind" "" "$work/server.log"
finish
