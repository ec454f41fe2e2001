# shellcheck shell=bash
#
# common.sh - functions that check.sh, demo.sh and bench.sh share: find a
# server, make a private copy of its installation and a private cluster, and
# clean up.
#
# The caller runs `set -u`, sources this file from the top of the source tree,
# and calls find_server, make_workdir, install_private and start_cluster in that
# order.  All files are in one temporary directory, $work.  When the script ends
# for any reason, it removes this directory, unless KEEP=1 is set:
#
#   $work/src     copy of the source tree (objects and test results go here)
#   $work/root    copy of the server's installation, with ptsort installed
#   $work/data    the cluster;  $work/sock its socket
#
# PostgreSQL refuses to run as root.  If root calls the script, all programs in
# $work therefore run as $run_user, who also owns the files.

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
unset PGDATA PGHOST PGPORT PGUSER PGDATABASE PGOPTIONS PGSERVICE PGPASSWORD
unset LC_ALL LANGUAGE LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC
export LANG=C.UTF-8
export PGCTLTIMEOUT="${PGCTLTIMEOUT:-600}"

top=$PWD
work=
run_user=
child=
watcher=
lanes=()
me=$(basename "$0" .sh)

# say WORDS: print one line of progress
say()
{
	printf '== %s\n' "$*"
}

# as_user COMMAND...: run a command as the unprivileged user, and wait for it.
# The command runs in the background, so that the script handles signals
# immediately.  The function removes NO_INSTALL from the environment, because
# PGXS also reads it and would then skip "make install".
as_user()
{
	local status
	if [ -n "$run_user" ]; then
		setpriv --reuid="$run_user" --regid="$(id -g "$run_user")" \
			--init-groups env -u NO_INSTALL HOME="$work" "$@" </dev/null &
	else
		env -u NO_INSTALL "$@" </dev/null &
	fi
	child=$!
	wait "$child"
	status=$?
	child=
	return "$status"
}

# server_complete PG_CONFIG: succeed if PG_CONFIG's server can run, and has
# the files that builds of extensions need
server_complete()
{
	local bindir include pgxs
	bindir=$("$1" --bindir 2>/dev/null) && [ -x "$bindir/postgres" ] &&
		include=$("$1" --includedir-server) && [ -f "$include/postgres.h" ] &&
		pgxs=$("$1" --pgxs) && [ -f "$pgxs" ] &&
		"$1" --version | grep -Eq '^PostgreSQL 1[5-9]([^0-9]|$)'
}

# find_server: set $pg_config; succeed if there is a complete server.  If
# PG_CONFIG is set, checks only PG_CONFIG.  Otherwise checks the pg_config in
# the path, and then the distribution's servers, newest first.
find_server()
{
	local candidate candidates
	candidates=(pg_config /usr/lib/postgresql/1{9,8,7,6,5}/bin/pg_config)
	[ -z "${PG_CONFIG:-}" ] || candidates=("$PG_CONFIG")
	for candidate in "${candidates[@]}"; do
		if server_complete "$candidate"; then
			pg_config=$("$candidate" --bindir)/pg_config
			return 0
		fi
	done
	return 1
}

# make_workdir [DIR]: create $work, choose $run_user, and clean up at the end.
# If the caller names a DIR that an earlier script kept (KEEP=1), use DIR as
# $work, and keep its cluster.
make_workdir()
{
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	if [ -n "${1:-}" ]; then
		work=$1
		rm -rf "$work/src" "$work/root"
	else
		work=$(mktemp -d "${TMPDIR:-/var/tmp}/ptsort-$me.XXXXXX") || exit 1
	fi
	if [ "$(id -u)" = 0 ]; then
		run_user=postgres
		id -u postgres >/dev/null 2>&1 || run_user=nobody
	fi
	mkdir -p "$work/src" "$work/root" "$work/sock"
	tar -cf - --exclude=./.git --exclude=./build --exclude='*.o' \
		--exclude='*.so' --exclude='*.bc' --exclude=results \
		--exclude=tmp_check --exclude=regression.diffs \
		--exclude=regression.out . | tar -xf - --no-same-owner -C "$work/src"
	cd "$work" || exit 1
	own_workdir
}

# own_workdir: give everything in $work to the unprivileged user
own_workdir()
{
	chmod -R u+rwX,go+rX "$work"
	[ ! -d "$work/data" ] || chmod -R go= "$work/data"
	if [ -n "$run_user" ]; then
		chown -R "$run_user:$(id -g "$run_user")" "$work"
	fi
}

