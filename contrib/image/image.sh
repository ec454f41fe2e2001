#!/bin/bash
#
# image.sh DIRECTORY - compile ptsort, and make the directory tree of an
# extension image: an image that has only this extension, no server and no
# operating system.  The image is for a server of version 18 or later, which
# PG_CONFIG chooses.  The tree is:
#
#   lib/ptsort.so               in dynamic_library_path
#   share/extension/ptsort*     share is in extension_control_path
#   licenses/ptsort/LICENSE
#
# The image must match the server's major version, processor and C library.  The
# Dockerfile beside this script makes an image of the tree.

set -u
cd "$(dirname "$0")/../.." || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES NO_INSTALL
pg_config=${PG_CONFIG:-pg_config}

give_up()
{
	echo "image.sh: $*" >&2
	exit 1
}

# build DIR: compile in a copy of the sources, because objects of another server
# may be among the sources, and install into DIR/root
build()
{
	mkdir "$1/src" "$1/root" || return 1
	tar -cf - --exclude='*.o' --exclude='*.so' Makefile ptsort.control \
		ptsort--*.sql LICENSE src include contrib/server.mk |
		tar -xf - --no-same-owner -C "$1/src" &&
		make -C "$1/src" -j"$(nproc)" "PG_CONFIG=$pg_config" all &&
		make -C "$1/src" "PG_CONFIG=$pg_config" "DESTDIR=$1/root" install
}

# arrange FROM LIBRARIES SHARE: make the image from the installation in FROM;
# copy only the files that the server reads, and the license
arrange()
{
	install -d -m 755 "$image" "$image"/{lib,share,share/extension,licenses,licenses/ptsort} &&
		install -m 644 "$1$2/ptsort.so" "$image/lib" &&
		strip --strip-unneeded "$image/lib/ptsort.so" &&
		install -m 644 "$1$3"/extension/ptsort* "$image/share/extension" &&
		install -m 644 LICENSE "$image/licenses/ptsort"
}

[ $# -eq 1 ] || give_up "usage: image.sh DIRECTORY"
image=$OLDPWD/$1
[ "${1#/}" = "$1" ] || image=$1
[ -z "$(ls -A "$image" 2>/dev/null)" ] || give_up "$1 is not empty"
major=$("$pg_config" --version | sed -nE 's/^PostgreSQL ([0-9]+).*/\1/p')
[ -n "$major" ] || give_up "$pg_config does not run: set PG_CONFIG"
[ "$major" -ge 18 ] ||
	give_up "PostgreSQL $major has no extension_control_path, only 18 and later"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if ! build "$work" >"$work/log" 2>&1; then
	cat "$work/log" >&2
	give_up "the build failed"
fi
arrange "$work/root" "$("$pg_config" --pkglibdir)" "$("$pg_config" --sharedir)" ||
	give_up "the image is not complete"
