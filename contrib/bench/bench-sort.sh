#!/bin/bash
#
# bench-sort.sh - `make bench-sort`: run the server's tuplesort and ptsort's
# sort, in turn, in one process, on the same rows in memory.  Writes times,
# ratios, memory and temporary bytes as text, JSON and charts.  Names each sort
# whose ratio of the server's time to ptsort's time is below the sort's floor
# (minimum ratio).
#
#	make bench-sort                         a selection, a tenth of full scale
#	make bench-sort FULL=1 SHAPES=all       everything: hours, and 12 GB of memory
#	make bench-sort SHAPES=int8,url_en BUDGETS=64MB
#
# Arguments, as variables:
#
#   SCALE=0.1      with SCALE=1 the tables have 2 million rows of 290 bytes, or
#                  10 million rows of 40 bytes; a smaller SCALE also reduces the
#                  budgets
#   FULL=1         sets SCALE=1
#   SHAPES=a,b     what to sort, or groups: all, wide, narrow, uses, parallel,
#                  real (text found on this machine); see sortshapes.py
#   BUDGETS=a,b    memory budgets: any of 2GB, 64MB, 4MB
#   RUNS=3         sorts by each engine in one process; the report has medians
#   FIRSTS=1       sorts by each engine, each sort in a new process
#   BY=cpu         compute ratios from CPU time; BY=ms uses elapsed time.  The
#                  default is cpu if the machine is busy, and ms otherwise
#   UNTOLD=1       do not tell ptsort the number of rows in advance
#   LIMIT=1        also copy the rows without sorting them (tuplestore)
#   PEERS=1        also run DuckDB's and Polars' sorts, if python3 has them
#   OUT=build/bench-sort   directory of results.json, report.txt and charts
#   KEEP=1         keep the cluster with its tables
#   CLUSTER=dir    use a cluster that KEEP=1 kept, and build ptsort again
#   PG_CONFIG=...  the server to measure
#   NO_INSTALL=1   do not install missing packages, but name them and fail

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

# shellcheck disable=SC2034 # bench reads the settings by their names
[ -z "${FULL:-}" ] || SCALE=1
bench sortbench.py "${OUT:-build/bench-sort}" \
	SCALE SHAPES BUDGETS RUNS FIRSTS BY UNTOLD? LIMIT? PEERS?
