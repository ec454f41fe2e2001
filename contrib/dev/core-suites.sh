#!/bin/bash
#
# core-suites.sh MAJOR - run the server's own regression and isolation tests
# with ptsort: every table taken, workers forced, on the server that server.sh
# builds; then both again with the sorts of all queries taken as well.  The last
# line is "N passed, N failed".
#
# A test whose output differs from the server's fails, unless that difference
# is in contrib/dev/core-differences/MAJOR/SUITE/TEST.diff: lines beginning
# with "#" that say why, then exactly the difference (file names and line
# numbers aside).  With sorts, the order of rows may differ: a test fails unless
# what rows-differ.py says of it is in .../MAJOR/sorts/TEST.diff.  (The server
# asserts that rows are in the order of their keys: sortnode.c.)
# KEEP=1 keeps the working directory; differences that are not listed are also
# left in build/check/.
#
# shellcheck disable=SC2317 # functions are called by name

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

major=${1:?usage: core-suites.sh MAJOR}
listed=$PWD/contrib/dev/core-differences/$major

# copy_suite SUITE: its directory of the built source tree into $work, so that
# nothing is written there
copy_suite()
{
	mkdir -p "$work/$1" "$work/diffs/$1" || return 1
	cp -R "$source/src/test/$1/." "$work/$1/"
}

# run_suite SUITE PROGRAM SCHEDULE: one after the other, so that no test takes
# the workers of another
run_suite()
{
	local suite=$1 program=$2 schedule=$3 log=$work/$1.log start=$SECONDS
	say "$suite of PostgreSQL $major"
	as_user env -C "$work/$suite" "./$program" --inputdir=. --outputdir=. \
		--bindir="$bindir" --dlpath=. --max-connections=1 \
		--schedule="$schedule" >"$log" 2>&1
	suite_status=$?
	say "$suite: $((SECONDS - start)) s"
}

# without_workers FILE: the lines of differences but those that say that an error's
# context is, or ends with, "parallel worker": whichever participant meets a
# duplicate or calls a function raises the error, and if that is a worker, as it
# may or may not be, also in the server's own builds, the server says so.
without_workers()
{
	sed -E '/^\+(CONTEXT:  )?parallel worker$/d' "$@"
}

# split_diffs SUITE: each test's part of regression.diffs, without what names
# files, lines and workers, in diffs/SUITE/TEST.diff.
split_diffs()
{
	[ -f "$work/$1/regression.diffs" ] || return 0
	without_workers "$work/$1/regression.diffs" | awk -v "dir=$work/diffs/$1" '
		function end_place() {
			if (place != "" && differs)
				printf "@@\n%s", place > (dir "/" name ".diff")
			else if (place != "")
				printf "" > (dir "/" name ".diff")
			place = ""
			differs = 0
		}
		/^diff -U3 / {
			end_place()
			name = $NF
			sub(".*/", "", name)
			sub("\\.out$", "", name)
			next
		}
		/^(---|\+\+\+) .*\.out\t/ { next }
		/^@@ / { end_place(); next }
		/^[-+]/ { differs = 1 }
		{ place = place $0 "\n" }
		END { end_place() }
	'
}

# tests_of LOG ok|FAILED: names of the tests with that result, in the formats
# of pg_regress before 16 and since
tests_of()
{
	case $2 in
		ok)
			sed -nE 's/^ok +[0-9]+ +[-+] ([^ ]+) .*/\1/p
				s/^(test| {4}) *([^ ]+) +\.\.\. ok( .*|$)/\2/p' "$1"
			;;
		*)
			sed -nE 's/^not ok +[0-9]+ +[-+] ([^ ]+) .*/\1/p
				s/^(test| {4}) *([^ ]+) +\.\.\. FAILED.*/\2/p' "$1"
			;;
	esac
}

# judge_difference SUITE TEST: is what differs exactly what is listed?
judge_difference()
{
	local found=$work/diffs/$1/$2.diff expected=$listed/$1/$2.diff
	if [ ! -f "$found" ]; then
		echo "$1/$2 failed without a difference"
		return 1
	elif [ ! -s "$found" ]; then
		[ ! -f "$expected" ] ||
			say "$1/$2 is listed, but does not differ any more"
		return 0
	elif [ ! -f "$expected" ]; then
		head -n 200 "$found"
	elif grep -v '^#' "$expected" | cmp -s - "$found"; then
		return 0
	else
		echo "$1/$2 differs otherwise than is listed:"
		grep -v '^#' "$expected" | diff - "$found" | head -n 100
	fi
	keep_report "$found"
	return 1
}

