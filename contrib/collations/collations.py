#!/usr/bin/env python3
"""Compare the collations of two machines by what they mean.

  collations.py digests [--characters LOCALE,...] [PSQL OPTION...] > FILE
  collations.py compare FILE FILE

"digests" connects by psql, as psql's options and the PG* variables say, to a
database in UTF-8 that has the extension ptsort.  It prints a line for each
collation of the C library in UTF-8, and for each collation of ICU, that the
server's catalogs contain: provider, locale, version, digest.  For the locales
named by --characters, it also prints all characters of Unicode in the order of
the locale.

"compare" tells for two such files which locales order all strings alike, which
do not, and about which nothing is known.  For locales with characters in both
files, it tells how many characters changed their place.  The exit status is 0
if all locales that both files contain order alike, 1 if not, and 2 after an
error.
"""

import argparse
import itertools
import subprocess
import sys
import textwrap

import changes

TITLE = "# ptsort: collations, format 1"

# Users may have created functions and operators in the schemas of the
# search_path, also in that of the extension.
SETTINGS_SQL = """
SET client_encoding = 'UTF8';
SET client_min_messages = warning;
SET search_path = pg_catalog;
SELECT coalesce((SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
    WHERE extname = 'ptsort'), 'public') AS schema \\gset
"""

DIGEST_SQL = """:"schema".ptsort_collation_digest(%s::regcollation)"""
DIGEST_OF_C_SQL = DIGEST_SQL % """'"C"'"""

# The digest of "C" identifies the format of all digests.
FORMAT_SQL = f"""
SELECT current_setting('server_encoding'), {DIGEST_OF_C_SQL}
"""

# The C library's collations in UTF-8, except "C" itself, and the locale's name
# without the encoding.  "C.UTF-8" is another locale than "C".
LIBC_SQL = """collprovider = 'c' AND collencoding = pg_char_to_encoding('UTF8')
    AND collnamespace = 'pg_catalog'::regnamespace AND collcollate NOT IN ('C', 'POSIX')"""
LOCALE_SQL = """regexp_replace(collcollate, '\\.[^@]*', CASE WHEN collcollate ~ '^C\\.' THEN '.UTF-8' ELSE '' END)"""

# A column of pg_collation has another name in each version of the server,
# therefore to_jsonb.
DIGESTS_SQL = f"""
SELECT CASE collprovider WHEN 'c' THEN 'libc' ELSE 'icu' END, locale,
    coalesce(pg_collation_actual_version(oid), ''), coalesce({DIGEST_SQL % 'oid'}, '')
FROM (SELECT DISTINCT ON (collprovider, locale COLLATE "C") *
    FROM (SELECT c.oid, collprovider, collname, CASE collprovider WHEN 'c' THEN {LOCALE_SQL}
            ELSE coalesce(to_jsonb(c) ->> 'colllocale', to_jsonb(c) ->> 'colliculocale') END AS locale
        FROM pg_collation c
        WHERE collprovider = 'i' AND collnamespace = 'pg_catalog'::regnamespace OR {LIBC_SQL}) s
    ORDER BY collprovider, locale COLLATE "C", collname) s
ORDER BY collprovider, locale COLLATE "C"
"""

COLLATION_SQL = f"""
SELECT oid::regcollation FROM pg_collation WHERE {LIBC_SQL} AND {LOCALE_SQL} = '%s' LIMIT 1
"""

# The function loads ptsort, whose sort is faster than the server's.
CHARACTERS_SQL = f"""
SELECT {DIGEST_OF_C_SQL} \\g /dev/null
SET ptsort.sort = 'text';
SELECT c FROM generate_series(1, 1114111) c WHERE c NOT BETWEEN 55296 AND 57343 ORDER BY chr(c) COLLATE %s
"""


class Trouble(Exception):
    """An error of the user or of the server, with a message for the user."""


def query(options, sql):
    """The rows that psql prints, as lists of strings."""
    command = ["psql", "-X", "-A", "-t", "-q", "-F", "\t", "-v", "ON_ERROR_STOP=1",
               *options, "-f", "-"]
    try:
        result = subprocess.run(command, input=SETTINGS_SQL + sql + ";", capture_output=True,
                                encoding="utf-8", check=False)
    except OSError as error:
        raise Trouble(f"could not run psql: {error.strerror}") from error
    if result.returncode != 0:
        message = result.stderr.strip()
        if ".ptsort_collation_digest(regcollation)" in message:
            message += "\nThe database needs ptsort 1.2.0 or later: CREATE EXTENSION ptsort"
        raise Trouble(message)
    return [line.split("\t") for line in result.stdout.splitlines()]


