# shellcheck shell=bash
#
# source.sh - fetch the server's sources or packages from the distribution.  If a
# script builds parts of the server, it must source packages.sh before this file.
#
# The functions use apt-get, so they work only on Debian.  They use a private apt
# configuration, which leaves this machine's package lists unchanged.

# the release of Debian that carries each version
declare -A suites=([15]=bookworm [17]=trixie [18]=sid)

# A mirror's lists can name a new PostgreSQL release that the mirror lacks,
# although the mirror still has the previous release.  In this case the script
# tries the releases below, one for each major version, and checks the archive's
# SHA-256.
declare -A known_releases=([15]=15.18 [17]=17.11 [18]=18.6)
declare -A known_sums=(
	[15]=11df0df97fe3ea4ba9a791faaf39cee1d2fe571e78885b5b55d8517d27c323b4
	[17]=dd27f2b3c59e73ed14aa3324901242bf69a032a6347805f274e6260322d42979
	[18]=555610c24d53e4316da5b7d3fc25c279d96856d5e0e23ee308c328c5fa881d9f)

# give_up WORDS: print an error message, and exit
give_up()
{
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# step NAME COMMAND...: run a command, with its output in the file $log
step()
{
	echo "   $1" >&2
	shift
	# shellcheck disable=SC2154 # the calling script sets log
	if ! "$@" >>"$log" 2>&1; then
		tail -n 40 "$log" >&2
		give_up "failed: $* (the whole output is in $log)"
	fi
}

# mirror: print the URL of the Debian mirror that this machine uses
mirror()
{
	cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
		grep -oE 'https?://[^ ]+/debian/?([[:space:]]|$)' | head -n 1 | tr -d '[:space:]'
}

# private_apt DIRECTORY TYPE SUITE [OPTION...]: write a configuration of apt into
# DIRECTORY and download the package lists; TYPE is deb or deb-src.  Sets
# $options, with which apt-get uses this configuration and the options given.
private_apt()
{
	local apt=$1 type=$2 suite=$3 from
	shift 3
	from=$(mirror)
	[ -n "$from" ] || give_up "apt names no Debian mirror"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"$from $suite main" >"$apt/sources.list"
	# the release file of unstable may be expired
	options=(-o "Dir::Etc::sourcelist=$apt/sources.list"
		-o Dir::Etc::sourceparts=/dev/null -o "Dir::State::Lists=$apt/lists"
		-o "Dir::Cache=$apt/cache" -o Acquire::Check-Valid-Until=0
		-o APT::Sandbox::User=root "$@")
	step "package lists of $suite" apt-get "${options[@]}" update
}

# download_source MAJOR: download the archive that apt finds or, if apt fails,
# the known release, into the current directory.  fetch_source calls this
# function and sets $options.
download_source()
{
	local major=$1 archive from
	apt-get "${options[@]}" source --download-only "postgresql-$major" && return
	archive=postgresql-${major}_${known_releases[$major]}.orig.tar.bz2
	echo "could not download the listed release; trying $archive"
	rm -f "postgresql-${major}_"*
	from=$(mirror)
	/usr/lib/apt/apt-helper download-file \
		"${from%/}/pool/main/p/postgresql-$major/$archive" "$archive" \
		"SHA256:${known_sums[$major]}"
}

# fetch_source MAJOR DIR [PATH...]: unpack the upstream archive of the source
# package, or only the named paths in the archive, into DIR/src
fetch_source()
{
	local major=$1 dir=$2 apt=$2/apt options
	shift 2
	private_apt "$apt" deb-src "${suites[$major]}"
	cd "$dir" || exit 1
	rm -f "postgresql-${major}_"*
	step "source of postgresql-$major" download_source "$major"
	rm -rf src && mkdir src
	step unpack tar -xf "$(ls "$dir"/postgresql-"$major"*.orig.tar.*)" \
		-C src --strip-components=1 --wildcards "${@/#/*/}"
	rm -rf "$apt" "$dir"/postgresql-*
}
