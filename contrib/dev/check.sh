#!/bin/bash
#
# check.sh - `make check`: install missing packages, build, and run all tests in
# a private copy of the server.  The last line is "N passed, N failed".
#
# PG_CONFIG chooses the server.  TESTS="t/001_x.pl ..." limits the TAP files.
# SQL_TESTS="types ptsort_test/keys ..." limits pg_regress to the named tests,
# in the given order.  A name without a directory stands for the tests of that
# name in all directories; "src/" stands for the top directory.  TAP_ONLY=1
# leaves out pg_regress; KEEP=1 keeps the working directory.  With
# NO_INSTALL=1, the check does not install missing packages, but names them and
# fails.  JOBS=n runs n jobs at a time.  A job is a TAP file, or pg_regress in
# all directories.  The default for n is the number of processors, but at most
# 4.  A TAP file that must run without other jobs contains a line such as:
#
#	# Runs alone: it replaces the library that all servers load
#
# FUZZ_SECONDS=n sets how long contrib/fuzz/t/001_fuzz.pl plays each kind of case.
# "make fuzz" plays one kind for longer.
#
# The script prints a job's output when the job ends.  If a TAP file takes
# longer than TAP_SECONDS, the script ends it and counts it as failed.  The
# script also saves reports of failed tests in build/check/.
#
# If a TAP file fails, and contains a line such as:
#
#	# Its servers are kept after a failure: the pages show the cause
#
# the script saves its servers' data directories in build/check/, too.
#
# The script checks the log of each server that a test starts.  See tally.sh for
# the messages that a log must not contain, and for the line by which a test
# allows some of these messages.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

