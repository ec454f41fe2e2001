#!/bin/bash
#
# bench-sort.sh - `make bench-sort`: the server's tuplesort and ptsort's sort,
# in turn, in one process, on the same rows in memory; times, ratios, memory and
# temporary bytes as text, JSON and charts, and which floors are missed.
#
#	make bench-sort                         a selection, a tenth of full scale
#	make bench-sort FULL=1 SHAPES=all       everything: hours, and 12 GB of memory
#	make bench-sort SHAPES=int8,url_en BUDGETS=64MB
#
# Arguments, as variables:
#
#   SCALE=0.1      1 is 2 million rows of 290 bytes, and 10 million of 40; budgets
#                  shrink as well
#   FULL=1         the same as SCALE=1
#   SHAPES=a,b     what to sort, or groups: all, wide, narrow, uses, parallel,
#                  real (text that this machine holds); see contrib/bench/sortshapes.py
#   BUDGETS=a,b    of 2GB, 64MB, 4MB
#   RUNS=3         sorts by each engine in one process; medians are reported
#   FIRSTS=1       sorts by each engine in processes of their own
#   BY=cpu         or ms: what ratios are made of; by default CPU time if the
#                  machine is busy
#   UNTOLD=1       do not tell ptsort how many rows will come
#   PEERS=1        DuckDB's and Polars' sorts as well, if python3 has them
#   OUT=build/bench-sort   where results.json, report.txt and charts go
#   KEEP=1         keep the cluster with its tables ...
#   CLUSTER=dir    ... and use such a kept one again, with ptsort built anew
#   PG_CONFIG=...  which server
#   NO_INSTALL=1   install nothing: fail and say what is missing

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh

out=${OUT:-build/bench-sort}
export PYTHONDONTWRITEBYTECODE=1

# absolute DIR: its path from the root; DIR must exist
absolute()
{
	(cd "$1" && pwd)
}

# measure: what sortbench.py run does, as the user who runs the server
measure()
{
	local options=(--out "$work/out" --source "$source_version")
	[ -z "${FULL:-}" ] || options+=(--scale 1)
	[ -z "${SCALE:-}" ] || options+=(--scale "$SCALE")
	[ -z "${SHAPES:-}" ] || options+=(--shapes "$SHAPES")
	[ -z "${BUDGETS:-}" ] || options+=(--budgets "$BUDGETS")
	[ -z "${RUNS:-}" ] || options+=(--runs "$RUNS")
	[ -z "${FIRSTS:-}" ] || options+=(--firsts "$FIRSTS")
	[ -z "${BY:-}" ] || options+=(--by "$BY")
	[ -z "${UNTOLD:-}" ] || options+=(--untold)
	[ -z "${PEERS:-}" ] || options+=(--peers)
	[ -z "${KEEP:-}" ] || options+=(--keep)
	as_user env -C "$work" python3 "$work/src/contrib/bench/sortbench.py" run \
		"${options[@]}"
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
mapfile -t settings < <(python3 contrib/bench/bench.py settings)

say "$("$pg_config" --version), $(nproc) processors"
make_workdir "${CLUSTER:-}"
mkdir -p "$work/out"
say "build"
install_private || exit 1
own_workdir
start_cluster "${settings[@]}" || exit 1

say "measure"
measure
status=$?
[ -f "$work/out/results.json" ] || exit 1
cp "$work/out/results.json" "$out/" || exit 1
stop_cluster || exit 1

say "report: ${out#"$top/"}"
python3 "$top/contrib/bench/sortbench.py" report "$out" || exit 1
say "$SECONDS seconds"
exit $status