# stop_servers DIR...: stop all servers in these directories immediately
stop_servers()
{
	local pidfile
	find "$@" -name postmaster.pid 2>/dev/null | while read -r pidfile; do
		as_user "$bindir/pg_ctl" stop -s -m immediate -D "${pidfile%/*}" \
			>/dev/null 2>&1
	done
}

# cleanup: stop all processes in $work, and remove $work unless KEEP=1 is set
cleanup()
{
	local status=$?
	trap '' INT TERM HUP
	[ -z "$child" ] || kill -TERM "$child" 2>/dev/null
	[ -z "$watcher" ] || kill -TERM "$watcher" 2>/dev/null
	if [ ${#lanes[@]} -gt 0 ]; then
		kill -TERM "${lanes[@]}" 2>/dev/null
		wait "${lanes[@]}"
	fi
	cd "$top" || status=1
	if [ -n "$work" ] && [ -d "$work" ]; then
		stop_servers "$work"
		if [ -n "${KEEP:-}" ]; then
			say "kept: $work"
		else
			# a process that just lost its server may still write a file
			for _ in 1 2 3 4 5; do
				rm -rf "$work" && break
				sleep 1
			done
		fi
	fi
	exit "$status"
}

# copy_into_root DIR: copy an installed directory to the same path below root
copy_into_root()
{
	case $1 in
	"$work" | "$work"/* | / | "") # the copy would contain itself
		echo "cannot copy \"$1\" into $work" >&2
		return 1 ;;
	esac
	mkdir -p "$work/root$1"
	cp -RL --preserve=mode,timestamps "$1/." "$work/root$1/"
}

# copy_server: copy the server's installation.  The server finds its files
# relative to its binary, so the copy works if all relative paths are unchanged.
# Sets $bindir and $private_config.
copy_server()
{
	local option dir
	for option in --bindir --pkglibdir --sharedir --includedir-server; do
		dir=$("$pg_config" $option) || return 1
		copy_into_root "$dir" || return 1
	done
	dir=$("$pg_config" --bindir)
	bindir=$work/root$dir
	private_config=$bindir/pg_config
	own_workdir
	export PATH="$bindir:$PATH"
	if [ "$("$private_config" --pkglibdir)" != \
		"$work/root$("$pg_config" --pkglibdir)" ]; then
		echo "this server installation cannot be relocated" >&2
		return 1
	fi
}

# install_private: copy the server, then build ptsort and its test clients and
# install them into the copy
install_private()
{
	local client
	copy_server || return 1
	build_and_install "$work/src" || return 1
	for client in "$work"/src/contrib/*/Makefile; do
		[ ! -f "$client" ] || build_and_install "${client%/Makefile}" || return 1
	done
}

# build_and_install DIR: run make install in DIR; print the output if it fails
build_and_install()
{
	local log=$work/make.log
	if ! as_user make -C "$1" -j"$(nproc)" "PG_CONFIG=$private_config" \
		all >"$log" 2>&1 ||
		! as_user make -C "$1" "PG_CONFIG=$private_config" \
			install >>"$log" 2>&1; then
		cat "$log"
		return 1
	fi
	grep -E 'warning:' "$log"
	return 0
}

# the locale and encoding of the cluster's databases
initdb_options=(--locale=C.UTF-8 --encoding=UTF8)

# a program to start in place of the server, if any
postgres_wrapper=

# start_cluster [SETTING...]: create the cluster unless an earlier script kept
# it, start the server, and set PGHOST and PGPORT
start_cluster()
{
	local shm setting
	[ -f "$work/data/PG_VERSION" ] || as_user "$bindir/initdb" \
		-D "$work/data" -U postgres -A trust -N \
		"${initdb_options[@]}" >"$work/initdb.log" 2>&1 || {
		cat "$work/initdb.log"
		return 1
	}
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$work/sock'"
		for setting in "$@"; do
			echo "$setting"
		done
		# containers often come with a tiny /dev/shm
		shm=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
		[ "${shm:-0}" -gt 262144 ] || echo "dynamic_shared_memory_type = mmap"
	} >>"$work/data/postgresql.conf"
	if ! as_user "$bindir/pg_ctl" start -s -w -D "$work/data" \
		${postgres_wrapper:+-p "$postgres_wrapper"} -l "$work/server.log"; then
		cat "$work/server.log"
		return 1
	fi
	export PGHOST=$work/sock PGPORT=5432 PGUSER=postgres
}

# stop_cluster: stop the server in fast mode; fail if it does not stop
stop_cluster()
{
	as_user "$bindir/pg_ctl" stop -s -w -m fast -D "$work/data"
}
