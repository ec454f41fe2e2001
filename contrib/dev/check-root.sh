#!/bin/bash
#
# check-root.sh - `make check-19`: run the tests on PostgreSQL 19, in a root
# directory that root.sh makes in build/servers/19 (PTSORT_SERVERS names another
# place).  The script requires the rights of root.  TESTS and the other settings
# of check.sh have the same meaning here.
#
# The tests run in a copy of the source tree.  Reports of failed tests are in
# build/check/, as after `make check`.

set -u
cd "$(dirname "$0")/../.." || exit 1

top=$PWD
root=${PTSORT_SERVERS:-$top/build/servers}/19
copy=$(mktemp -d "${TMPDIR:-/var/tmp}/ptsort-check-19.XXXXXX") || exit 1
trap 'rm -rf "$copy"' EXIT

contrib/dev/root.sh "$root" || exit 1
tar -cf - --exclude=./build --exclude=./.git . | tar -xf - -C "$copy" || exit 1
settings=(NO_INSTALL=1 PG_CONFIG=/usr/lib/postgresql/19/bin/pg_config)
for name in TESTS TAP_ONLY JOBS KEEP TAP_SECONDS FUZZ_SECONDS QUERY_FUZZ_SECONDS; do
	[ -z "${!name:-}" ] || settings+=("$name=${!name}")
done
contrib/dev/root.sh "$root" run -s "$copy" \
	env -C /src "${settings[@]}" contrib/dev/check.sh
status=$?
mkdir -p build
[ ! -d "$copy/build/check" ] || cp -r "$copy/build/check" build/
exit "$status"
