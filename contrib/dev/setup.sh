#!/bin/bash
#
# setup.sh - install missing distribution packages that `make check` and `make
# demo` need.  If the user is not root, or with NO_INSTALL=1, the script names
# the packages and fails.
#
# The script works only on Debian and its derivatives.  Elsewhere, install
# manually: a PostgreSQL 15 to 19 server with its contrib modules and
# development files, gcc, g++, make, perl with IPC::Run, python3, and the locale
# en_US.UTF-8.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh

# newest_version: print the server version to install: the newest installed one,
# otherwise the newest one in the package lists
newest_version()
{
	local v
	for v in 19 18 17 16 15; do
		if [ -x /usr/lib/postgresql/$v/bin/postgres ]; then
			echo $v
			return
		fi
	done
	for v in 19 18 17 16 15; do
		if apt-cache show postgresql-$v >/dev/null 2>&1; then
			echo $v
			return
		fi
	done
	echo NN
}

# missing_packages VERSION: print the missing packages, one per line
missing_packages()
{
	local v=$1 sharedir
	command -v gcc >/dev/null || echo gcc
	command -v g++ >/dev/null || echo g++
	[ -f /usr/include/stdio.h ] || echo libc6-dev
	command -v make >/dev/null || echo make
	command -v prove >/dev/null || echo perl
	command -v python3 >/dev/null || echo python3
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

if [ -n "${PG_CONFIG:-}" ] && ! find_server; then
	echo "PG_CONFIG=$PG_CONFIG is not a PostgreSQL 15 to 19 server with its" \
		"development files" >&2
	exit 1
fi

# list_missing: print the missing packages.  Determines the version each time,
# because updated package lists may have a newer version
list_missing()
{
	missing_packages "$(newest_version)"
}

ensure_packages list_missing