def print_digests(options, locales):
    """Print the digests of a server, and the characters of these locales."""
    encoding, digest = query(options, FORMAT_SQL)[0]
    if encoding != "UTF8":
        raise Trouble(f"the database is in {encoding}, not in UTF8: choose another one")
    found = {}
    for locale in locales:
        names = query(options, COLLATION_SQL % locale.replace("'", "''"))
        if not names:
            raise Trouble(f'the server has no collation of the locale "{locale}" in UTF-8')
        found[locale] = names[0][0]
    rows = [["format", digest]]
    rows += [["collation", *row] for row in query(options, DIGESTS_SQL)]
    for locale, name in found.items():
        order = [int(row[0]) for row in query(options, CHARACTERS_SQL % name)]
        rows.append(["characters", "libc", locale, changes.pack(order)])
    print(TITLE)
    for row in rows:
        print(*row, sep="\t")


class Machine:
    """The contents of a file that "digests" wrote."""

    def __init__(self, name):
        self.name = name
        self.format = None
        self.digests = {}       # (provider, locale) -> (version, digest)
        self.packed = {}        # (provider, locale) -> characters in order
        try:
            with open(name, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise Trouble(f"could not read {name}: {error}") from error
        if lines[:1] != [TITLE]:
            raise Trouble(f'{name} is not from "collations.py digests"')
        for number, line in enumerate(lines[1:], 2):
            try:
                self.add(*line.split("\t"))
            except (TypeError, ValueError) as error:
                raise Trouble(f"{name}, line {number}: not understood") from error
        if self.format is None:
            raise Trouble(f"{name} states no format")

    def add(self, kind, first, *rest):
        """Add one line."""
        if kind == "format" and not rest:
            self.format = first
        elif kind == "collation":
            locale, version, digest = rest
            self.digests[first, locale] = version, digest
        elif kind == "characters":
            locale, packed = rest
            changes.unpack(packed)
            self.packed[first, locale] = packed
        else:
            raise ValueError(kind)

    def characters(self, key):
        """All characters in the order of a locale."""
        return changes.unpack(self.packed[key])


def change_of(key, before, after):
    """How the order of characters differs between two machines."""
    try:
        return changes.Change(before.characters(key), after.characters(key))
    except ValueError as error:
        raise Trouble(f"{key[1]}, {before.name} and {after.name}: {error}") from error


def judge(key, before, after):
    """Whether a collation orders alike on two machines, and a remark."""
    version, digest = before.digests[key]
    other_version, other_digest = after.digests[key]
    if "" in (digest, other_digest):
        return "unknown", "no digest"
    if digest == other_digest:
        return "same order", ""
    if key[0] == "icu":
        return "unknown", f"versions {version} and {other_version} of ICU's collation"
    if key not in before.packed or key not in after.packed:
        return "another order", ""
    change = change_of(key, before, after)
    return "another order", f"{change.count} characters; " + ", ".join(change.examples())


def print_names(keys):
    """Print the names of many collations."""
    for provider, names in itertools.groupby(keys, key=lambda key: key[0]):
        text = " ".join([provider, *(locale for _, locale in names)])
        print(textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    ",
                            break_long_words=False, break_on_hyphens=False))


def compare(before, after):
    """Print how the collations of two machines differ.  Returns True if those
    on both machines order alike."""
    if before.format != after.format:
        raise Trouble("different versions of ptsort made the files, and their digests have different formats")
    common = sorted(before.digests.keys() & after.digests.keys())
    verdicts = {key: judge(key, before, after) for key in common}
    for verdict in "same order", "another order", "unknown":
        found = [key for key in common if verdicts[key][0] == verdict]
        print(f"{verdict}: {len(found)}")
        if verdict == "same order":
            print_names(found)
            continue
        for provider, locale in found:
            remark = verdicts[provider, locale][1]
            print(f"  {provider} {locale}" + (f": {remark}" if remark else ""))
    for one, other in (before, after), (after, before):
        alone = sorted(one.digests.keys() - other.digests.keys())
        if alone:
            print(f"only in {one.name}: {len(alone)}")
            print_names(alone)
    return all(verdict == "same order" for verdict, _ in verdicts.values())


def parse():
    """The command line; what argparse does not know is for psql."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--help", action="help", help="show this help")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    digests = commands.add_parser("digests", add_help=False, allow_abbrev=False,
                                  help="print the digests of a server's collations")
    digests.add_argument("--help", action="help", help="show this help")
    digests.add_argument("--characters", metavar="LOCALE,...", default="",
                         help="also print the order of all characters in these locales")
    both = commands.add_parser("compare", add_help=False, help="compare two files")
    both.add_argument("--help", action="help", help="show this help")
    both.add_argument("before", metavar="FILE")
    both.add_argument("after", metavar="FILE")
    arguments, rest = parser.parse_known_args()
    if rest and arguments.command != "digests":
        parser.error("unknown: " + " ".join(rest))
    return arguments, rest


def main():
    """Run the command.  Returns the exit status."""
    arguments, options = parse()
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        if arguments.command == "digests":
            print_digests(options, [name for name in arguments.characters.split(",") if name])
            return 0
        return 0 if compare(Machine(arguments.before), Machine(arguments.after)) else 1
    except Trouble as error:
        print(f"collations.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
