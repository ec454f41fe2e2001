#!/usr/bin/env python3
"""Make the SQL statements that fill ptsort_known_digests and ptsort_known_changes.

  known.py [--into SCRIPT]... FILE...

Without --into, known.py prints the statements.  Otherwise it replaces those in
the extension's scripts, between the lines "-- BEGIN ..." and "-- END".

Each FILE is from "collations.py digests", on a machine with another release of
the GNU C library whose locales nobody changed.  If a locale's order differs
between releases, their files must contain the characters of this locale; known.py
names the locales whose characters are missing.
"""

import argparse
import collections
import itertools
import re
import sys
import textwrap

import changes
from collations import Machine, Trouble, change_of


def release_of(machine):
    """The release of the C library."""
    found = {version for (provider, _), (version, _) in machine.digests.items()
             if provider == "libc" and version}
    if len(found) != 1:
        raise Trouble(f"{machine.name} has collations of {len(found)} versions of the C library, not of one")
    return found.pop()


def read(names):
    """The files' contents, by release, oldest first."""
    machines = {release_of(machine): machine for machine in map(Machine, names)}
    if len(machines) < len(names):
        raise Trouble("two files have the same release")
    if len({machine.format for machine in machines.values()}) != 1:
        raise Trouble("the files have different formats")
    ordered = sorted(machines, key=lambda release: [int(part) for part in release.split(".")])
    return {release: machines[release] for release in ordered}


def row_of(digest, releases, locales):
    """A row of SQL; many locales fill several lines."""
    start = f"\t('{digest}', '{' '.join(releases)}',"
    lines = textwrap.wrap(" ".join(locales), 106, break_long_words=False, break_on_hyphens=False)
    if len(lines) == 1 and len(start) + len(lines[0]) < 106:
        return f"{start} '{lines[0]}')"
    return start + "\n\t\t'" + " '\n\t\t'".join(lines) + "')"


def digests_sql(machines):
    """The statement that fills ptsort_known_digests."""
    releases = collections.defaultdict(list)    # (locale, digest) -> releases
    for release, machine in machines.items():
        releases["C", machine.format].append(release)
        for (provider, locale), (version, digest) in machine.digests.items():
            if provider == "libc" and version and digest:
                releases[locale, digest].append(release)
    groups = collections.defaultdict(list)      # (releases, digest) -> locales
    for (locale, digest), found in releases.items():
        groups[tuple(found), digest].append(locale)
    rows = sorted((sorted(locales), found, digest) for (found, digest), locales in groups.items())
    values = ",\n".join(row_of(digest, found, locales) for locales, found, digest in rows)
    return f"""INSERT INTO ptsort_known_digests (release, locale, digest)
SELECT r.release, l.locale, k.digest
FROM (VALUES
{values}
	) AS k (digest, releases, locales),
	pg_catalog.string_to_table(k.releases, ' ') AS r (release),
	pg_catalog.string_to_table(k.locales, ' ') AS l (locale);
"""


def escape(text):
    """A string in ASCII, for unistr()."""
    return "".join(char if char.isascii() else f"\\u{ord(char):04X}" if char < "\U00010000"
                   else f"\\U{ord(char):08X}" for char in text)


def changes_of(before, after):
    """The changes of digests between two files, both ways, as rows of SQL."""
    rows = {}
    missing = set()
    for key in sorted(before.digests.keys() & after.digests.keys()):
        digests = before.digests[key][1], after.digests[key][1]
        # the servers record no version of "C.utf8"
        if key[0] != "libc" or "" in before.digests[key] + after.digests[key] or \
                digests[0] == digests[1] or digests in rows:
            continue
        if key not in before.packed or key not in after.packed:
            missing.add(key[1])
            continue
        change = change_of(key, before, after)
        if change.count == 0:
            raise Trouble(f"{key[1]}: no character, only strings of characters changed their place")
        examples = change.pairs()
        for pair, flip in (digests, False), (digests[::-1], True):
            texts = [" < ".join(changes.show(code) for code in (codes[::-1] if flip else codes))
                     for codes in examples]
            rows[pair] = f"\t('{pair[0]}', '{pair[1]}',\n\t\t{change.count}, '{escape(', '.join(texts))}')"
    return rows, missing


def changes_sql(machines):
    """The statement that fills ptsort_known_changes."""
    rows = {}
    missing = set()
    for before, after in itertools.combinations(machines.values(), 2):
        found, without = changes_of(before, after)
        rows.update(found)
        missing |= without
    if missing:
        raise Trouble('run "collations.py digests" again, with --characters ' + ",".join(sorted(missing)))
    values = ",\n".join(rows.values())
    return f"""INSERT INTO ptsort_known_changes (digest_before, digest_after, characters, examples) VALUES
{values};
"""


def replace(script, statements):
    """Replace the statements in a script of the extension."""
    try:
        with open(script, encoding="utf-8") as file:
            text = file.read()
        text, count = re.subn(r"(?ms)(^-- BEGIN [^\n]*\n).*?(^-- END$)",
                              lambda match: match[1] + statements + match[2], text)
        if count != 1:
            raise Trouble(f"{script} must have one line \"-- BEGIN ...\", and one line \"-- END\"")
        with open(script, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Trouble(f"could not change {script}: {error.strerror}") from error


def main():
    """Print or replace the statements.  Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", metavar="SCRIPT", action="append", default=[])
    parser.add_argument("files", metavar="FILE", nargs="+")
    arguments = parser.parse_args()
    try:
        machines = read(arguments.files)
        statements = "\n".join((digests_sql(machines), changes_sql(machines)))
        for script in arguments.into:
            replace(script, statements)
    except Trouble as error:
        print(f"known.py: {error}", file=sys.stderr)
        return 2
    if not arguments.into:
        print(statements, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
