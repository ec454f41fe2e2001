# shellcheck shell=bash
#
# tally.sh - what the check-*.sh scripts share: counting what passed and what
# failed, the last line "N passed, N failed", and looking through the logs of
# servers.  Sourced after common.sh.

passed=0
failed=0

# What no server may say, whatever the test: broken assertions, panics, killed
# processes, memory written past its end, references that nobody gave back,
# and what the sanitizers of gcc say.
log_defects='TRAP: |PANIC:  |was terminated by signal|write past chunk end'
log_defects+='|process .* exited with exit code ([2-9]|[1-9][0-9])'
log_defects+='|problem in (alloc set|Generation|slab|Bump)'
log_defects+='|WARNING:  .*(leak|was not closed|snapshot .* still active)'
log_defects+='|is not owned by resource owner'
log_defects+='|AddressSanitizer|LeakSanitizer|runtime error: '

# finish: the last line, and the exit status
finish()
{
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}

# give_up WORDS: it could not even start
give_up()
{
	echo "$*"
	failed=$((failed + 1))
	finish
}

# result STATUS WORDS: count one test, and say how it went
result()
{
	local status=$1
	shift
	if [ "$status" -eq 0 ]; then
		passed=$((passed + 1))
		printf '%-66s ok\n' "$*"
	else
		failed=$((failed + 1))
		printf '%-66s FAILED\n' "$*"
	fi
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

# count_child NAME COMMAND...: run a script that ends with its own last line
# (but for where KEEP=1 keeps files); add that line's numbers to the totals
count_child()
{
	local name=$1 out good bad status
	shift
	out=$(mktemp "${TMPDIR:-/var/tmp}/ptsort-tally.XXXXXX") || exit 1
	"$@" 2>&1 | tee "$out"
	status=${PIPESTATUS[0]}
	read -r good bad < <(grep -v '^== kept: ' "$out" |
		sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p')
	rm -f "$out"
	if [ -z "${bad:-}" ]; then
		echo "$name did not come to its end"
		good=0 bad=1
	elif [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
}

# keep_report FILE...: leave a failed test's report where it can be found
keep_report()
{
	# shellcheck disable=SC2154 # top is set by common.sh
	mkdir -p "$top/build/check" 2>/dev/null &&
		cp "$@" "$top/build/check/" 2>/dev/null &&
		say "report: build/check/"
}

# may_log TEST: what the server's log may have because of this test, as an
# extended regular expression.  A test that kills processes says so itself:
#
#	# Its log may have: terminated by signal 9
may_log()
{
	sed -nE 's/^# Its log may have: (.+)$/\1/p' "$1" | paste -s -d '|'
}

# log_findings ALLOWED LOG...: print what no server may say, but for lines with
# what is ALLOWED (may be empty); succeed if there is nothing
log_findings()
{
	local allowed=$1 found
	shift
	found=$(grep -nE "$log_defects" "$@" /dev/null |
		if [ -n "$allowed" ]; then grep -vE "$allowed"; else cat; fi)
	[ -n "$found" ] || return 0
	head -n 50 <<<"$found"
	return 1
}

# check_logs WORDS ALLOWED LOG...: one test: the logs are there, and clean
check_logs()
{
	local words=$1 allowed=$2
	shift 2
	if [ ! -f "$1" ]; then
		result 1 "$words: there is no log"
		return
	fi
	log_findings "$allowed" "$@"
	result $? "$words"
}
