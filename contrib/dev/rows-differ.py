#!/usr/bin/env python3
"""rows-differ.py EXPECTED RESULT - do two outputs of psql differ only in order?

Sorts by ptsort may return rows with equal keys in another order than the
server's.  This says whether that is all: outside of result tables every line
is the same, and each table has the same rows, in whatever order.  (That rows
are in the order of their keys is asserted by the server that made RESULT.)  In
a plan, lines that tell how the server's own sort went may be missing.

Exit status 0 if so, 1 if not, with the first difference.
"""

import re
import sys

RULE = re.compile(r'^-[-+]*$')
COUNT = re.compile(r'^\(\d+ rows?\)$')
METHOD = re.compile(r'^\s*(Worker \d+:\s+)?Sort Method: ')


def parts(lines):
    """The text between tables, and tables, one after the other.

    A part is (name, lines); a table begins after the line under its header and
    ends before the line that counts its rows.
    """
    part = ('text', [])
    found = [part]
    for line in lines:
        if part[0] == 'table' and COUNT.match(line):
            part = ('text', [])
            found.append(part)
        part[1].append(line)
        if part[0] == 'text' and RULE.match(line) and len(part[1]) > 1:
            part = ('table', [])
            found.append(part)
    return found


def rows(lines):
    """What a table's lines have to have in common."""
    return sorted(line for line in lines if not METHOD.match(line))


def difference(expected, result):
    """What makes them differ in more than order; None if nothing does."""
    old, new = parts(expected), parts(result)
    for (kind, old_lines), (other, new_lines) in zip(old, new):
        if kind != other:
            return f'a {kind} is expected, and there is a {other}', old_lines
        if kind == 'text' and old_lines != new_lines:
            return 'lines differ', first(old_lines, new_lines)
        if kind == 'table' and rows(old_lines) != rows(new_lines):
            return 'rows differ', first(rows(old_lines), rows(new_lines))
    if len(old) != len(new):
        return 'one has more tables', []
    return None


def first(old, new):
    """The first lines that differ."""
    for i in range(max(len(old), len(new))):
        if old[i:i + 1] != new[i:i + 1]:
            return ['-' + line for line in old[i:i + 3]] + \
                ['+' + line for line in new[i:i + 3]]
    return []


def read(path):
    """The file's lines, without their ends."""
    with open(path, encoding='utf-8', errors='surrogateescape') as file:
        return file.read().split('\n')


def main():
    """The command."""
    found = difference(read(sys.argv[1]), read(sys.argv[2]))
    if found is None:
        return 0
    print(found[0])
    print('\n'.join(found[1]))
    return 1


if __name__ == '__main__':
    sys.exit(main())
