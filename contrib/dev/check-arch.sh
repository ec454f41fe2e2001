#!/bin/bash
#
# check-arch.sh ARCHITECTURE - `make check-arch ARCH=s390x`: run tests on
# another processor, arm64 or s390x, which qemu emulates.  foreign.sh makes the
# server and says what the machine needs.  The script runs pg_regress in all
# directories, and random builds and queries for two minutes each.
# FUZZ_SECONDS sets another duration; the settings of check.sh have the same
# meaning here.  With SHORT=1, the script runs only the SQL tests that depend
# most on the processor.
#
# The last line is "N passed, N failed".
#
# qemu orders accesses to memory as this machine's processor does, so these tests
# cannot find a missing memory barrier.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

# no_process_left: succeed if no process that check.sh started is left;
# otherwise print the commands of these processes
no_process_left()
{
	local found file
	found=$(grep -lszx "CHECK_ARCH_RUN=$run" /proc/[0-9]*/environ)
	for file in $found; do
		tr '\0' ' ' <"${file%environ}cmdline" && echo
	done
	[ -z "$found" ]
}

# Tests of the order of bytes in words of sort keys, in collations' tables and
# in values; tests of the participants of a build, and of errors.
short=(src/{types,collated,unique,parallel}
	ptsort_test/{words,prefixes,ranks,slices,keys})

arch=${1:-s390x}
start=$SECONDS
contrib/dev/foreign.sh "$arch" || give_up "no server"
say "server: $((SECONDS - start)) s"
run=$arch.$$.$start
settings=("CHECK_ARCH_RUN=$run" "FUZZ_KINDS=indexes queries"
	"FUZZ_SECONDS=${FUZZ_SECONDS:-120}")
if [ -n "${SHORT:-}" ]; then
	settings+=("SQL_TESTS=${SQL_TESTS:-${short[*]}}" "TESTS=${TESTS:-none}")
else
	settings+=("TESTS=${TESTS:-contrib/fuzz/t/001_fuzz.pl}")
fi
start=$SECONDS
# if this script ends early, check.sh cleans up
count_child check.sh setpriv --pdeathsig TERM \
	contrib/dev/foreign.sh "$arch" env "${settings[@]}" contrib/dev/check.sh
say "tests on $arch: $((SECONDS - start)) s"
no_process_left
result $? "no process is left"
finish
