#!/usr/bin/env python3
"""rows-differ.py EXPECTED RESULT - check that two outputs of psql differ only
in the order of rows.

Sorts by ptsort and by the server may return rows with equal keys in different
orders.  The script prints all differences other than the order of rows.
Outside of result tables the lines must be equal.  Each table must have the same
rows, in any order.  The server that made RESULT asserts that rows are in the
order of their keys.  The script ignores EXPLAIN's lines about sort methods, and
the context line "parallel worker".
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
    """Normalize a line whose width depends on other lines."""
    if RULE.match(line):
        return '---'
    return 'QUERY PLAN' if line.strip() == 'QUERY PLAN' else line


def parts(lines):
    """Split the lines into text and tables in turn: text, table, text, ...

    A table's rows begin after the rule below its header, and end before the
    line with the number of rows.  parts() leaves that line out.
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
    """The differences except the order of rows, as lines of a diff."""
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
    """The file's lines, without newlines."""
    with open(path, encoding='utf-8', errors='surrogateescape') as file:
        return file.read().split('\n')


if __name__ == '__main__':
    sys.stdout.reconfigure(errors='surrogateescape')
    LINES = differences(read(sys.argv[1]), read(sys.argv[2]))
    print('\n'.join(LINES), end='\n' if LINES else '')
