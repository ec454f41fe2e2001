#!/usr/bin/env python3
"""Build random indexes with the server and with ptsort, and compare them.

fuzz.sh calls this program with a private server; `make fuzz` calls fuzz.sh.
The program needs only Python 3.7, psql, and a server with ptsort in every
session (PGHOST and PGPORT name the server).  README.md lists the comparisons.
"""

import argparse
import os
import re
import sys
import time

import session
from case import Case
from copies import CopyCase, CopyTotals
from gins import GinCase
from oracle import Failure
from queries import QueryCase, QueryTotals
from rebuilds import RebuildCase, RebuildTotals
from sorts import SortCase, SortTotals
from totals import Totals

HERE = os.path.dirname(os.path.abspath(__file__))

# Lines that must never be in the server's log.
BAD = re.compile(r"TRAP:|PANIC:|write past chunk end|was terminated by signal|"
                 r" leak(?:ed)?\b|was not closed|problem in (?:alloc|slab|gen)|"
                 r"server process .* exited with exit code [^01]")

# For each database: its name, options of CREATE DATABASE, and True if the
# encoding is UTF-8.
DATABASES = (
    ("fuzz_c", "ENCODING utf8 LOCALE 'C.UTF-8'", True),
    ("fuzz_en", "ENCODING utf8 LOCALE 'en_US.utf8'", True),
    ("fuzz_latin1", "ENCODING latin1 LOCALE 'de_DE.iso88591'", False),
    ("fuzz_ascii", "ENCODING sql_ascii LOCALE 'C'", False),
)

# Collations to choose from, if the server has them.
COLLATIONS = (
    "C", "POSIX", "en_US.utf8", "de_DE.utf8", "sv_SE.utf8", "cs_CZ.utf8",
    "ja_JP.utf8", "tr_TR.utf8", "th_TH.utf8", "hu_HU.utf8", "fr_CA.utf8",
    "en_US.iso88591", "de_DE.iso88591", "ucs_basic",
    "en-x-icu", "de-x-icu", "sv-x-icu", "ja-x-icu", "und-x-icu",
    "fz_level1", "fz_level2", "fz_shifted", "fz_numbers", "fz_phonebook")

CASES_PER_SESSION = 100

KINDS = {
    "indexes": (Case, Totals),
    "sorts": (SortCase, SortTotals),
    "queries": (QueryCase, QueryTotals),
    "copies": (CopyCase, CopyTotals),
    "rebuilds": (RebuildCase, RebuildTotals),
    "gins": (GinCase, Totals),
}


class World:
    """A database for cases."""

    def __init__(self, name, utf8, options):
        self.name = name
        self.utf8 = utf8
        self.factor = options.factor
        self.max_rows = options.max_rows
        self.timeout = options.timeout
        self.collations = []
        self.main = None
        self.uses = 0
        self.recorder = None

    def set_up(self, how):
        """Create the database.  False if the server cannot create it."""
        server = connect("postgres")
        server.run("DROP DATABASE IF EXISTS " + self.name)
        made = server.run("CREATE DATABASE %s TEMPLATE template0 %s" % (
            self.name, how))
        server.close()
        if made.error:
            return False
        database = connect(self.name)
        with open(os.path.join(HERE, "setup.sql")) as f:
            answer = database.run(f.read())
        if answer.error:
            raise SystemExit("setup.sql: %s" % answer.error)
        there = database.run(
            "SELECT collname FROM pg_collation WHERE collencoding IN (-1, ("
            "SELECT encoding FROM pg_database "
            "WHERE datname = current_database()))").rows
        compare = "SELECT 'a' COLLATE \"%s\" < 'b'"
        self.collations = [None] + [
            '"%s"' % name for name in COLLATIONS
            if name in there and not database.run(compare % name).error]
        self.file = database.run("SHOW data_directory").value + "/fuzz.copy"
        database.close()
        return True

    def collation(self, rng):
        """A random collation, or None for the column's own collation."""
        if rng.random() < 0.4:
            return None
        return rng.choice(self.collations)

    def session(self, record):
        """The main session of the cases.  Many cases share one session, so that
        leftovers of one build affect the next build."""
        if self.main is None or self.uses >= CASES_PER_SESSION:
            self.leave()
            self.main = session.Session(self.name, "main", self._record,
                                        self.timeout)
            self.main.quiet("\\set fuzz_file '%s'" % self.file)
            self.uses = 0
        self.uses += 1
        self.recorder = record
        return self.main

    def other_session(self, record):
        return session.Session(self.name, "other", record, self.timeout)

    def _record(self, *what):
        if self.recorder:
            self.recorder(*what)

    def leave(self):
        """End the session."""
        if self.main:
            self.main.close()
            self.main = None


