#!/bin/bash
#
# bench-gist.sh - `make bench-gist`: build the same GiST and GIN indexes with
# the server and with ptsort, in turn, and count the index blocks that searches
# read.
#
# Arguments, as variables:
#
#   ROWS=1000000   rows of each table
#   SHAPES=a,b     names of shapes in contrib/bench/gistbench.py
#   MEMORY=64MB    maintenance_work_mem
#   WORKERS=0,1    numbers of workers of ptsort's builds, and of the server's
#                  builds of GIN indexes from 18 on
#   RUNS=3         builds of each kind; the report has medians
#   OUT=build/bench-gist   directory of results.json and report.txt
#   KEEP=1, CLUSTER=dir, PG_CONFIG=..., NO_INSTALL=1   as for bench.sh

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

bench gistbench.py "${OUT:-build/bench-gist}" ROWS SHAPES MEMORY WORKERS RUNS
