# shellcheck shell=bash
#
# packages.sh - install the distribution's packages that a script needs, or,
# without the right to do so, name them.  Sourced.
#
# Whatever is installed is named before, with all that comes with it.  With
# NO_INSTALL set to anything but 0 nothing is installed and no package list is
# brought up to date: a script that lacks a package fails and names it.

# list_into ARRAY LISTER [ARG...]: the packages that LISTER prints
list_into()
{
	local -n list=$1
	shift
	# shellcheck disable=SC2034 # it is the caller's
	mapfile -t list < <("$@" | sort -u)
}

# refused: whether the user wants nothing to be installed; says so
refused()
{
	case ${NO_INSTALL:-0} in
		0) return 1 ;;
		*) echo "nothing is installed: NO_INSTALL is set" >&2 ;;
	esac
}

# come_along PACKAGE...: the packages that are installed or replaced because
# these are installed
come_along()
{
	apt-get -s install -q --no-install-recommends "$@" 2>/dev/null |
		sed -nE 's/^Inst ([^ ]+) .*/\1/p' | sort -u |
		grep -vxF "$(printf '%s\n' "$@")"
}

# announce PACKAGE...: say what is about to be installed
announce()
{
	local along
	list_into along come_along "$@"
	echo "== installing $* (NO_INSTALL=1 refuses to)" >&2
	[ ${#along[@]} -eq 0 ] || echo "== with what they need: ${along[*]}" >&2
}

# apt_install PACKAGE...: without a running cluster as a side effect; wait if
# somebody else is installing
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

# ensure_packages LISTER [ARG...]: LISTER prints what is missing, one package
# per line.  Says which before it installs any; succeeds if nothing is missing
# in the end.
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
	announce "${packages[@]}"
	apt_install "${packages[@]}" || return 1
	list_into packages "$@"
	[ ${#packages[@]} -gt 0 ] || return 0
	echo "still missing after the installation: ${packages[*]}" >&2
	return 1
}
