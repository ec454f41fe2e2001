#!/bin/bash
#
# bench-file.sh - `make sortbench`: the sort benchmark on the disk at hand, by
# contrib/sortbench: files of records sorted in one pass and two, cold and warm,
# beside dd, sort, and DuckDB and Polars if python3 has them; Datamation,
# MinuteSort, PennySort; a table and the picture of the largest sort.
#
#	make sortbench                     1 and 10 million records, 3 GB of disk
#	make sortbench RECORDS=100000000 MEMORY=13GB      100 million, 35 GB
#
# Arguments, as variables:
#
#   RECORDS=a,b    sizes
#   KINDS=a,b      of records, as sortbench_generate() names them (ascii)
#   MOST_OTHERS=n  records; beyond that, beside dd alone (20 million)
#   WORKERS=n      parallel workers; the leader sorts as well (processors - 1)
#   MEMORY=size    for a sort of one pass (half of the machine's)
#   LITTLE=size    for a sort of two passes (a tenth of the file)
#   RUNS=3         of each, in turn; medians are reported
#   SECONDS_ALLOWED=60  of MinuteSort; 0: leave it out
#   MOST_BYTES=n   no file is larger (4 GB)
#   PRICE=dollars  of the machine, for PennySort (1000)
#   ALONE=1        without the others
#   DIRECTORY=dir  where the files are, which the server's user can write
#   OUT=build/sortbench    where results.json, report.txt and timeline.svg go
#   KEEP=1, CLUSTER=dir, PG_CONFIG=..., NO_INSTALL=1   as for bench-sort.sh

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/bench/private.sh
. contrib/bench/private.sh

bench filebench.py "${OUT:-build/sortbench}" \
	RECORDS KINDS MOST_OTHERS WORKERS MEMORY LITTLE RUNS SECONDS_ALLOWED MOST_BYTES PRICE ALONE? DIRECTORY
