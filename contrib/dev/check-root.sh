#!/bin/bash
#
# check-root.sh MAJOR - `make check-18`, `make check-19`: run the tests on
# PostgreSQL MAJOR, in a root directory that root.sh makes in build/servers/sid
# (PTSORT_SERVERS names another place).  The script requires the rights of root.
# TESTS and the other settings of check.sh have the same meaning here.
#
# With SHORT=1 the script runs pg_regress and only those TAP files that contain
# a line such as:
#
#	# Depends on the version: it reads pages as the server writes them
#
# The tests run in a copy of the source tree.  Reports of failed tests are in
# build/check/, as after `make check`.

set -u
cd "$(dirname "$0")/../.." || exit 1

major=${1:?usage: check-root.sh MAJOR}
root=${PTSORT_SERVERS:-$PWD/build/servers}/sid
copy=$(mktemp -d "${TMPDIR:-/var/tmp}/ptsort-check-$major.XXXXXX") || exit 1
trap 'rm -rf "$copy"' EXIT

contrib/dev/root.sh "$root" || exit 1
tar -cf - --exclude=./build --exclude=./.git . | tar -xf - -C "$copy" || exit 1
if [ -n "${SHORT:-}" ] && [ -z "${TESTS:-}" ]; then
	TESTS=$(grep -l '^# Depends on the version: ' t/*.pl contrib/*/t/*.pl |
		tr '\n' ' ')
fi
settings=(NO_INSTALL=1 "PG_CONFIG=/usr/lib/postgresql/$major/bin/pg_config")
for name in TESTS SQL_TESTS TAP_ONLY JOBS KEEP TAP_SECONDS FUZZ_SECONDS FUZZ_KINDS; do
	[ -z "${!name:-}" ] || settings+=("$name=${!name}")
done
# if this script ends early, the tests end, too
setpriv --pdeathsig TERM contrib/dev/root.sh "$root" run "$copy" \
	env -C /src "${settings[@]}" contrib/dev/check.sh
status=$?
mkdir -p build
[ ! -d "$copy/build/check" ] || cp -r "$copy/build/check" build/
exit "$status"
