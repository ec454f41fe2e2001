#!/bin/bash
#
# check-asserts.sh [MAJOR] - `make check-asserts VERSION=MAJOR`: all tests on a
# server that checks itself (assertions, memory checking), which server.sh
# builds from the distribution's source package: first our own suite, then the
# server's (core-suites.sh).  The last line is "N passed, N failed".

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

major=${1:-15}
start=$SECONDS
config=$(contrib/dev/server.sh "$major") || give_up "no server"
say "server: $((SECONDS - start)) s"
start=$SECONDS
count_child check.sh env "PG_CONFIG=$config" contrib/dev/check.sh
say "our suite: $((SECONDS - start)) s"
start=$SECONDS
count_child core-suites.sh contrib/dev/core-suites.sh "$major"
say "the server's suites: $((SECONDS - start)) s"
finish
