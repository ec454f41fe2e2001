#!/bin/bash
#
# server.sh MAJOR [FLAVOUR] - build a server from the distribution's source
# package, and print the path of its pg_config.  The flavours are:
#
#   assert     assertions, memory checking, valgrind's client requests (the default)
#   sanitize   assertions, gcc's address and undefined-behaviour sanitizers
#   plain      optimized, without assertions, for measurements
#
# The server stays in build/servers/MAJOR-FLAVOUR (PTSORT_SERVERS names another
# place), so later calls need not build it again.  The server takes 500 MB.  The
# same directory keeps the built source tree for the server's own test suites:
#
#   src/    the sources, built in place      root/   the installation
#
# The script works only on Debian: see source.sh.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh
# shellcheck source=contrib/dev/source.sh
. contrib/dev/source.sh

major=${1:?usage: server.sh MAJOR [FLAVOUR]}
flavour=${2:-assert}
servers=${PTSORT_SERVERS:-$PWD/build/servers}
dir=$servers/$major-$flavour
log=$dir/build.log

# missing_packages: print the missing packages that the build requires
missing_packages()
{
	command -v gcc >/dev/null || echo gcc
	command -v make >/dev/null || echo make
	command -v bison >/dev/null || echo bison
	command -v flex >/dev/null || echo flex
	command -v pkg-config >/dev/null || echo pkg-config
	perl -MIPC::Run -e 1 2>/dev/null || echo libipc-run-perl
	command -v bzip2 >/dev/null || echo bzip2
	[ -f /usr/include/unicode/ucol.h ] || echo libicu-dev
	[ -f /usr/include/valgrind/memcheck.h ] || echo valgrind
}

# build_server CFLAGS OPTIONS...: configure, compile and install into $dir/root
build_server()
{
	local cflags=$1 make=(make -s "-j$(nproc)")
	shift
	unset NO_INSTALL # otherwise PGXS would not install contrib: see as_user()
	cd "$dir/src" || exit 1
	step configure ./configure --prefix="$dir/root" --enable-debug \
		--enable-tap-tests --with-icu --without-readline --without-zlib \
		"CFLAGS=$cflags" PROVE=prove "$@"
	step compile "${make[@]}"
	step "compile contrib" "${make[@]}" -C contrib
	step install make -s install
	step "install contrib" make -s -C contrib install
	step "compile the suites" "${make[@]}" -C src/test/regress all
	step "compile the suites" "${make[@]}" -C src/test/isolation all
}

[ -n "${suites[$major]:-}" ] || give_up "no source for PostgreSQL $major"
mkdir -p "$dir" || exit 1
# a second script that needs the server waits until the first one finishes
exec 9>"$dir.lock"
flock 9
if [ ! -f "$dir/complete" ]; then
	: >"$log"
	echo "== building PostgreSQL $major ($flavour) in $dir" >&2
	ensure_packages missing_packages >>"$log" || give_up "packages are missing"
	fetch_source "$major" "$dir"
	case $flavour in
		assert)
			build_server "-O2 -fno-omit-frame-pointer" --enable-cassert \
				CPPFLAGS=-DUSE_VALGRIND
			;;
		sanitize)
			# ignore leaks: the server exits without freeing all memory
			export ASAN_OPTIONS=detect_leaks=0
			build_server "-O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=alignment -fno-sanitize-recover=undefined" \
				--enable-cassert
			;;
		plain)
			build_server "-O2"
			;;
		*)
			give_up "unknown flavour $flavour"
			;;
	esac
	touch "$dir/complete"
fi
echo "$dir/root/bin/pg_config"
