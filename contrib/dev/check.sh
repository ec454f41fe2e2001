#!/bin/bash
#
# check.sh - `make check`: install what is missing, build, and run every test
# in a private copy of the server; the last line is "N passed, N failed".
#
# PG_CONFIG chooses the server, TESTS="t/001_x.pl ..." limits the TAP files,
# TAP_ONLY=1 leaves out pg_regress, KEEP=1 keeps the working directory.  Reports of failed tests are also left in
# build/check/.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh

passed=0
failed=0

# finish: the last line, and the exit status
finish()
{
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}

# give_up WORDS: the tests could not even start
give_up()
{
	echo "$*"
	failed=$((failed + 1))
	finish
}

# count LOG STATUS: add a log's test lines to the totals.  Both of pg_regress's
# formats (15; 16 and later) and TAP are understood.  A program that failed
# without naming a failed test counts as one.
count()
{
	local good bad
	good=$(grep -cE '^ok +[0-9]+|^(test| {4}) .*\.\.\. ok( |$)' "$1")
	bad=$(grep -cE '^not ok +[0-9]+|^(test| {4}) .*\.\.\. FAILED' "$1")
	if [ "$2" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
	[ "$bad" -eq 0 ]
}

# keep_report FILE...: leave a failed test's report where it can be found
keep_report()
{
	mkdir -p "$top/build/check" 2>/dev/null &&
		cp "$@" "$top/build/check/" 2>/dev/null &&
		say "report: build/check/"
}

# run_regress DIR: pg_regress in one source directory
run_regress()
{
	local dir=$1 log=$work/regress.log status
	say "pg_regress: ${dir#"$work/"}"
	as_user make -C "$dir" --no-print-directory \
		"PG_CONFIG=$private_config" installcheck >"$log" 2>&1
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

# run_tap FILE: one TAP file, with the environment PGXS would give it.  Of what
# it says, notes that begin with "==" are shown.
run_tap()
{
	local file=$1 log status pgxs start=$SECONDS
	log=$work/tap.$(basename "$file" .pl).log
	pgxs=$(dirname "$("$private_config" --pgxs)")/../..
	as_user env -C "$work/src" TESTDIR="$work/src" \
		TESTDATADIR="$work/src/tmp_check" \
		TESTLOGDIR="$work/src/tmp_check/log" \
		PG_REGRESS="$pgxs/src/test/regress/pg_regress" PGPORT=65432 \
		PG_TEST_TIMEOUT_DEFAULT="${PG_TEST_TIMEOUT_DEFAULT:-600}" \
		prove -v -I "$pgxs/src/test/perl" -I . "$file" >"$log" 2>&1
	status=$?
	if count "$log" "$status"; then
		printf '%-40s ok %5d s, %d tests\n' "$file" $((SECONDS - start)) \
			"$(grep -c '^ok ' "$log")"
		grep -E '^ok [0-9]+ .*# *(skip|SKIP)|skipped: |^# == ' "$log"
	else
		printf '%-40s FAILED\n' "$file"
		grep -vE '^ok ' "$log" | tail -n 60
		show_node_logs "$(basename "$file" .pl)"
		keep_report "$log"
	fi
	rm -rf "$work"/src/tmp_check/t_*_data
}

# show_node_logs NAME: the end of the server logs of a failed TAP file
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
# Nothing may hold a snapshot, gather statistics or take workers by chance.
start_cluster "max_worker_processes = 16" "max_parallel_workers = 16" \
	"autovacuum = off" "jit = off" "max_logical_replication_workers = 0" ||
	give_up "the server does not start"

for dir in "$work/src" "$work"/src/contrib/*/; do
	dir=${dir%/}
	if [ -z "${TAP_ONLY:-}" ] && [ -f "$dir/Makefile" ] && [ -n "$(find "$dir/sql" -name '*.sql' 2>/dev/null)" ]; then
		run_regress "$dir"
	fi
done
stop_cluster || failed=$((failed + 1))

say "TAP"
cd "$work/src" || give_up "no source directory"
for file in ${TESTS:-t/*.pl contrib/*/t/*.pl}; do
	[ ! -f "$file" ] || run_tap "$file"
done
finish
