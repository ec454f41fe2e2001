#!/bin/bash
#
# bench-file.sh - `make sortbench`: run the sort benchmark of contrib/sortbench
# on this machine's disk.  Sorts files of records in one pass and in two, and
# copies them with dd for comparison.  Also runs the benchmarks Datamation,
# MinuteSort and PennySort.
#
#	make sortbench                     1 and 10 million records, 3 GB of disk
#	make sortbench RECORDS=100000000 MEMORY=13GB      100 million, 35 GB
#
# Arguments, as variables; defaults are in parentheses:
#
#   RECORDS=a,b    numbers of records in a file
#   KINDS=a,b      kinds of records, as sortbench_generate() names them (ascii)
#   WORKERS=n      parallel workers; the leader sorts as well (processors - 1)
#   MEMORY=size    memory for a sort of one pass (half of the machine's memory);
#                  sorts of two passes have a tenth of the file's size
#   RUNS=3         runs of each sort, in turn; the report has the medians
#   CACHE=cold     evict the input from the system's cache before each sort
#   SECONDS_ALLOWED=60  time of MinuteSort; 0 skips MinuteSort and PennySort
#   MOST_BYTES=n   maximum size of a file (4 GB)
#   DIRECTORY=dir  directory of the files, writable by the server's user
#   OUT=build/sortbench   directory of results.json and report.txt
#   KEEP=1, CLUSTER=dir, PG_CONFIG=..., NO_INSTALL=1   as for bench.sh

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

bench filebench.py "${OUT:-build/sortbench}" \
	RECORDS KINDS WORKERS MEMORY RUNS CACHE SECONDS_ALLOWED MOST_BYTES DIRECTORY
