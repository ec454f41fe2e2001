#!/bin/bash
#
# foreign.sh ARCHITECTURE [COMMAND...] - make a directory with Debian's PostgreSQL
# 15 for another processor (arm64 or s390x), and run a command that uses it.
#
# The command finds the server's pg_config in PG_CONFIG.  It can run all of the
# server's programs as if they were this machine's: the kernel starts qemu for
# them, and qemu first looks for their libraries, locales and time zones below
# QEMU_LD_PREFIX.  The server's makefiles name the cross compiler, so PGXS
# compiles extensions at the speed of this machine.
#
# The directory is build/servers/ARCHITECTURE (PTSORT_SERVERS names another
# place).  The script keeps the directory, which takes 500 MB, for later calls.
# The directory is not a complete system: dpkg-deb unpacks the packages without
# configuring them.
#
# The script requires Debian 12.  If qemu's package did not tell the kernel
# about qemu (as on a machine without systemd), the script tells the kernel,
# and then requires the rights of root.  The kernel forgets qemu when the last
# mount of binfmt_misc ends, so the command runs in a namespace that has such a
# mount.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh
# shellcheck source=contrib/dev/source.sh
. contrib/dev/source.sh

# missing_packages: print the missing packages that emulation and compilation
# require
missing_packages()
{
	[ -f "$kernel_line" ] || echo qemu-user-static
	command -v "$compiler" >/dev/null || echo "gcc-$triplet"
	[ -f "/usr/$triplet/include/stdio.h" ] || echo "libc6-dev-$arch-cross"
}

# unpack PACKAGE...: unpack packages, without configuring them
unpack()
{
	local package
	for package in "$@"; do
		dpkg-deb -x "$package" "$dir/root" || return 1
	done
}

# make_server: download the packages of the server and all packages that they
# depend on, and unpack them.  This function downloads the development package
# without its dependencies, which include compilers for the other processor.
make_server()
{
	local options apt=$dir/apt makefile=$libdir/pgxs/src/Makefile.global
	rm -rf "$dir/root" "$apt"
	mkdir -p "$dir/root" "$apt" && : >"$apt/status" || exit 1
	private_apt "$apt" deb "$suite" -o "Dir::State::status=$apt/status" \
		-o "APT::Architecture=$arch" -o "APT::Architectures::=$arch" \
		-o Acquire::Languages=none
	step "packages of the server" apt-get "${options[@]}" install -y -q \
		--download-only --no-install-recommends "postgresql-$major" \
		libc-bin locales-all
	step "packages for compilation" env -C "$apt/cache/archives" \
		apt-get "${options[@]}" download "postgresql-server-dev-$major"
	step unpack unpack "$apt"/cache/archives/*.deb
	step "name of the compiler" sed -i "s/^CC = gcc\$/CC = $compiler/" "$makefile"
	grep -q "^CC = $compiler\$" "$makefile" || give_up "no line CC in $makefile"
	rm -rf "$apt"
	touch "$dir/complete"
}

# register: tell the kernel to start qemu for programs of the other processor,
# unless the kernel already does so
register()
{
	local formats=/proc/sys/fs/binfmt_misc
	if [ ! -e "$formats/register" ]; then
		mount -t binfmt_misc binfmt_misc "$formats" || return 1
	fi
	[ -e "$formats/qemu-$machine" ] || cat "$kernel_line" >"$formats/register"
}

# run_registered COMMAND...: run a command while the kernel knows qemu; the
# script replaces itself with the command
run_registered()
{
	register || give_up "the kernel does not accept qemu"
	"$PG_CONFIG" --version >/dev/null || give_up "this machine cannot run $PG_CONFIG"
	exec "$@"
}

arch=${1:?usage: foreign.sh ARCHITECTURE [COMMAND...]}
shift
case $arch in
	arm64) machine=aarch64 ;;
	s390x) machine=s390x ;;
	*) give_up "unknown architecture $arch: arm64 or s390x" ;;
esac
triplet=$machine-linux-gnu
compiler=$triplet-gcc
kernel_line=/usr/lib/binfmt.d/qemu-$machine.conf
major=15
suite=${suites[$major]}
# The cross compiler must not use a newer C library than the server.
grep -qx "VERSION_CODENAME=$suite" /etc/os-release 2>/dev/null ||
	give_up "only Debian's $suite can do this"
dir=${PTSORT_SERVERS:-$PWD/build/servers}/$arch
libdir=$dir/root/usr/lib/postgresql/$major/lib
export QEMU_LD_PREFIX=$dir/root PG_CONFIG=${libdir%/lib}/bin/pg_config
log=$dir/build.log

if [ "${1:-}" = namespace ]; then # internal: see below
	shift
	run_registered "$@"
fi
ensure_packages missing_packages >&2 || give_up "packages are missing"
mkdir -p "$dir" || exit 1
exec 9>"$dir.lock"
flock 9
if [ ! -f "$dir/complete" ]; then
	: >"$log"
	echo "== unpacking PostgreSQL $major for $arch in $dir" >&2
	make_server
fi
exec 9>&-
[ $# -gt 0 ] || set -- "$PG_CONFIG" --version
if [ "$(id -u)" = 0 ]; then
	exec unshare --mount --propagation private \
		bash contrib/dev/foreign.sh "$arch" namespace "$@"
fi
exec "$@"
