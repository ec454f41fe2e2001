#!/bin/bash
#
# root.sh - make a root directory with Debian's unstable and its PostgreSQL 18
# and 19, and run commands in it.  The script requires Debian and the rights of
# root.  It changes nothing outside of DIRECTORY and DIRECTORY.lock.
#
#   root.sh DIRECTORY                  make the root unless it is complete, and
#                                      start each server once
#   root.sh DIRECTORY run TREE COMMAND...
#                                      run a command in the root
#
# The command sees the source tree TREE (an absolute path) as /src, writable.
# "run" makes its mounts in a namespace of its own.  When the command or the
# script ends, for any reason, all processes of the command also end, and these
# mounts disappear.  The command can use the machine's network.
#
# The servers are the newest ones in unstable or experimental.  The packages
# come from the mirror that this machine's apt uses.

set -u
directory=$(realpath -m "${1:-/}")
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh
# shellcheck source=contrib/dev/source.sh
. contrib/dev/source.sh

suite=sid
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
versions=(18 19)
packages=("${versions[@]/#/postgresql-}" "${versions[@]/#/postgresql-client-}"
	"${versions[@]/#/postgresql-server-dev-}" libpq5 libpq-dev gcc g++ make
	libipc-run-perl locales locales-all perl python3)
# what .ptsort-root holds if the root has all packages
complete="complete: ${packages[*]}"
extensions=(amcheck pageinspect pg_visibility pg_stat_statements)

# mounted: print what is mounted below the root, the innermost first
mounted()
{
	awk -v "root=$root/" 'index($5, root) == 1 { print $5 }' \
		/proc/self/mountinfo | sort -r
}

# mount_system: mount the file systems that programs expect.  debootstrap made
# the devices.
mount_system()
{
	[ -c "$root/dev/null" ] || give_up "$root/dev has no devices"
	mkdir -p "$root/dev/pts" "$root/dev/shm"
	ln -sfn pts/ptmx "$root/dev/ptmx"
	if ! mount -t proc -o nosuid,nodev,noexec proc "$root/proc" ||
		! mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$root/dev/shm" ||
		! mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 \
			devpts "$root/dev/pts"; then
		give_up "could not mount in $root"
	fi
}

# mount_tree TREE: make a source tree visible as /src
mount_tree()
{
	[ -d "$1" ] || give_up "no directory: $1"
	mkdir -p "$root/src"
	mount --bind "$1" "$root/src" || give_up "could not mount $1"
}

# inside COMMAND...: run a command in the root, with a clean environment
inside()
{
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
		"TERM=${TERM:-dumb}" DEBIAN_FRONTEND=noninteractive \
		chroot "$root" "$@"
}

# inside_as USER COMMAND...: run a command in the root as USER, with a clean
# environment
inside_as()
{
	local user=$1
	shift
	# shellcheck disable=SC2016 # the shell in the root expands the variables
	inside /bin/sh -c 'user=$1; shift; HOME=$(getent passwd "$user" | cut -d: -f6)
		export HOME; [ ! -d "$HOME" ] || cd "$HOME"
		exec setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups -- "$@"' \
		sh "$user" "$@"
}

# in_namespace FUNCTION [ARG...]: call one of this script's functions in new
# namespaces, with the system mounted.  In these namespaces, process 1 is a
# shell that runs this script.  That shell reaps the processes that lose their
# parents, so the script does not replace the shell with exec.
in_namespace()
{
	setpriv --pdeathsig KILL \
		unshare --mount --pid --ipc --fork --kill-child --propagation private \
		bash contrib/dev/root.sh "$root" namespace "$@"
}

# prepare MIRROR: write the files that must be in the root before apt installs
# packages
prepare()
{
	local from=$1 name
	for name in hosts resolv.conf; do
		[ ! -e "/etc/$name" ] || cp -L "/etc/$name" "$root/etc/$name"
	done
	# no service starts, and no cluster is made
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	mkdir -p "$root/etc/postgresql-common/createcluster.d"
	echo 'create_main_cluster = false' \
		>"$root/etc/postgresql-common/createcluster.d/none.conf"
	for name in sid experimental; do
		echo "deb [signed-by=$keyring] $from $name main"
	done >"$root/etc/apt/sources.list"
	# the release files of the mirror may be expired
	printf '%s\n' 'Acquire::Check-Valid-Until "false";' \
		'Acquire::Check-Date "false";' 'APT::Install-Recommends "false";' \
		'APT::Sandbox::User "root";' >"$root/etc/apt/apt.conf.d/99ptsort"
	# Only this source package comes from experimental, if it is newer there.
	printf '%s\n' 'Package: src:postgresql-19' 'Pin: release a=experimental' \
		'Pin-Priority: 500' >"$root/etc/apt/preferences.d/ptsort"
}

