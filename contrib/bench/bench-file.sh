#!/bin/bash
#
# bench-file.sh - `make sortbench`: run the sort benchmark of contrib/sortbench
# on this machine's disk.  Sorts files of records in one pass and in two, with
# cold and warm caches.  For comparison runs dd and sort.  Also runs the
# benchmarks Datamation, MinuteSort and PennySort.  Writes a table of the
# results.
#
#	make sortbench                     1 and 10 million records, 3 GB of disk
#	make sortbench RECORDS=100000000 MEMORY=13GB      100 million, 35 GB
#
# Arguments, as variables; defaults are in parentheses:
#
#   RECORDS=a,b    numbers of records in a file
#   KINDS=a,b      kinds of records, as sortbench_generate() names them (ascii)
#   MOST_OTHERS=n  maximum number of records for sort (20 million)
#   WORKERS=n      parallel workers; the leader sorts as well (processors - 1)
#   MEMORY=size    memory for a sort of one pass (half of the machine's memory)
#   LITTLE=size    memory for a sort of two passes (a tenth of the file's size)
#   RUNS=3         runs of each sort, in turn; the report has the medians
#   SECONDS_ALLOWED=60  time of MinuteSort; 0 skips MinuteSort and PennySort
#   MOST_BYTES=n   maximum size of a file (4 GB)
#   PRICE=dollars  price of the machine, for PennySort (1000)
#   ALONE=1        do not run dd and sort
#   DIRECTORY=dir  directory of the files, writable by the server's user
#   OUT=build/sortbench   directory of results.json and report.txt
#   KEEP=1, CLUSTER=dir, PG_CONFIG=..., NO_INSTALL=1   as for bench-sort.sh

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

bench filebench.py "${OUT:-build/sortbench}" \
	RECORDS KINDS MOST_OTHERS WORKERS MEMORY LITTLE RUNS SECONDS_ALLOWED MOST_BYTES PRICE ALONE? DIRECTORY
