#!/bin/bash
#
# core-suites.sh MAJOR - run the server's own regression and isolation tests,
# and those of its modules with GiST or GIN classes, with ptsort, on the server that
# server.sh builds.  In a first run ptsort builds the indexes of all tables, with
# forced workers.  In a second run ptsort also does the sorts of all queries.  After
# each suite ptsort checks all indexes of its database.  The last line is
# "N passed, N failed".
#
# A test fails if its output differs from the server's expected output, unless
# contrib/dev/core-differences lists the difference.  In the second run the order
# of rows may differ: rows-differ.py prints the other differences.  The server
# asserts that rows are in the order of their keys: see sortnode.c.  KEEP=1 keeps
# the working directory.  The script also saves unlisted differences in
# build/check/.
#
# shellcheck disable=SC2317 # functions are called by name

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

major=${1:?usage: core-suites.sh MAJOR}
differences=$PWD/contrib/dev/core-differences
modules=(btree_gin btree_gist cube hstore intarray ltree pg_trgm seg)

# copy_suite DIR: copy a directory of tests into $work, so that the tests do not
# write to the source tree
copy_suite()
{
	local suite=${1##*/}
	mkdir -p "$work/$suite" "$work/diffs/$suite" || return 1
	cp -R "$source/$1/." "$work/$suite/"
}

# tests_of_module MODULE: print the names of the module's tests
tests_of_module()
{
	sed -nE ':a
		/\\$/ { N; s/\\\n//; ta; }
		s/^REGRESS *= *//p' "$work/$1/Makefile"
}

# run_suite SUITE PROGRAM ARGUMENT...: run the tests that the arguments choose one
# after the other, so that no test takes the workers of another test
run_suite()
{
	local suite=$1 program=$2 log=$work/$1.log start=$SECONDS
	shift 2
	say "$suite of PostgreSQL $major"
	as_user env -C "$work/$suite" "$program" --inputdir=. --outputdir=. \
		--bindir="$bindir" --dlpath=. --max-connections=1 "$@" >"$log" 2>&1
	suite_status=$?
	say "$suite: $((SECONDS - start)) s"
}

# without_workers FILE: print the differences in FILE, except added context
# lines "parallel worker".  The server adds this line if a worker raised the
# error.  Sometimes the leader and sometimes a worker finds a duplicate or calls
# a function, also in the server's own builds.
without_workers()
{
	sed -E '/^\+(CONTEXT:  )?parallel worker$/d' "$@"
}

# split_diffs SUITE: write each test's part of regression.diffs to
# diffs/SUITE/TEST.diff, without file names, line numbers and the lines that
# without_workers omits.
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

# tests_of LOG ok|FAILED: print the names of the tests with the given result.
# The log can be in the format of pg_regress 15, or in that of 16 and later.
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

# listed NAME FILE: succeed if core-differences lists the difference in FILE
listed()
{
	grep -qx "$1 $(sha256sum <"$2" | cut -d' ' -f1)" "$differences"
}

# unlisted NAME FILE: print and save a difference that is not listed; fail
unlisted()
{
	echo "$1 differs, and core-differences does not list the difference with" \
		"SHA-256 $(sha256sum <"$2" | cut -d' ' -f1):"
	head -n 200 "$2"
	keep_report "$2"
	return 1
}

# judge_difference SUITE TEST: succeed if the test's output differs from the
# expected output exactly as listed
judge_difference()
{
	local found=$work/diffs/$1/$2.diff
	if [ ! -f "$found" ]; then
		echo "$1/$2 failed without a difference"
		return 1
	fi
	[ ! -s "$found" ] || listed "$1/$2" "$found" || unlisted "$1/$2" "$found"
}

# judge_order SUITE TEST: succeed if the result differs from an expected output
# only in the order of rows, or exactly as listed
judge_order()
{
	local found=$work/diffs/$1/$2.order output
	for output in "$work/$1/expected/$2".out "$work/$1/expected/$2"_[0-9].out; do
		[ -f "$output" ] || continue
		"$top/contrib/dev/rows-differ.py" "$output" "$work/$1/results/$2.out" \
			>"$found.all" || return 1
		without_workers "$found.all" >"$found"
		if [ ! -s "$found" ] || listed "sorts/$2" "$found"; then
			return 0
		fi
	done
	unlisted "sorts/$2" "$found"
}

# judge_suite SUITE JUDGE: count the suite's tests; call JUDGE for tests that
# differ
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
	passed=$((passed + ${#good[@]}))
	for test in "${bad[@]}"; do
		"$judge" "$suite" "$test"
		result $? "$suite/$test: only listed differences"
	done
	say "$suite: ${#good[@]} of $((${#good[@]} + ${#bad[@]})) tests agree" \
		"with the server; these differ: ${bad[*]:-none}"
}

# check_indexes SUITE DATABASE: count one test, which checks all indexes of the
# database that the suite left behind.  It fails if one has a problem that
# core-differences does not list.
check_indexes()
{
	local found=$work/diffs/$1/check_indexes.diff
	as_user "$bindir/psql" -XqAtd "$2" -c "CREATE SCHEMA ptsort_suites" \
		-c "CREATE EXTENSION ptsort SCHEMA ptsort_suites" \
		-c "SELECT index, problems, details
			FROM ptsort_suites.ptsort_check_all(heap => true)
			WHERE index IS NOT NULL AND problems IS NOT NULL" >"$found.all" 2>&1
	grep -v '|0|{}$' "$found.all" >"$found"
	[ "$(wc -l <"$found.all")" -ge 150 ] && { [ ! -s "$found" ] ||
		listed "$1/check_indexes" "$found" || unlisted "$1/check_indexes" "$found"; }
	result $? "$1: $(wc -l <"$found.all") indexes have no unlisted problem"
}

# check_builds: check that ptsort built the indexes, and used workers.  The
# tests of PostgreSQL 15 build three GiST indexes that workers can sort, and more
# than 30 GIN indexes.
check_builds()
{
	local built parallel gist gin
	built=$(grep -c 'LOG:  ptsort: built index' "$work/server.log")
	parallel=$(grep -cE 'LOG:  ptsort: built index .*: [23] participants' \
		"$work/server.log")
	[ "$built" -ge 400 ] && [ "$parallel" -ge 300 ]
	result $? "$built indexes built by ptsort, $parallel with workers"
	gist=$(grep -cE 'LOG:  ptsort: building index .*: [23] participants.* GiST,' \
		"$work/server.log")
	[ "$gist" -ge 3 ]
	result $? "$gist of them are GiST indexes"
	gin=$(grep -cE 'LOG:  ptsort: building index .*: [23] participants.* GIN,' \
		"$work/server.log")
	[ "$gin" -ge 30 ]
	result $? "$gin of them are GIN indexes"
}

# check_sorts: check that ptsort sorted rows of queries
check_sorts()
{
	local sorted
	sorted=$(grep -c 'LOG:  ptsort: sorted' "$work/server.log")
	[ "$sorted" -ge 4000 ]
	result $? "$sorted sorts of queries by ptsort"
}

# run_suites JUDGE: run the regression tests, then the isolation tests, then the
# modules' tests
run_suites()
{
	local suite tests
	for suite in src/test/regress src/test/isolation "${modules[@]/#/contrib/}"; do
		copy_suite "$suite" || give_up "no directory $suite"
	done
	own_workdir
	run_suite regress ./pg_regress --schedule=parallel_schedule
	judge_suite regress "$1"
	check_indexes regress regression
	run_suite isolation ./pg_isolation_regress --schedule=isolation_schedule
	judge_suite isolation "$1"
	check_indexes isolation isolation_regression
	for suite in "${modules[@]}"; do
		read -ra tests < <(tests_of_module "$suite")
		run_suite "$suite" ../regress/pg_regress --dbname="$suite" "${tests[@]}"
		judge_suite "$suite" "$1"
		check_indexes "$suite" "$suite"
	done
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
say "the same suites with sorts by ptsort"
as_user "$bindir/psql" -Xqd postgres -c "ALTER SYSTEM SET ptsort.sort = on" \
	-c "ALTER SYSTEM SET ptsort.min_sort_rows = 0" \
	-c "ALTER SYSTEM SET ptsort.log_sort = on" \
	-c "SELECT pg_reload_conf()" >/dev/null ||
	give_up "sorts cannot be switched on"
rm -rf "${work:?}/regress" "$work/isolation" "${modules[@]/#/$work/}" "$work/diffs"
run_suites judge_order
check_sorts
stop_cluster || failed=$((failed + 1))
check_logs "log of the server of the suites" "" "$work/server.log"
finish