# judge_order SUITE TEST: is all but the order of rows what one of the expected
# outputs has, or exactly what is listed?
judge_order()
{
	local found=$work/diffs/$1/$2.order expected=$listed/sorts/$2.diff output
	for output in "$work/$1/expected/$2".out "$work/$1/expected/$2"_[0-9].out; do
		[ -f "$output" ] || continue
		"$top/contrib/dev/rows-differ.py" "$output" "$work/$1/results/$2.out" \
			>"$found.all" || return 1
		without_workers "$found.all" >"$found"
		[ -s "$found" ] || return 0
		if [ -f "$expected" ] && grep -v '^#' "$expected" | cmp -s - "$found"; then
			return 0
		fi
	done
	echo "$1/$2 differs in more than the order of rows:"
	head -n 100 "$found"
	keep_report "$found"
	return 1
}

# judge_suite SUITE JUDGE: count its tests; JUDGE is asked about those that differ
judge_suite()
{
	local suite=$1 judge=$2 log=$work/$1.log test good bad
	mapfile -t good < <(tests_of "$log" ok)
	mapfile -t bad < <(tests_of "$log" FAILED)
	if [ ${#good[@]} -eq 0 ] ||
		{ [ "$suite_status" -ne 0 ] && [ ${#bad[@]} -eq 0 ]; }; then
		tail -n 50 "$log"
		result 1 "$suite did not run"
		return
	fi
	split_diffs "$suite"
	for test in "${good[@]}"; do
		[ ! -f "$listed/$suite/$test.diff" ] ||
			say "$suite/$test is listed, but does not differ any more"
	done
	passed=$((passed + ${#good[@]}))
	for test in "${bad[@]}"; do
		"$judge" "$suite" "$test"
		result $? "$suite/$test: no difference but what is listed"
	done
	say "$suite: ${#good[@]} of $((${#good[@]} + ${#bad[@]})) are the" \
		"server's; differ: ${bad[*]:-none}"
}

# check_builds: were the indexes built by ptsort, and with workers?
check_builds()
{
	local built parallel
	built=$(grep -c 'LOG:  ptsort: built index' "$work/server.log")
	parallel=$(grep -cE 'LOG:  ptsort: built index .*: [23] participants' \
		"$work/server.log")
	[ "$built" -ge 400 ] && [ "$parallel" -ge 300 ]
	result $? "$built indexes built by ptsort, $parallel with workers"
}

# check_sorts: were rows of queries sorted by ptsort?
check_sorts()
{
	local sorted
	sorted=$(grep -c 'LOG:  ptsort: sorted' "$work/server.log")
	[ "$sorted" -ge 4000 ]
	result $? "$sorted sorts of queries by ptsort"
}

# run_suites JUDGE: the regression tests, then the isolation tests
run_suites()
{
	copy_suite regress || give_up "no regress suite"
	copy_suite isolation || give_up "no isolation suite"
	own_workdir
	run_suite regress pg_regress parallel_schedule
	judge_suite regress "$1"
	run_suite isolation pg_isolation_regress isolation_schedule
	judge_suite isolation "$1"
}

PG_CONFIG=$(contrib/dev/server.sh "$major") ||
	give_up "no server"
source=$(dirname "$PG_CONFIG")/../../src
PG_CONFIG=$PG_CONFIG contrib/dev/setup.sh || give_up "packages are missing"
find_server || give_up "$PG_CONFIG is no complete server"
make_workdir ""
say "build"
install_private || give_up "the build failed"
initdb_options=(--locale=C --encoding=UTF8)
start_cluster "max_prepared_transactions = 10" "max_worker_processes = 24" \
	"max_parallel_workers = 16" "max_parallel_maintenance_workers = 4" \
	"shared_preload_libraries = 'ptsort, ptsort_test'" "ptsort.min_table_size = 0" \
	"ptsort.parallel_workers = 2" "ptsort_test.all_workers = on" \
	"ptsort.log_build = on" "fsync = off" ||
	give_up "the server does not start"
run_suites judge_difference
check_builds
say "the same with sorts"
as_user "$bindir/psql" -Xqd postgres -c "ALTER SYSTEM SET ptsort.sort = on" \
	-c "ALTER SYSTEM SET ptsort.min_sort_rows = 0" \
	-c "ALTER SYSTEM SET ptsort.log_sort = on" \
	-c "SELECT pg_reload_conf()" >/dev/null ||
	give_up "sorts cannot be switched on"
rm -rf "${work:?}/regress" "$work/isolation" "$work/diffs"
run_suites judge_order
check_sorts
stop_cluster || failed=$((failed + 1))
check_logs "log of the server of the suites" "" "$work/server.log"
finish
