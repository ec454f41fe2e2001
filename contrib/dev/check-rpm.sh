#!/bin/bash
#
# check-rpm.sh - `make check-rpm`: make the release archive of this tree, and
# build RPM packages from the archive with contrib/rpm/ptsort.spec, for the
# server that PG_CONFIG chooses.  Install the packages with rpm into a private
# root with a copy of the server.  Use and remove them, and check that only the
# indexes remain.  The last line is "N passed, N failed".
#
# The script needs no distribution that uses RPM.  It first installs rpm, unless
# NO_INSTALL=1 is set.  If the installation would upgrade or remove any package,
# the script names these packages and gives up, unless UPGRADE=1 is set.  KEEP=1
# keeps the working directory.
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

# missing_helpers: print the missing packages that the script requires
missing_helpers()
{
	local tool
	for tool in git rpm unzip zip; do
		command -v "$tool" >/dev/null || echo "$tool"
	done
}

# make_archive: make the release archive of the copy of the tree, and put it into
# $work.  "make dist" archives the files of a commit, so this function first
# commits the copy.
make_archive()
{
	as_user sh -c "cd '$work/src' && git init -q && git add -A &&
		git -c user.name=check -c user.email=check commit -q -m check &&
		make dist && mv 'ptsort-$version.zip' '$work/'" >"$work/dist.log" 2>&1
	result $? "make dist" || cat "$work/dist.log"
	[ -f "$work/ptsort-$version.zip" ] || give_up "there is no archive"
	unzip -Z1 "$work/ptsort-$version.zip" | grep -v '/$' |
		sed "s,^ptsort-$version/,," | LC_ALL=C sort |
		diff -u <(as_user git -C "$work/src" ls-files | LC_ALL=C sort) -
	result $? "the archive has the files of the commit"
	! unzip -Z1 "$work/ptsort-$version.zip" | grep -vE "^ptsort-$version/"
	result $? "all of them are below ptsort-$version"
}

# rpmbuild_as_user ARGUMENT...: run rpmbuild with its files in $work/rpm.
# Directories have the same names as on RPM distributions, but rpmbuild makes no
# packages of debugging information.  A program other than rpm manages this
# machine's packages, so rpmbuild does not check that required packages are
# installed.
rpmbuild_as_user()
{
	as_user env -C "$work" rpmbuild --define "_topdir $work/rpm" \
		--define "_sourcedir $work" --define "_tmppath $work" \
		--define "_docdir_fmt %%{NAME}" --define "_build_id_links none" \
		--define "debug_package %{nil}" \
		--nodeps "$@"
}

# build_packages: build the binary packages and the source package
build_packages()
{
	local log=$work/build.log
	rpmbuild_as_user -ba --define "pgmajorversion $major" \
		--define "pg_config $pg_config" \
		"$work/src/contrib/rpm/ptsort.spec" >"$log" 2>&1
	result $? "rpmbuild"
	package=$(find "$work/rpm/RPMS" -name "ptsort_$major-$version-*.rpm")
	headers=$(find "$work/rpm/RPMS" -name "ptsort_$major-devel-$version-*.rpm")
	if [ ! -f "$package" ] || [ ! -f "$headers" ]; then
		tail -n 60 "$log"
		give_up "there are no packages"
	fi
	! grep -E '^warning:|[^-]warning:' "$log"
	result $? "built without warnings"
	[ "$(find "$work/rpm/SRPMS" -name "ptsort_$major-$version-*.src.rpm" | wc -l)" = 1 ]
	result $? "there is a source package"
}

# expected_files: print the files that the package must contain
expected_files()
{
	local file
	echo "$("$pg_config" --pkglibdir)/ptsort.so"
	for file in ptsort.control ptsort--*.sql; do
		echo "$("$pg_config" --sharedir)/extension/$file"
	done
	echo "/usr/share/licenses/ptsort_$major"
	echo "/usr/share/licenses/ptsort_$major/LICENSE"
	echo "/usr/share/doc/ptsort_$major"
	for file in README.md SECURITY.md CHANGELOG.md doc doc/*.md; do
		echo "/usr/share/doc/ptsort_$major/$file"
	done
}

# expected_headers: print the files that the package of the headers must contain
expected_headers()
{
	local file dir
	dir=$("$pg_config" --includedir-server)/extension/ptsort
	echo "/usr/share/licenses/ptsort_$major-devel"
	echo "/usr/share/licenses/ptsort_$major-devel/LICENSE"
	echo "$dir"
	for file in include/*.h; do
		echo "$dir/${file##*/}"
	done
}

