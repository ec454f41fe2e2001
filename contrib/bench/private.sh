# shellcheck shell=bash
#
# private.sh - functions that the bench*.sh scripts share.  `bench` runs a
# Python program's `run` command in a private cluster, and then its `report`
# command.  The scripts source this file from the top of the source tree.

# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh

export PYTHONDONTWRITEBYTECODE=1
settings_options=()
report_options=()

# absolute DIR: print the absolute path of DIR, which must exist
absolute()
{
	(cd "$1" && pwd)
}

# options_of VARIABLE...: print the program options for these variables, one
# word a line.  A nonempty variable NAME becomes --name and the variable's
# value.  With an argument NAME?, a nonempty NAME becomes only --name.
options_of()
{
	local name word
	for name in "$@"; do
		word=--$(tr '[:upper:]_' '[:lower:]-' <<<"${name%\?}")
		case $name in
			*\?) name=${name%\?}; [ -z "${!name:-}" ] || echo "$word" ;;
			*) [ -z "${!name:-}" ] || printf '%s\n' "$word" "${!name}" ;;
		esac
	done
}

# bench PROGRAM OUT VARIABLE...: run the program with these variables as options,
# and put the program's results into the directory OUT
bench()
{
	local program=$1 out=$2 source_version settings options status
	shift 2
	command -v python3 >/dev/null || {
		echo "missing: python3" >&2
		exit 1
	}
	contrib/dev/setup.sh || exit 1
	find_server || exit 1
	mkdir -p "$out" && out=$(absolute "$out") || exit 1
	if [ -n "${CLUSTER:-}" ]; then
		CLUSTER=$(absolute "$CLUSTER") && KEEP=1 || exit 1
	fi
	source_version=$(git describe --always --dirty 2>/dev/null ||
		sed -n "s/^default_version *= *'\(.*\)'/\1/p" ptsort.control)
	mapfile -t settings < <(python3 contrib/bench/bench.py settings "${settings_options[@]}")

	say "$("$pg_config" --version), $(nproc) processors"
	make_workdir "${CLUSTER:-}"
	mkdir -p "$work/out" && rm -f "$work"/out/*.json
	say "build"
	install_private || exit 1
	own_workdir
	start_cluster "${settings[@]}" || exit 1

	mapfile -t options < <(options_of "$@" KEEP?)
	say "measure"
	as_user env -C "$work" python3 "$work/src/contrib/bench/$program" run \
		--out "$work/out" --source "$source_version" "${options[@]}"
	status=$?
	[ -f "$work/out/results.json" ] || exit 1
	cp "$work"/out/*.json "$out/" || exit 1
	stop_cluster || exit 1

	say "report: ${out#"$top/"}"
	python3 "$top/contrib/bench/$program" report "${report_options[@]}" "$out" || exit 1
	say "$SECONDS seconds"
	exit $status
}
