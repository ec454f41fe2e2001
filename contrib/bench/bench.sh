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
#   SHAPES=a,b     keys to measure, or all (contrib/bench/bench.py run --help)
#   WORKERS=1      parallel workers, besides the leader; 0 is serial
#   MEMORY=512MB   maintenance_work_mem
#   RUNS=3         builds of each index by each builder; medians are reported
#   CACHE=warm     or cold: restart and empty the caches before each build
#   CHECK=1        run amcheck on every index once
#   PHASES=1       show the phases of all shapes, not of int8 only; draw timelines
#   PEERS=1        DuckDB and Polars with the same keys (fetched with pip)
#   OUT=build/bench   where results.json, report.txt and pictures go
#   KEEP=1         keep the cluster with its tables ...
#   CLUSTER=dir    ... and use such a kept one again, with ptsort built anew
#   PG_CONFIG=...  which server
#   NO_INSTALL=1   install nothing: fail and say what is missing

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh

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
	[ -z "${PEERS:-}" ] || options+=(--peers)
	as_user env -C "$work" python3 "$work/src/contrib/bench/bench.py" run \
		"${options[@]}" --source "$source_version"
}

# measure_peers: the other systems, in a virtual environment of their own
measure_peers()
{
	local venv=$top/build/bench-venv
	if ! "$venv/bin/python" -c 'import duckdb, polars' 2>/dev/null && refused; then
		say "peers skipped: duckdb and polars are not in build/bench-venv"
		return
	fi
	if [ ! -x "$venv/bin/python" ]; then
		say "peers: virtual environment in build/bench-venv"
		python3 -m venv "$venv" >"$work/venv.log" 2>&1 || {
			rm -rf "$venv"
			say "peers skipped: python3 -m venv fails: $(tail -n 1 "$work/venv.log")"
			return
		}
	fi
	"$venv/bin/python" -c 'import duckdb, polars' 2>/dev/null ||
		"$venv/bin/python" -m pip install -q duckdb polars \
			>"$work/pip.log" 2>&1 ||
		say "peers: pip cannot install all: $(tail -n 1 "$work/pip.log")"
	say "peers"
	"$venv/bin/python" "$top/contrib/bench/peers.py" "$work/out"
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
[ -z "${PEERS:-}" ] || measure_peers
cp "$work"/out/*.json "$out/" || exit 1
stop_cluster || exit 1

say "report: ${out#"$top/"}"
[ -n "${PEERS:-}" ] || rm -f "$out/peers.json"
python3 "$top/contrib/bench/bench.py" report ${PHASES:+--phases} "$out" || exit 1
say "$SECONDS seconds"
exit $status