# check_files: check that the packages contain exactly the expected files and no
# scripts, and that they require their server
check_files()
{
	(cd "$top" && expected_files | LC_ALL=C sort) |
		diff -u - <(rpm -qp --list "$package" | LC_ALL=C sort)
	result $? "the package has the files it should have"
	(cd "$top" && expected_headers | LC_ALL=C sort) |
		diff -u - <(rpm -qp --list "$headers" | LC_ALL=C sort)
	result $? "so has the package of the headers"
	[ -z "$(rpm -qp --scripts --triggers "$package" "$headers")" ]
	result $? "the packages have no scripts"
	rpm -qp --requires "$package" | grep -qx "postgresql$major-server"
	result $? "the package requires its server"
	rpm -qp --requires "$headers" | grep -qx "postgresql$major-devel"
	result $? "the package of the headers requires the server's"
}

# private_rpm ARGUMENT...: run rpm in the private root, without root's privileges
private_rpm()
{
	as_user rpm --dbpath "$work/root/var/lib/rpm" "$@" >>"$work/rpm.out" 2>&1
}

# install_packages: install the packages into the private root
install_packages()
{
	private_rpm -i --relocate "/=$work/root/" --badreloc \
		"$package" "$headers"
}

# pretend_dependencies: install into the private root a package that claims to
# provide everything that ptsort's packages require from other packages
pretend_dependencies()
{
	{
		printf '%s\n' "Name: here" "Version: 1" "Release: 1" "Summary: here" \
			"License: none" "BuildArch: noarch" "%description" "here" "%files"
		rpm -qp --requires "$package" "$headers" |
			grep -v "^rpmlib(\|^ptsort_" | sed 's/^/Provides: /'
	} | awk '/^Provides/ { print >first; next } { print >rest }' \
		"first=$work/provides" "rest=$work/rest"
	cat "$work/provides" "$work/rest" >"$work/here.spec"
	own_workdir
	if ! rpmbuild_as_user -bb "$work/here.spec" >"$work/here.log" 2>&1 ||
		! private_rpm -i "$work/rpm/RPMS/noarch/here-1-1.noarch.rpm"; then
		cat "$work/here.log"
		give_up "no package for the dependencies"
	fi
}

# try_packages: install, use and remove the packages
try_packages()
{
	copy_server || give_up "the server could not be copied"
	lose_ptsort
	mkdir -p "$work/root/var/lib/rpm" "$work/root/usr/share/doc" \
		"$work/root/usr/share/licenses"
	own_workdir
	files_in_root >"$work/before"
	! install_packages && grep -q "postgresql$major-server is needed by" "$work/rpm.out"
	result $? "rpm refuses the package without its server"
	files_in_root | diff -u "$work/before" -
	result $? "nothing of it is there"
	pretend_dependencies
	install_packages
	result $? "rpm installs the packages"
	private_rpm -V --nouser --nogroup "ptsort_$major" "ptsort_$major-devel"
	result $? "they are installed"
	use_package "$major"
	private_rpm -e "ptsort_$major-devel" "ptsort_$major"
	result $? "rpm removes them"
	files_in_root | diff -u "$work/before" -
	result $? "no file and no directory of them is left"
	outlive_package "$major"
	check_logs "log of the server" "" "$work/server.log"
	[ "$failed" -eq 0 ] || cat "$work/rpm.out"
}

ensure_packages missing_helpers || give_up "packages are missing"
contrib/dev/setup.sh || give_up "packages are missing"
find_server || give_up "no PostgreSQL server found"
major=$("$pg_config" --version | sed -nE 's/^PostgreSQL ([0-9]+).*/\1/p')
version=$(sed -nE "s/^default_version = '(.*)'/\1/p" ptsort.control)
say "$("$pg_config" --version)"
make_workdir ""
make_archive
build_packages
check_files
try_packages
finish