# sql_tests DIR: print the names of a source directory's SQL tests that SQL_TESTS
# chooses, after "setup" if the directory has such a test
sql_tests()
{
	local name chosen=()
	for name in $SQL_TESTS; do
		case $name in
			*/*) [ "${name%/*}" = "${1##*/}" ] || continue ;;
		esac
		name=${name##*/}
		[ ! -f "$1/sql/$name.sql" ] || chosen+=("$name")
	done
	if [ ${#chosen[@]} -gt 0 ] && [ -f "$1/sql/setup.sql" ]; then
		chosen=(setup "${chosen[@]}")
	fi
	echo "${chosen[*]}"
}

# run_regress DIR: run pg_regress in one source directory
run_regress()
{
	local dir=$1 log=$work/regress.log status chosen=()
	if [ -n "${SQL_TESTS:-}" ]; then
		chosen=("REGRESS=$(sql_tests "$dir")")
		[ "${chosen[0]}" != REGRESS= ] || return
	fi
	say "pg_regress: ${dir#"$work/"}"
	as_user make -C "$dir" --no-print-directory \
		"PG_CONFIG=$private_config" "${chosen[@]}" installcheck >"$log" 2>&1
	status=$?
	if count "$log" "$status"; then
		grep -E '^ok |\.\.\. ok' "$log"
	else
		cat "$log"
		if [ -f "$dir/regression.diffs" ]; then
			head -n 400 "$dir/regression.diffs"
			keep_report "$dir/regression.diffs"
		else
			tail -n 50 "$work/server.log"
		fi
	fi
}

# run_all_regress: run pg_regress in all directories, on one server
run_all_regress()
{
	local dir
	# No background process may hold a snapshot, gather statistics or use
	# workers.
	start_cluster "max_worker_processes = 16" "max_parallel_workers = 16" \
		"autovacuum = off" "jit = off" "max_logical_replication_workers = 0" ||
		give_up "the server does not start"
	for dir in "$work/src" "$work"/src/contrib/*/; do
		dir=${dir%/}
		if [ -f "$dir/Makefile" ] && [ -n "$(find "$dir/sql" -name '*.sql' 2>/dev/null)" ]; then
			run_regress "$dir"
		fi
	done
	stop_cluster || failed=$((failed + 1))
	check_logs "log of the server of pg_regress" "" "$work/server.log"
	unset PGHOST PGPORT PGUSER
}

# keep_servers FILE: save the data directories of a failed TAP file's servers, if
# the file wants this
keep_servers()
{
	local archive=$work/servers.$(name_of "$1").tgz
	grep -q '^# Its servers are kept after a failure: ' "$1" || return
	(cd "$work/src/tmp_check" &&
		tar -czf "$archive" "t_$(name_of "$1")"_*_data 2>/dev/null) &&
		keep_report "$archive"
	rm -f "$archive"
}

# name_of FILE: print the TAP file's name as it appears in the names of its
# logs, servers and directories
name_of()
{
	basename "$1" .pl
}

# run_tap FILE: run one TAP file, with the environment that PGXS would set.
# Prints the file's notes that begin with "==".
run_tap()
{
	local file=$1 name log status pgxs start=$SECONDS
	name=$(name_of "$file")
	log=$work/tap.$name.log
	pgxs=$(dirname "$("$private_config" --pgxs)")/../..
	watch_tap "$file" &
	watcher=$!
	as_user env -C "$work/src" TESTDIR="$work/src" \
		TESTDATADIR="$work/src/tmp_check" \
		TESTLOGDIR="$work/src/tmp_check/log" \
		PG_REGRESS="$pgxs/src/test/regress/pg_regress" PGPORT=65432 \
		PG_TEST_TIMEOUT_DEFAULT="${PG_TEST_TIMEOUT_DEFAULT:-600}" \
		prove -v -I "$pgxs/src/test/perl" -I . "$file" >"$log" 2>&1
	status=$?
	end_watcher "$name"
	if count "$log" "$status"; then
		printf '%-40s ok %5d s, %d tests\n' "$file" $((SECONDS - start)) \
			"$(grep -c '^ok ' "$log")"
		grep -E '^ok [0-9]+ .*# *(skip|SKIP)|skipped: |^# (==|total:) ' "$log"
	else
		printf '%-40s FAILED\n' "$file"
		grep -vE '^ok ' "$log" | tail -n 60
		show_node_logs "$name"
		keep_report "$log"
	fi
	check_node_logs "$file"
	# if watch_tap ended the TAP file, the servers may still be running
	stop_servers "$work/src/tmp_check/t_$name"_*_data
	[ "$failed" -eq 0 ] || keep_servers "$file"
	rm -rf "$work/src/tmp_check/t_$name"_*_data
}

# end_tap FILE: end the TAP file's process, and the prove process
# that runs the file
end_tap()
{
	local prove
	prove=$(pgrep -f "$work/.* $1\$" | head -n 1)
	[ -z "$prove" ] || { pgrep -P "$prove"; echo "$prove"; } | xargs kill -TERM
}

# watch_tap FILE: after TAP_SECONDS, report the activity of the file's servers,
# and end the file's process.
watch_tap()
{
	local nap
	trap 'kill "$nap" 2>/dev/null; exit' TERM
	sleep "${TAP_SECONDS:-1200}" &
	nap=$!
	wait "$nap"
	{
		say "$1 took too long"
		show_processes "$(name_of "$1")"
		end_tap "$1"
	} >"$work/overdue.$(name_of "$1")" 2>&1
}

# end_watcher NAME: end watch_tap, and print its output, if any
end_watcher()
{
	kill -TERM "$watcher" 2>/dev/null
	wait "$watcher"
	watcher=
	[ ! -s "$work/overdue.$1" ] || cat "$work/overdue.$1"
	rm -f "$work/overdue.$1"
}

# run_lane TEST...: run each test that no other lane began, one after the other.
# A lane is one of the processes that run tests at the same time.  A TEST is a
# TAP file or "pg_regress".  To begin a test, the lane creates the test's
# directory.  Later the lane writes the test's output and totals to this
# directory.  If a signal ends the lane, the lane first ends the running test.
run_lane()
{
	local test='' dir
	trap 'end_tap "$test"; [ -z "$child" ] || kill -TERM "$child"
		[ -z "$watcher" ] || kill -TERM "$watcher"; exit 143' TERM
	for test in "$@"; do
		dir=$(lane_dir "$test")
		mkdir "$dir" 2>/dev/null || continue
		passed=0
		failed=0
		case $test in
			pg_regress) run_all_regress ;;
			*) run_tap "$test" ;;
		esac >"$dir/said" 2>&1
		echo "$passed $failed" >"$dir/totals"
		flock "$work/lanes" cat "$dir/said"
	done
}

# lane_dir TEST: print the directory that run_lane creates for the test
lane_dir()
{
	echo "$work/lanes/${1//\//+}"
}

# run_lanes JOBS TEST...: run JOBS tests at a time, and add up their totals
run_lanes()
{
	local jobs=$1 test lane good bad
	shift
	mkdir -p "$work/lanes"
	for ((lane = 0; lane < jobs; lane++)); do
		run_lane "$@" &
		lanes+=($!)
	done
	wait "${lanes[@]}"
	lanes=()
	for test in "$@"; do
		if read -r good bad 2>/dev/null <"$(lane_dir "$test")/totals"; then
			passed=$((passed + good))
			failed=$((failed + bad))
		else
			cat "$(lane_dir "$test")/said" 2>/dev/null
			result 1 "$test did not finish"
		fi
	done
}

# run_tests TEST...: run the tests; TAP files that must run alone come last
run_tests()
{
	local test jobs=${JOBS:-} together=() alone=()
	if [ -z "$jobs" ]; then
		jobs=$(nproc)
		[ "$jobs" -le 4 ] || jobs=4
	fi
	for test in "$@"; do
		if [ "$test" = pg_regress ]; then
			together+=("$test")
		elif [ ! -f "$test" ]; then
			continue
		elif grep -q '^# Runs alone: ' "$test"; then
			alone+=("$test")
		else
			together+=("$test")
		fi
	done
	run_lanes "$jobs" "${together[@]}"
	run_lanes 1 "${alone[@]}"
}

# copy_initdb: make a cluster, and replace initdb by a script that copies this
# cluster if a TAP file wants one without special options.  This takes a tenth of
# the time.  (PostgreSQL::Test::Cluster of 17 and later copies INITDB_TEMPLATE.)
copy_initdb()
{
	export INITDB_TEMPLATE=$work/template
	as_user "$bindir/initdb" -D "$INITDB_TEMPLATE" -A trust -N \
		>"$work/initdb.log" 2>&1 || return 1
	mv "$bindir/initdb" "$bindir/initdb-program"
	cat >"$bindir/initdb" <<-SCRIPT
		#!/bin/sh
		[ "\$# \$1 \$3 \$4 \$5" != "5 -D -A trust -N" ] ||
			exec cp -RPp '$INITDB_TEMPLATE' "\$2"
		exec '$bindir/initdb-program' "\$@"
	SCRIPT
	chmod 755 "$bindir/initdb"
}

# show_processes NAME: print the stack of each process of a TAP file's servers,
# and the locks that processes wait for
show_processes()
{
	local pidfile pid
	find "$work/src/tmp_check/t_$1"_*_data -name postmaster.pid 2>/dev/null | while read -r pidfile; do
		psql -X -h "$(sed -n 5p "$pidfile")" -p "$(sed -n 4p "$pidfile")" \
			-U "${run_user:-$(id -un)}" postgres \
			-c "SELECT pid, backend_type, state, wait_event_type, wait_event, xact_start,
				left(query, 200) FROM pg_stat_activity ORDER BY 1" \
			-c "SELECT * FROM pg_locks WHERE NOT granted"
		pid=$(head -n 1 "$pidfile")
		for pid in "$pid" $(pgrep -P "$pid"); do
			say "$(ps -o pid=,stat=,time=,args= -p "$pid")"
			gdb -p "$pid" --batch -ex bt 2>/dev/null | grep '^#'
		done
	done
}

# check_node_logs FILE: check the logs of all servers that a TAP file started
check_node_logs()
{
	local logs=("$work/src/tmp_check/log/$(name_of "$1")"_*.log)
	[ ! -f "${logs[0]}" ] ||
		check_logs "$1: logs of ${#logs[@]} servers" "$(may_log "$1")" \
			"${logs[@]}"
}

# show_node_logs NAME: print the ends of the server logs of a failed TAP file
show_node_logs()
{
	local node
	for node in "$work"/src/tmp_check/log/"$1"_*.log; do
		[ -f "$node" ] || continue
		say "end of ${node##*/}"
		tail -n 25 "$node"
	done
}

contrib/dev/setup.sh || give_up "packages are missing"
find_server || give_up "no PostgreSQL server found"
say "$("$pg_config" --version)"
make_workdir ""
say "build"
install_private || give_up "the build failed"
copy_initdb || give_up "initdb failed"
cd "$work/src" || give_up "no source directory"
say "tests"
# The longest test comes first, so that no lane runs it alone at the end.
# shellcheck disable=SC2046,SC2086 # several files
run_tests $([ -n "${TAP_ONLY:-}" ] || echo pg_regress) ${TESTS:-contrib/*/t/*.pl t/*.pl}
finish
