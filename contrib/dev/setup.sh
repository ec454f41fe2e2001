#!/bin/bash
#
# setup.sh - install the distribution packages that `make check` and `make
# demo` need, if they are missing; without the right to do so, name them.
#
# Debian and its relatives only.  Elsewhere, install the same things by hand:
# a PostgreSQL 15 to 18 server with its contrib modules and development files,
# gcc, make, perl with IPC::Run, and the locale en_US.UTF-8.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh

# newest_version: the server version to install: the one that is there, else
# the newest that the package lists offer
newest_version()
{
	local v
	for v in 18 17 16 15; do
		if [ -x /usr/lib/postgresql/$v/bin/postgres ]; then
			echo $v
			return
		fi
	done
	for v in 18 17 16 15; do
		if apt-cache show postgresql-$v >/dev/null 2>&1; then
			echo $v
			return
		fi
	done
	echo NN
}

# missing_packages: print what is missing, one package per line
missing_packages()
{
	local v=$1 sharedir
	command -v gcc >/dev/null || echo gcc
	[ -f /usr/include/stdio.h ] || echo libc6-dev
	command -v make >/dev/null || echo make
	command -v prove >/dev/null || echo perl
	perl -MIPC::Run -e 1 2>/dev/null || echo libipc-run-perl
	locale -a 2>/dev/null | grep -qix 'en_US\.utf-\?8' || echo locales-all
	[ -e /usr/share/i18n/charmaps/UTF-8.gz ] || echo locales
	if find_server; then
		sharedir=$("$pg_config" --sharedir)
		[ -f "$sharedir/extension/amcheck.control" ] || echo "postgresql-$v"
	else
		[ -x "/usr/lib/postgresql/$v/bin/postgres" ] || echo "postgresql-$v"
		[ -f "/usr/include/postgresql/$v/server/postgres.h" ] ||
			echo "postgresql-server-dev-$v"
	fi
}

# install_packages PACKAGE...: without a running cluster as a side effect
install_packages()
{
	local conf=/etc/postgresql-common/createcluster.d/ptsort-setup.conf status
	mkdir -p "${conf%/*}"
	echo 'create_main_cluster = false' >"$conf"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
		--no-install-recommends "$@" </dev/null
	status=$?
	rm -f "$conf"
	rmdir --ignore-fail-on-non-empty "${conf%/*}"
	return $status
}

if [ -n "${PG_CONFIG:-}" ] && ! find_server; then
	echo "PG_CONFIG=$PG_CONFIG is not a PostgreSQL 15 to 18 server with its" \
		"development files" >&2
	exit 1
fi

mapfile -t packages < <(missing_packages "$(newest_version)")
[ ${#packages[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "missing: ${packages[*]}" >&2
	echo "install with: sudo apt-get install ${packages[*]}" >&2
	exit 1
fi
say "installing ${packages[*]}"
apt-get update -q </dev/null || say "the package lists could not be updated"
mapfile -t packages < <(missing_packages "$(newest_version)")
install_packages "${packages[@]}" || exit 1

mapfile -t packages < <(missing_packages "$(newest_version)")
if [ ${#packages[@]} -gt 0 ]; then
	echo "still missing after the installation: ${packages[*]}" >&2
	exit 1
fi
