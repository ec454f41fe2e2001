#!/bin/bash
#
# check-static.sh - `make check-static`: check the sources without running them.
# Each tool checks src, include and contrib, with and without the server's
# assertions, and must find nothing.  Each tool must also find the mistakes in
# static-mistakes.c, which shows that the tool works.
#
#   gcc, clang           with all warnings as errors
#   clang --analyze      clang's static analyser
#   cppcheck
#   macro-arguments.pl   side effects in arguments that macros evaluate twice
#   for scripts          shellcheck
#   check-indent.sh      the layout of the sources
#
# The last line is "N passed, N failed".  A comment explains each suppression of
# a false finding.  Suppressions are "cppcheck-suppress" in the source, and the
# files *.allow in this directory.  PG_CONFIG chooses the server's headers.
#
# shellcheck disable=SC2317 # check_tool calls find_by_TOOL by name

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

# find_clang: print the path of clang, with or without a version in its name
find_clang()
{
	local candidate
	for candidate in clang clang-{21..11}; do
		command -v "$candidate" && return
	done
	return 1
}

missing_tools()
{
	command -v gcc >/dev/null || echo gcc
	find_clang >/dev/null || echo clang
	command -v cppcheck >/dev/null || echo cppcheck
	command -v shellcheck >/dev/null || echo shellcheck
}

# Warnings of gcc and clang in addition to the Makefile's warnings.  The script
# disables two warnings of clang.  One is about gnu_printf, which clang does
# not know; the server's headers, configured for gcc, use gnu_printf.  The
# other is about a GNU extension: a struct with a flexible array inside another.
# The server uses the same extension in PGAlignedBlock.
extra_warnings=(-Wmissing-prototypes -Wpointer-arith -Wvla -Wwrite-strings
	-Wdeclaration-after-statement -Wformat-security)
gcc_warnings=(-Wlogical-op -Wduplicated-cond
	-Wimplicit-fallthrough=3 -Wcast-function-type)
clang_warnings=(-Wno-ignored-attributes
	-Wno-gnu-variable-sized-type-not-at-end)

# each_file COMMAND...: run the command for each source, in parallel
each_file()
{
	printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" "$@"
}

# Each function find_by_TOOL prints what the tool finds in the files
# ${sources[@]}.  Without findings the function prints nothing and succeeds.
find_by_gcc()
{
	each_file gcc "${flags[@]}" "${gcc_warnings[@]}" -Werror -c -o /dev/null
}

find_by_clang()
{
	each_file "$clang" "${flags[@]}" "${clang_warnings[@]}" -Werror \
		-c -o /dev/null
}

find_by_analyser()
{
	each_file "$clang" "${flags[@]}" "${clang_warnings[@]}" --analyze \
		-Xclang -analyzer-output=text -Xclang -analyzer-werror -o /dev/null
}

find_by_cppcheck()
{
	cppcheck --quiet -j "$(nproc)" --std=c99 --inline-suppr --error-exitcode=1 \
		--enable=warning,performance,portability "${cppflags[@]}" \
		"--suppress=*:$headers/*" "${sources[@]}"
}

find_by_macros()
{
	local allow=(--allow contrib/dev/macro-arguments.allow)
	[ "${sources[0]}" != contrib/dev/static-mistakes.c ] || allow=()
	contrib/dev/macro-arguments.pl ${allow[@]+"${allow[@]}"} \
		"gcc ${flags[*]}" "${sources[@]}" "${other_sources[@]}"
}

# check_tool TOOL WORDS: check that the tool finds nothing in ptsort's sources,
# and finds something in static-mistakes.c
check_tool()
{
	local tool=$1 words=$2 log status start=$SECONDS
	sources=(contrib/dev/static-mistakes.c)
	other_sources=()
	if log=$("find_by_$tool" 2>&1); then
		result 1 "$words finds mistakes"
	else
		result 0 "$words finds mistakes"
	fi
	mapfile -t sources < <(find src contrib -name '*.c' \
		! -name static-mistakes.c | sort)
	mapfile -t other_sources < <(find src include contrib -name '*.h' | sort)
	log=$("find_by_$tool" 2>&1)
	status=$?
	[ -z "$log" ] || status=1
	[ $status -eq 0 ] || head -n 200 <<<"$log"
	result $status "$words: ${#sources[@]} files, $((SECONDS - start)) s"
}

# set_flags DEFINES...: set the flags for the compilers, and for the
# preprocessors
set_flags()
{
	local warnings
	# shellcheck disable=SC2016 # make expands $(PG_CFLAGS)
	read -r -a warnings < <(make -s "PG_CONFIG=$pg_config" \
		--eval='show-flags: ; @echo $(PG_CFLAGS)' show-flags)
	cppflags=("-I$headers" -Iinclude -Isrc -Icontrib/ptsort_test
		-DPTSORT_STAMP='"0"' -DPTSORT_VERSION='"0"' "$@")
	flags=(-std=gnu99 -O2 -fno-strict-aliasing -fwrapv -D_GNU_SOURCE
		"${warnings[@]}" "${extra_warnings[@]}" "${cppflags[@]}")
}

check_shell()
{
	local log
	# shellcheck disable=SC2016 # shellcheck must find this mistake
	printf '#!/bin/sh\nrm $1\n' | shellcheck - >/dev/null 2>&1
	[ $? -eq 1 ]
	result $? "shellcheck finds mistakes"
	log=$(find contrib -name '*.sh' -exec shellcheck -x {} + 2>&1)
	[ -z "$log" ] || head -n 100 <<<"$log"
	[ -z "$log" ]
	result $? "shellcheck"
}

ensure_packages missing_tools || give_up "packages are missing"
contrib/dev/setup.sh || give_up "packages are missing"
find_server || give_up "no PostgreSQL server found"
say "$("$pg_config" --version)"
headers=$("$pg_config" --includedir-server)
clang=$(find_clang)
for assertions in "" -DUSE_ASSERT_CHECKING; do
	set_flags ${assertions:+"$assertions"}
	words=${assertions:+, with assertions}
	check_tool gcc "gcc$words"
	check_tool clang "clang$words"
	check_tool macros "macros that read an argument twice$words"
done
check_tool analyser "clang's analyser"
check_tool cppcheck "cppcheck"
check_shell
count_child check-indent.sh contrib/dev/check-indent.sh
finish
