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
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

[ -z "${FULL:-}" ] || SCALE=1
bench sortbench.py "${OUT:-build/bench-sort}" \
	SCALE SHAPES BUDGETS RUNS FIRSTS BY UNTOLD? PEERS?
