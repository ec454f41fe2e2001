#!/bin/bash
#
# check-indent.sh [--write] - `make check-indent`: check that the C sources have
# the layout of the server's indenter (indenter.sh), and that typedefs.list is
# up to date (`make typedefs`).  With --write (`make indent`), indent the
# sources.  The last line of a check is "N passed, N failed".
#
# The indenter works on a copy of the sources, because it leaves temporary files
# if it fails.  It reports failures only in its error output.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/common.sh
. contrib/dev/common.sh
# shellcheck source=contrib/dev/tally.sh
. contrib/dev/tally.sh

dirs=(src include contrib)

# copy_tree DIR: copy the C sources into DIR
copy_tree()
{
	mkdir -p "$1" && find "${dirs[@]}" -name '*.[ch]' -print0 |
		tar -cf - --null -T - | tar -xf - -C "$1"
}

# lay_out DIR: indent the copy in DIR, and print the indenter's output; succeed
# if there is no output
lay_out()
{
	local words status
	words=$(cd "$1" && perl "$indenter/pgindent" "--typedefs=$top/typedefs.list" \
		"--indent=$indenter/pg_bsd_indent" "${dirs[@]}" 2>&1)
	status=$?
	[ -z "$words" ] || echo "$words"
	[ $status -eq 0 ] && [ -z "$words" ]
}

# differing DIR: print the sources that differ from their copies in DIR
differing()
{
	local file
	find "${dirs[@]}" -name '*.[ch]' | sort | while read -r file; do
		cmp -s "$file" "$1/$file" || echo "$file"
	done
}

# check_mistakes: check that the indenter fixes a wrong layout, and reports code
# that it cannot parse
check_mistakes()
{
	mkdir -p "$work/bad/src" "$work/bad/include" "$work/bad/contrib"
	printf 'int\nf(int a)\n{\n  if (a) return 1;\n\treturn 0;\n}\n' \
		>"$work/bad/src/f.c"
	cp "$work/bad/src/f.c" "$work/f.c"
	lay_out "$work/bad" && ! cmp -s "$work/f.c" "$work/bad/src/f.c"
	result $? "the indenter finds mistakes"
	echo 'int f(void) { return (1; }}' >"$work/bad/src/f.c"
	! lay_out "$work/bad" >/dev/null
	result $? "the indenter reports code that it cannot read"
}

indenter=$(contrib/dev/indenter.sh) || give_up "no indenter"
trap cleanup EXIT
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ptsort-$me.XXXXXX") || exit 1
[ "${1:-}" = --write ] || check_mistakes
copy_tree "$work/tree" || give_up "the sources could not be copied"
lay_out "$work/tree"
status=$?
mapfile -t differing < <(differing "$work/tree")
if [ "${1:-}" = --write ]; then
	for file in ${differing[@]+"${differing[@]}"}; do
		say "$file"
		cp "$work/tree/$file" "$file" || status=1
	done
	exit $status
fi
for file in ${differing[@]+"${differing[@]}"}; do
	diff -u --label "$file" --label "$file, indented" "$file" "$work/tree/$file"
	status=1
done
[ $status -eq 0 ] || say "\"make indent\" fixes the layout"
result $status "indentation: $(find "${dirs[@]}" -name '*.[ch]' | wc -l) files"
contrib/dev/typedefs.sh | diff -u typedefs.list -
result $? "typedefs.list is up to date (make typedefs)"
finish
