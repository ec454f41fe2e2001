#!/bin/bash
#
# bench-gist.sh - `make bench-gist`: build the same GiST indexes with the server
# and with ptsort, in turn, and count the index blocks that searches read.
#
#	make bench-gist                         all shapes, 1 million rows
#	make bench-gist ROWS=10000000 RUNS=3
#
# The script also measures PostGIS, range and btree_gist classes if the server
# has these extensions, and if their classes have sort support.
#
# Arguments, as variables:
#
#   ROWS=1000000   rows of each table
#   SHAPES=a,b     names of shapes in contrib/bench/gistbench.py
#   MEMORY=64MB    maintenance_work_mem
#   WORKERS=0,1    numbers of workers of ptsort's builds
#   RUNS=3         builds of each kind; the report has medians
#   OUT=build/bench-gist   directory of results.json and report.txt
#   KEEP=1, CLUSTER=dir, PG_CONFIG=..., NO_INSTALL=1   as for bench.sh

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

bench gistbench.py "${OUT:-build/bench-gist}" \
	ROWS SHAPES MEMORY WORKERS RUNS
