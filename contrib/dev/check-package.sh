#!/bin/bash
#
# check-package.sh - `make check-package`: build the Debian packages of this
# tree, one for each major version whose development files are installed.  For
# each version whose server is installed too, install the package with dpkg into
# a private root with a copy of the server.  Use and remove the package, and
# check that only the indexes remain.  lintian checks the packages.  The last
# line is "N passed, N failed".
#
# The script first installs the packages that the build requires, unless
# NO_INSTALL=1 is set.  If the installation would upgrade or remove any package,
# the script names these packages and gives up, unless UPGRADE=1 is set.  The
# script changes no server of this machine.  KEEP=1 keeps the working directory.
#
# shellcheck disable=SC2317 # functions are called by name

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh
# shellcheck source=contrib/dev/trial.sh
. contrib/dev/trial.sh
export UPGRADE="${UPGRADE:-0}"

# missing_helpers: print the missing packages that the build requires
missing_helpers()
{
	command -v dpkg-buildpackage >/dev/null || echo dpkg-dev
	command -v dh >/dev/null || echo debhelper
	dpkg-query -W -f '${db:Status-Abbrev}\n' build-essential 2>/dev/null |
		grep -q '^ii' || echo build-essential
	[ -f /usr/share/perl5/Debian/Debhelper/Sequence/pgxs_loop.pm ] ||
		echo postgresql-server-dev-all
	command -v lintian >/dev/null || echo lintian
}

# build_packages: build the packages as the unprivileged user, in the copy of
# the tree, and put them into $work
build_packages()
{
	local log=$work/build.log status
	as_user env -C "$work/src" DEB_BUILD_OPTIONS=noautodbgsym \
		dpkg-buildpackage -us -uc -b >"$log" 2>&1
	result $? "dpkg-buildpackage"
	if [ ! -f "${packages[0]}" ]; then
		tail -n 60 "$log"
		give_up "there is no package"
	fi
	! grep -E 'warning:' "$log"
	result $? "built without warnings"
	as_user env -C "$work" lintian --fail-on error,warning --no-cfg ./*.changes \
		>"$work/lintian.log" 2>&1
	status=$?
	cat "$work/lintian.log"
	result $status "lintian"
}

# expected_files VERSION: print the files that the package must contain
expected_files()
{
	local server=usr/share/postgresql/$1/extension file
	echo "usr/lib/postgresql/$1/lib/ptsort.so"
	for file in ptsort.control ptsort--*.sql; do
		echo "$server/$file"
	done
	for file in include/*.h; do
		echo "usr/include/postgresql/$1/server/extension/ptsort/${file##*/}"
	done
	for file in changelog.Debian.gz changelog.gz copyright; do
		echo "usr/share/doc/postgresql-$1-ptsort/$file"
	done
	for file in README.md SECURITY.md doc/*.md; do
		# dh_compress compresses documents of more than 4 kB
		[ "$(wc -c <"$file")" -le 4096 ] || file=$file.gz
		echo "usr/share/doc/postgresql-$1-ptsort/$file"
	done
}

# check_files PACKAGE VERSION: check that the package contains exactly the
# expected files, and no scripts for dpkg
check_files()
{
	(cd "$top" && expected_files "$2" | LC_ALL=C sort) >"$work/expected"
	dpkg-deb --fsys-tarfile "$1" | tar -tf - | grep -v '/$' |
		sed 's,^\./,,' | LC_ALL=C sort | diff -u "$work/expected" -
	result $? "$2: the package has the files it should have"
	dpkg-deb --ctrl-tarfile "$1" | tar -tf - | grep -v '/$' |
		LC_ALL=C sort | diff -u <(printf './%s\n' control md5sums) -
	result $? "$2: the package has no scripts"
	dpkg-deb -f "$1" Depends | grep -Eq "(^|, )postgresql-$2( |,|\$)"
	result $? "$2: the package depends on its server: $(dpkg-deb -f "$1" Depends)"
}

# private_dpkg ARGUMENT...: run dpkg in the private root, without root's
# privileges
private_dpkg()
{
	as_user env "PATH=$PATH:/usr/sbin:/sbin" dpkg "--root=$work/root" \
		"--log=$work/dpkg.log" --force-not-root --path-include='*' "$@" >>"$work/dpkg.out" 2>&1
}

# init_dpkg: initialize the private root's dpkg without any packages
init_dpkg()
{
	local admin=$work/root/var/lib/dpkg
	mkdir -p "$admin"/{info,updates,triggers}
	: >"$admin/status"
	own_workdir
}

# know_dependencies PACKAGE: tell the private root's dpkg which of the package's
# dependencies this machine has, so that dpkg accepts the package
know_dependencies()
{
	local admin=$work/root/var/lib/dpkg name
	dpkg-deb -f "$1" Depends | sed 's/[,|]/\n/g' | awk '{ print $1 }' |
		sort -u | while read -r name; do
		dpkg-query -s "$name" | grep -v '^Conffiles:\|^ /etc' >>"$admin/status"
		echo >>"$admin/status"
		: >"$admin/info/$name.list"
		: >"$admin/info/$name:$(dpkg --print-architecture).list"
	done
	own_workdir
}

# try_package PACKAGE VERSION: install, use and remove the package
try_package()
{
	local package=$1 version=$2 name
	name=postgresql-$version-ptsort
	check_files "$package" "$version"
	pg_config=/usr/lib/postgresql/$version/bin/pg_config
	if ! server_complete "$pg_config"; then
		say "$version: no server is installed that could load the package"
		return
	fi
	rm -rf "$work/root" "$work/data"
	mkdir -p "$work/root"
	copy_server || give_up "the server could not be copied"
	lose_ptsort

	: >"$work/dpkg.out"
	init_dpkg
	files_in_root >"$work/before"
	! private_dpkg -i "$package" &&
		grep -q "ptsort depends on postgresql-${version}[ ;]" "$work/dpkg.out"
	result $? "$version: dpkg refuses the package without its server"
	private_dpkg -r "$name"
	know_dependencies "$package"
	private_dpkg -i "$package"
	result $? "$version: dpkg installs the package"
	private_dpkg --verify "$name" && dpkg "--root=$work/root" -s "$name" |
		grep -qx 'Status: install ok installed'
	result $? "$version: it is installed"
	use_package "$version"

	private_dpkg -r "$name"
	result $? "$version: dpkg removes it"
	files_in_root | diff -u "$work/before" -
	result $? "$version: no file and no directory of it is left"
	! dpkg "--root=$work/root" -s "$name" >/dev/null 2>&1
	result $? "$version: dpkg no longer knows it"
	outlive_package "$version"
	check_logs "$version: log of the server" "" "$work/server.log"
	[ "$failed" -eq 0 ] || cat "$work/dpkg.out"
}

ensure_packages missing_helpers || give_up "packages are missing"
contrib/dev/setup.sh || give_up "packages are missing"
make_workdir ""
mapfile -t versions < <(cd "$work/src" && DEB_PG_SUPPORTED_VERSIONS=installed \
	pg_buildext supported-versions)
packages=()
for version in "${versions[@]}"; do
	packages+=("$work/postgresql-$version-ptsort_$(
		dpkg-parsechangelog -l "$work/src/debian/changelog" -S Version)_$(
		dpkg --print-architecture).deb")
done
say "packages for ${versions[*]}"
build_packages
for i in "${!versions[@]}"; do
	try_package "${packages[$i]}" "${versions[$i]}"
done
finish