# install_packages: install the packages in the root; in_namespace calls this
# function
install_packages()
{
	step "package lists" inside apt-get update
	inside apt-cache policy "${packages[@]}" >>"$log"
	step "packages" inside apt-get install -y "${packages[@]}"
	step "clean" inside apt-get clean
}

# make_root: make the root from nothing
make_root()
{
	local from
	from=$(mirror)
	[ -n "$from" ] || give_up "apt names no Debian mirror"
	[ -z "$(mounted)" ] || give_up "something is mounted below $root"
	if [ -e "$root" ] && [ -n "$(ls -A "$root")" ]; then
		[ -e "$root/.ptsort-root" ] || give_up "$root is not this script's"
		rm -rf --one-file-system "$root"
	fi
	mkdir -p "$root/var/log" && echo begun >"$root/.ptsort-root" &&
		chmod 755 "$root" || exit 1
	step "debootstrap of $suite" debootstrap --variant=minbase \
		--include=ca-certificates --keyring="$keyring" \
		"$suite" "$root" "$from"
	prepare "$from"
	in_namespace install_packages || exit 1
	echo "$complete" >"$root/.ptsort-root"
}

# is_complete: check that the root has all packages
is_complete()
{
	[ "$(cat "$root/.ptsort-root" 2>/dev/null)" = "$complete" ]
}

# check_servers: start each server once; in_namespace calls this function
check_servers()
{
	local data version status=0
	data=$(inside_as postgres mktemp -d -t check.XXXXXX) || exit 1
	# shellcheck disable=SC2064 # data is local
	trap "rm -rf '${root:?}$data'" EXIT
	for version in "${versions[@]}"; do
		check_server "/usr/lib/postgresql/$version/bin" "$data/$version" ||
			status=1
	done
	return "$status"
}

# check_server BINDIR DATA: start a server once, in the new directory DATA, and
# query it
check_server()
{
	local bindir=$1 data=$2 sock=$2/sock extension status=1
	inside_as postgres "$bindir/pg_config" --version
	step initdb inside_as postgres "$bindir/initdb" -D "$data" --no-sync
	inside_as postgres mkdir "$sock"
	step start inside_as postgres "$bindir/pg_ctl" -D "$data" -w -s \
		-l "$data/log" -o "-k $sock -c listen_addresses=''" start
	if inside_as postgres psql -h "$sock" -Atc 'select version()' postgres; then
		status=0
		for extension in "${extensions[@]}"; do
			inside_as postgres psql -h "$sock" -qc "create extension $extension" \
				postgres || status=1
		done
	fi
	step stop inside_as postgres "$bindir/pg_ctl" -D "$data" -w -m fast stop
	return "$status"
}

# run_inside TREE COMMAND...: run a command in the root; in_namespace calls this
# function
run_inside()
{
	mount_tree "$1"
	shift
	[ $# -gt 0 ] || give_up "no command"
	inside_as root "$@"
}

# missing_debootstrap: print the package debootstrap if it is missing
missing_debootstrap()
{
	command -v debootstrap >/dev/null || echo debootstrap
}

[ $# -gt 0 ] || give_up "usage: $(basename "$0") DIRECTORY [run TREE COMMAND...]"
[ "$(id -u)" = 0 ] || give_up "only root can do this"
root=$directory
[ "$root" != / ] || give_up "this is the machine's own root"
mkdir -p "$(dirname "$root")" || exit 1
# shellcheck disable=SC2034 # step() in source.sh uses it
log=$root/var/log/root.log
what=${2:-make}
case $what in
	make)
		ensure_packages missing_debootstrap || give_up "debootstrap is missing"
		exec 9>"$root.lock"
		flock 9
		is_complete || make_root 9>&-
		in_namespace check_servers 9>&-
		;;
	namespace) # internal: in_namespace calls this
		shift 2
		mount_system
		"$@"
		;;
	run)
		is_complete || give_up "$root is not complete"
		shift 2
		in_namespace run_inside "$@"
		;;
	*) give_up "unknown: $what" ;;
esac
