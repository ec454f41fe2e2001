#!/bin/bash
#
# bench.sh - `make bench`: the server's index builds and ptsort's, interleaved,
# in a private cluster; times, ratios, resources as text, JSON and a chart.
#
#	make bench                                      a selection, about 10 minutes
#	make bench ROWS=10000000 SHAPES=all MEMORY=2GB  everything
#
# Arguments, as variables:
#
#   ROWS=2000000   rows (tables of long text: half as many)
#   SHAPES=a,b     keys to measure, or groups of them: all, usual (those of
#                  README.md), real (text that this machine holds); see
#                  contrib/bench/bench.py run --help
#   WORKERS=1      parallel workers, besides the leader; 0 is serial
#   MEMORY=512MB   maintenance_work_mem
#   RUNS=3         builds of each index by each builder; medians are reported
#   CACHE=warm     or cold: restart and empty the caches before each build
#   CHECK=1        run amcheck on every index once
#   PHASES=1       show the phases of all shapes, not of int8 only; draw timelines
#   OUT=build/bench   where results.json, report.txt and pictures go
#   KEEP=1         keep the cluster with its tables ...
#   CLUSTER=dir    ... and use such a kept one again, with ptsort built anew
#   PG_CONFIG=...  which server
#   NO_INSTALL=1   install nothing: fail and say what is missing

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh

out=${OUT:-build/bench}
workers=${WORKERS:-1}
export PYTHONDONTWRITEBYTECODE=1

# absolute DIR: its path from the root; DIR must exist
absolute()
{
	(cd "$1" && pwd)
}

# measure: what bench.py run does, as the user who runs the server
measure()
{
	local options=(--workers "$workers" --out "$work/out")
	[ -z "${ROWS:-}" ] || options+=(--rows "$ROWS")
	[ -z "${SHAPES:-}" ] || options+=(--shapes "$SHAPES")
	[ -z "${MEMORY:-}" ] || options+=(--memory "$MEMORY")
	[ -z "${RUNS:-}" ] || options+=(--runs "$RUNS")
	[ -z "${CACHE:-}" ] || options+=(--cache "$CACHE")
	[ -z "${CHECK:-}" ] || options+=(--check)
	[ -z "${KEEP:-}" ] || options+=(--keep)
	as_user env -C "$work" python3 "$work/src/contrib/bench/bench.py" run \
		"${options[@]}" --source "$source_version"
}

command -v python3 >/dev/null || {
	echo "missing: python3" >&2
	exit 1
}
contrib/dev/setup.sh || exit 1
find_server || exit 1
mkdir -p "$out" && out=$(absolute "$out") || exit 1
if [ -n "${CLUSTER:-}" ]; then
	CLUSTER=$(absolute "$CLUSTER") && KEEP=1 || exit 1
fi
source_version=$(git describe --always --dirty 2>/dev/null ||
	sed -n "s/^default_version *= *'\(.*\)'/\1/p" ptsort.control)
mapfile -t settings < <(python3 contrib/bench/bench.py settings --workers "$workers")

say "$("$pg_config" --version), $(nproc) processors"
make_workdir "${CLUSTER:-}"
mkdir -p "$work/out"
say "build"
install_private || exit 1
start_cluster "${settings[@]}" || exit 1

say "measure"
measure
status=$?
[ -f "$work/out/results.json" ] || exit 1
cp "$work"/out/*.json "$out/" || exit 1
stop_cluster || exit 1

say "report: ${out#"$top/"}"
python3 "$top/contrib/bench/bench.py" report ${PHASES:+--phases} "$out" || exit 1
say "$SECONDS seconds"
exit $status
