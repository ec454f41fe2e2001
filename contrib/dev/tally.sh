# shellcheck shell=bash
#
# tally.sh - functions that the check-*.sh scripts share: count passed and
# failed tests, print the last line "N passed, N failed", and check the logs of
# servers.  Scripts source this file after common.sh.

passed=0
failed=0

# Messages that a server's log must not contain: failed assertions, panics,
# killed processes, writes past the end of memory, leaked references, and
# findings of gcc's sanitizers.
log_defects='TRAP: |PANIC:  |was terminated by signal|write past chunk end'
log_defects+='|process .* exited with exit code ([2-9]|[1-9][0-9])'
log_defects+='|problem in (alloc set|Generation|slab|Bump)'
log_defects+='|WARNING:  .*(leak|was not closed|snapshot .* still active)'
log_defects+='|is not owned by resource owner'
log_defects+='|AddressSanitizer|LeakSanitizer|runtime error: '

# finish: print the last line, and exit with the status
finish()
{
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}

# give_up WORDS: print a message, count a failed test, and finish
give_up()
{
	echo "$*"
	failed=$((failed + 1))
	finish
}

# result STATUS WORDS: count one test, and print its result
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

# count LOG STATUS: add a log's test lines to the totals.  The log can be in
# the TAP format, in the format of pg_regress 15, or in the format of pg_regress
# 16 and later.  If a program failed without naming a failed test, the failure
# counts as one failed test.
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

# count_child NAME COMMAND...: run a script whose last line, except for a line
# "== kept", is "N passed, N failed"; add the numbers to the totals
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
		echo "$name did not finish"
		good=0 bad=1
	elif [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
}

# keep_report FILE...: copy a failed test's report to build/check/
keep_report()
{
	# shellcheck disable=SC2154 # top is set by common.sh
	mkdir -p "$top/build/check" 2>/dev/null &&
		cp "$@" "$top/build/check/" 2>/dev/null &&
		say "report: build/check/"
}

# may_log TEST: print the regular expression for messages that the test allows
# in the server's log.  A test that kills processes contains a line such as:
#
#	# Its log may have: terminated by signal 9
may_log()
{
	sed -nE 's/^# Its log may have: (.+)$/\1/p' "$1" | paste -s -d '|'
}

# log_findings ALLOWED LOG...: print the forbidden messages in these logs,
# except lines that match ALLOWED, which may be empty; succeed if there are none
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

# check_logs WORDS ALLOWED LOG...: count one test, which fails if the first log
# is missing or a log contains forbidden messages
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
