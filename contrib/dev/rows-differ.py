#!/usr/bin/env python3
"""rows-differ.py EXPECTED RESULT - do two outputs of psql differ only in order?

Sorts by ptsort may return rows with equal keys in another order than the
server's own.  This prints what else differs, and nothing if that is all:
outside of result tables lines must be the same, and each table must have the
same rows, in whatever order.  (That rows are in the order of their keys is
asserted by the server that made RESULT.)  Left out of both is how the server's
own sorts went, which EXPLAIN says, and which participant met an error.
"""

import difflib
import re
import sys

RULE = re.compile(r'^\s?-[-+]*$')
COUNT = re.compile(r'^\(\d+ rows?\)$')
LEFT_OUT = re.compile(r'^\s*(Worker \d+:\s+)?Sort Method: '
                      r'|^\s*"Sort (Method|Space Used|Space Type)": '
                      r'|^CONTEXT:  parallel worker$')


def normal(line):
    """The line without what depends on the width of others."""
    if RULE.match(line):
        return '---'
    return 'QUERY PLAN' if line.strip() == 'QUERY PLAN' else line


def parts(lines):
    """Text and tables in turn, each a list of lines: text, table, text, ...

    A table's rows begin after the rule below its header and end before the line
    that counts them, which belongs to nothing.
    """
    found = [[]]
    for line in lines:
        in_table = len(found) % 2 == 0
        if in_table and COUNT.match(line):
            found.append([])
            continue
        if LEFT_OUT.match(line):
            continue
        found[-1].append(line if in_table else normal(line))
        if not in_table and RULE.match(line):
            found.append([])
    return found


def differences(expected, result):
    """What else differs: lines of a diff."""
    old, new = parts(expected), parts(result)
    found = []
    if len(old) != len(new):
        return [f'{len(old) // 2} tables are expected, there are {len(new) // 2}']
    for i, (before, after) in enumerate(zip(old, new)):
        if i % 2 == 1:
            before, after = sorted(before), sorted(after)
        if before != after:
            title = [line for line in old[i - i % 2] if line][-3:-1]
            found += ['@@ ' + line for line in title if i % 2 == 1]
            found += [line for line in difflib.unified_diff(
                before, after, n=0, lineterm='')
                if not line.startswith(('---', '+++', '@@'))]
    return found


def read(path):
    """The file's lines, without their ends."""
    with open(path, encoding='utf-8', errors='surrogateescape') as file:
        return file.read().split('\n')


if __name__ == '__main__':
    sys.stdout.reconfigure(errors='surrogateescape')
    LINES = differences(read(sys.argv[1]), read(sys.argv[2]))
    print('\n'.join(LINES), end='\n' if LINES else '')
