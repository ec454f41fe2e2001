#!/bin/bash
#
# bench-sort.sh - `make bench-sort`: run the server's tuplesort and ptsort's
# sort, in turn, in one process, on the same rows in memory.  Writes times,
# ratios, memory and temporary bytes as text and JSON.
#
#	make bench-sort                         200,000 rows
#	make bench-sort ROWS=2000000 SHAPES=int8,url_en BUDGETS=64MB
#
# Arguments, as variables:
#
#   ROWS=200000    rows of 290 bytes
#   SHAPES=a,b     names of keys in contrib/bench/sorts.py
#   BUDGETS=1GB,64MB,4MB   memory budgets
#   RUNS=3         sorts by each engine; the report has medians
#   BY=cpu         compute ratios from CPU time; BY=ms uses elapsed time
#   OUT=build/bench-sort   directory of results.json and report.txt
#   KEEP=1, CLUSTER=dir, PG_CONFIG=..., NO_INSTALL=1   as for bench.sh

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

bench sorts.py "${OUT:-build/bench-sort}" ROWS SHAPES BUDGETS RUNS BY
