# shellcheck shell=bash
#
# packages.sh - install the distribution's packages that a script needs, or name
# them if the user is not root.  Scripts source this file.
#
# Before installing packages, the functions print the names of the packages and
# of their dependencies, and separately the installed packages that the
# installation would upgrade or remove.  With UPGRADE=0, the functions install
# nothing if the installation would upgrade or remove a package.  If NO_INSTALL
# is set to a value other than 0, the functions install nothing and do not
# update the package lists.  In this case, a script that lacks a package names
# the package and fails.

# list_into ARRAY LISTER [ARG...]: put the packages that LISTER prints into
# ARRAY
list_into()
{
	local -n list=$1
	shift
	# shellcheck disable=SC2034 # the caller uses the array
	mapfile -t list < <("$@" | sort -u)
}

# refused: succeed with a message if the user set NO_INSTALL
refused()
{
	case ${NO_INSTALL:-0} in
		0) return 1 ;;
		*) echo "not installing packages: NO_INSTALL is set" >&2 ;;
	esac
}

# simulate PACKAGE...: print what apt-get would do to install these packages
simulate()
{
	apt-get -s install -q --no-install-recommends "$@" 2>/dev/null
}

# come_along PACKAGE...: print the other packages that apt-get would install
# when it installs these packages, except those that replace an older version
come_along()
{
	simulate "$@" | sed -nE 's/^Inst ([^ ]+) \(.*/\1/p' | sort -u |
		grep -vxF "$(printf '%s\n' "$@")"
}

# give_way PACKAGE...: print the names and versions of the installed packages
# that apt-get would upgrade or remove when it installs these packages
give_way()
{
	simulate "$@" | sed -nE \
		-e 's/^Inst ([^ ]+) \[([^]]+)\] \(([^ ]+) .*/\1 (\2 to \3)/p' \
		-e 's/^Remv ([^ ]+) \[([^]]+)\].*/\1 (\2, removed)/p'
}

# announce PACKAGE...: print the packages that the script is about to install,
# and the packages that the installation would upgrade or remove; fail if
# UPGRADE=0 forbids these changes
announce()
{
	local along changed
	list_into along come_along "$@"
	list_into changed give_way "$@"
	if [ ${#changed[@]} -gt 0 ] && [ "${UPGRADE:-1}" = 0 ]; then
		echo "== installing $* would change installed packages:" >&2
		printf '==   %s\n' "${changed[@]}" >&2
		echo "not installing packages: UPGRADE=1 allows the changes" >&2
		return 1
	fi
	echo "== installing $* (NO_INSTALL=1 prevents it)" >&2
	[ ${#along[@]} -eq 0 ] || echo "== with dependencies: ${along[*]}" >&2
	[ ${#changed[@]} -eq 0 ] || printf '== changing %s\n' "${changed[@]}" >&2
}

# apt_install PACKAGE...: install the packages, without creating a cluster; wait
# while another process installs packages
apt_install()
{
	local conf=/etc/postgresql-common/createcluster.d/ptsort-setup.conf status
	mkdir -p "${conf%/*}"
	echo 'create_main_cluster = false' >"$conf"
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 \
		install -y -q --no-install-recommends "$@" </dev/null
	status=$?
	rm -f "$conf"
	rmdir --ignore-fail-on-non-empty "${conf%/*}"
	return $status
}

# ensure_packages LISTER [ARG...]: install the missing packages, which LISTER
# prints, one per line.  Prints their names first.  Succeeds if no package is
# missing at the end.
ensure_packages()
{
	local packages
	list_into packages "$@"
	[ ${#packages[@]} -gt 0 ] || return 0
	if refused || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "missing: ${packages[*]}" >&2
		echo "install with: sudo apt-get install ${packages[*]}" >&2
		return 1
	fi
	echo "== missing: ${packages[*]}" >&2
	apt-get -o DPkg::Lock::Timeout=600 update -q </dev/null ||
		echo "== the package lists could not be updated" >&2
	# newer lists may offer a newer server
	list_into packages "$@"
	announce "${packages[@]}" || return 1
	apt_install "${packages[@]}" || return 1
	list_into packages "$@"
	[ ${#packages[@]} -gt 0 ] || return 0
	echo "still missing after the installation: ${packages[*]}" >&2
	return 1
}