class Log:
    """The unread part of the server's log."""

    def __init__(self, name):
        self.name = name
        self.offset = os.path.getsize(name) if name else 0

    def check(self):
        """Raise Failure if a new line of the log matches BAD."""
        if not self.name:
            return
        with open(self.name, "rb") as f:
            f.seek(self.offset)
            text = f.read()
        self.offset += len(text)
        for line in text.decode(errors="replace").split("\n"):
            if BAD.search(line):
                raise Failure("in the server's log: " + line)


def write_script(options, case, failure):
    """Write the statements of a failed case as a script for psql."""
    name = os.path.join(options.out, "seed-%s-case-%s.sql" % (
        options.seed, case.number))
    os.makedirs(options.out, exist_ok=True)
    with open(name, "w") as f:
        f.write("-- SEED=%s CASE=%s: %s\n" % (
            options.seed, case.number, str(failure).replace("\n", "\n-- ")))
        f.write("-- in a database made like %s, with ptsort in every session\n"
                % case.world.name)
        f.write("\\set fuzz_file `mktemp -u`\n")
        with open(os.path.join(HERE, "setup.sql")) as setup:
            f.write(setup.read())
        f.write("\\set VERBOSITY verbose\n")
        for where, sql in case.script:
            if where == "main":
                f.write(sql.rstrip(";") + ("\n" if sql[0] in "\\-" else ";\n"))
            else:
                f.write("-- in another session: %s;\n" % sql)
    return name


def play(options, case, log, totals):
    """Play one case.  Returns True if the case did not fail."""
    try:
        case.play()
        log.check()
        return True
    except (Failure, session.Lost) as failure:
        totals.failures += 1
        try:
            log.check()
        except Failure as more:
            failure = Failure("%s\n%s" % (failure, more))
        print("FAILED SEED=%s CASE=%s, statement %d: %s" % (
            options.seed, case.number, len(case.script), failure))
        print("script: " + write_script(options, case, failure), flush=True)
    return False


def connect(database):
    """A session for the fuzzer itself.  Waits until the server accepts sessions,
    because a crashed server takes a while to restart."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return session.Session(database, "fuzz", lambda *_: None, 600)
        except session.Lost:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def recover(worlds):
    """End the sessions and drop all tables, after a failure."""
    for world in worlds:
        world.leave()
    for world in worlds:
        cleaner = connect(world.name)
        cleaner.run("DROP SCHEMA IF EXISTS fuzz CASCADE")
        cleaner.close()


def numbers(options, totals):
    """The numbers of the cases to play.  Without --case, the numbers continue
    until the time is over and totals.done() reaches --least."""
    if options.case:
        first, _, last = options.case.partition("-")
        yield from range(int(first), int(last or first) + 1)
        return
    number = 0
    end = time.monotonic() + options.seconds
    while time.monotonic() < end or totals.done() < options.least:
        number += 1
        yield number


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--case", help="number of the only case, or a range: 3-7")
    parser.add_argument("--least", type=int, default=0,
                        help="minimum number of builds, sorts, queries or copies,"
                        " even if these take longer than --seconds")
    parser.add_argument("--failures", type=int, default=1,
                        help="stop after this number of failures")
    parser.add_argument("--factor", type=float, default=1,
                        help="multiply the number of rows by this factor")
    parser.add_argument("--max-rows", type=int, default=300000)
    parser.add_argument("--timeout", type=int, default=300,
                        help="seconds that a statement may take")
    parser.add_argument("--log", help="the server's log")
    parser.add_argument("--out", default="build/fuzz",
                        help="directory for the scripts of failures")
    parser.add_argument("--kind", choices=KINDS, default="indexes",
                        help="what to compare; see README.md")
    parser.add_argument("--verbose", action="store_true",
                        help="show the statements that the server refused")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    sys.stdout.reconfigure(line_buffering=True)
    print("seed %s" % options.seed)
    worlds = []
    for name, how, utf8 in DATABASES:
        world = World(name, utf8, options)
        if world.set_up(how):
            worlds.append(world)
    print("databases: " + ", ".join("%s (%d collations)" % (
        world.name, len(world.collations) - 1) for world in worlds))
    kind, totals = KINDS[options.kind]
    totals = totals()
    log = Log(options.log)
    shown = time.monotonic()
    for number in numbers(options, totals):
        case = kind(options.seed, number, worlds, totals)
        if not play(options, case, log, totals):
            if totals.failures >= options.failures:
                break
            recover(worlds)
        if time.monotonic() - shown > 60:
            shown = time.monotonic()
            print("case %d: %s" % (number, totals))
    if options.verbose:
        for text, count in totals.refusals.most_common(100):
            print("refused %d times: %s" % (count, text))
    print("total: seed %s, %s" % (options.seed, totals))
    return 1 if totals.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
