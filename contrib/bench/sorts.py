#!/usr/bin/env python3
"""Compare the server's tuplesort with ptsort's sort in one process.

    sorts.py run        measure, on the server that PGHOST and PGPORT name
    sorts.py report     make text from the results

`make bench-sort` calls bench-sort.sh, which starts a private server and runs
these commands in turn.  The extension sortcompare (contrib/sortcompare) does
the sorts: with both engines in turn in one session, of rows in memory.
"""

import argparse
import os
import sys
from collections import namedtuple
from statistics import median

import bench
import cluster
import freememory
import measure
import shapes
from report import machine, megabytes, table
from shapes import AMOUNT, AT, URL, number

# sortcompare overwrites the first column in memory with a hash of the row's
# keys.  The rows have 290 bytes.
COLUMNS = """0::int8 AS tag, i AS id, {rows} - i AS reversed,
    hashint8extended(i, 1) AS account, md5('u' || i)::uuid AS session,
    %s AS at, %s AS amount, %s::int4 AS shop, md5(i::text) AS token,
    %s AS url, repeat('.', 100) AS filler""" % (AT, AMOUNT, number(4, 1024), URL)
TABLE = shapes.Table("sorted", 1.0, COLUMNS)

# A key.  For each column, collations has None, "c", "en" or "icu".
Key = namedtuple("Key", "label columns collations")
KEYS = {
    "int8": Key("int8", "account", (None,)),
    "uuid": Key("uuid", "session", (None,)),
    "timestamptz": Key("timestamptz", "at", (None,)),
    "numeric": Key("numeric", "amount", (None,)),
    "int4_few": Key("int4 of 1,024 values", "shop", (None,)),
    "int4_int8": Key("(int4, int8)", "shop,account", (None, None)),
    "presorted": Key("int8, presorted", "id", (None,)),
    "reversed": Key("int8, reversed", "reversed", (None,)),
    "text_c": Key('text 32, "C"', "token", ("c",)),
    "text_en": Key("text 32, en_US", "token", ("en",)),
    "text_en_int8": Key("(text 32 en_US, int8)", "token,account", ("en", None)),
    "url_en": Key("URL 79, en_US", "url", ("en",)),
    "text_icu": Key("text 32, en-x-icu", "token", ("icu",)),
}
COLLATIONS = dict(shapes.COLLATIONS, c="C")
ENGINES = ("server", "ptsort")
PARTS = ("put", "perform", "get")


def choose(words):
    """The names of the keys in a list; all if the list is empty."""
    return shapes.chosen(words, KEYS, tuple(KEYS), {})


def parse(arguments):
    """Parse the command line into a namespace."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure")
    run.add_argument("--rows", type=int, default=200000)
    run.add_argument("--shapes", type=bench.list_of(choose), default="",
                     help="names: " + " ".join(KEYS))
    run.add_argument("--budgets", default="1GB,64MB,4MB")
    run.add_argument("--runs", type=int, default=3, help="sorts by each engine")
    run.add_argument("--by", choices=("ms", "cpu"), default="cpu", help="unit of the ratios")
    run.add_argument("--keep", action="store_true", help="do not drop the table")
    run.add_argument("--source", default="?", help="version of ptsort")
    run.add_argument("--out", required=True, help="directory for results.json")
    show = commands.add_parser("report", help="text from results.json")
    show.add_argument("out", help="directory with results.json")
    return parser.parse_args(arguments)


def measure_key(server, options, name, key, budget, collations):
    """The sorts of one key with one budget, by both engines in turn."""
    names = ["'%s'" % collations[c].replace("'", "''") if c else "'-'"
             for c in key.collations]
    turns = [engine for n in range(options.runs)
             for engine in (ENGINES if n % 2 == 0 else ENGINES[::-1])]
    freememory.touch_for(server, name)
    sorts, _ = server.json(
        "SELECT json_agg(s) FROM sortcompare('%s', '{%s}', '{%s}', ARRAY[%s]::regcollation[],"
        " (pg_size_bytes('%s') / 1024)::int) AS s;\n"
        % (name, key.columns, ",".join(turns), ", ".join(names), budget))
    if len({(s["tuples"], s["checksum"]) for s in sorts}) > 1:
        raise cluster.SqlError("the sorts read different keys")
    return {engine: [s for s in sorts if s["engine"] == engine] for engine in ENGINES}


def run(options):
    """Measure all keys.  Returns the exit status: 1 if one failed."""
    server = cluster.Cluster()
    server.run("CREATE EXTENSION IF NOT EXISTS sortcompare CASCADE")
    collations = measure.find_collations(server, COLLATIONS)
    name = shapes.table_name(TABLE, options.rows)
    if server.value("SELECT to_regclass('%s')" % name) == "":
        server.run(*shapes.load_statements(TABLE, options.rows))
    results = {"settings": dict(bench.machine_facts(server), source=options.source,
                                rows=options.rows, runs=options.runs, by=options.by),
               "shapes": []}
    os.makedirs(options.out, exist_ok=True)
    for shape in options.shapes:
        key = KEYS[shape]
        for budget in options.budgets.split(","):
            done = {"label": key.label, "budget": budget}
            if set(key.collations) - {None, *collations}:
                done["reason"] = "the server lacks the collation"
            else:
                try:
                    done.update(measure_key(server, options, name, key, budget, collations))
                except cluster.SqlError as error:
                    done.update(reason=str(error), failed=True)
            results["shapes"].append(done)
            bench.save(results, options.out)
            print(key.label, budget, done.get("reason", "ok"), flush=True)
    if not options.keep:
        server.run("DROP TABLE " + name)
    return int(any("failed" in s for s in results["shapes"]))


def times(sorts, unit):
    """The median times of all parts together, and of each part."""
    return [median(sum(s[part + "_" + unit] for part in PARTS) for s in sorts)] + [
        median(s[part + "_" + unit] for s in sorts) for part in PARTS]


def text(results):
    """The report, as one string."""
    settings, unit = results["settings"], results["settings"]["by"]
    rows = []
    for shape in results["shapes"]:
        row = [shape["label"], shape["budget"]]
        if "reason" in shape:
            rows.append(row + [None] * 8 + [shape["reason"].splitlines()[0]])
            continue
        server, ptsort = (times(shape[engine], unit) for engine in ENGINES)
        row += ["%.0f" % server[0], "%.0f" % ptsort[0], "%.2f" % (server[0] / ptsort[0])]
        row += ["%.0f / %.0f" % pair for pair in zip(server[1:], ptsort[1:])]
        for what in ("memory", "temp"):
            row.append(" / ".join(megabytes(max(s[what] for s in shape[engine]))
                                  for engine in ENGINES))
        rows.append(row + [""])
    return "\n".join([
        "PostgreSQL %s, %d rows of 290 bytes, %s, median of %d" % (
            settings["server_version"], settings["rows"],
            "CPU time" if unit == "cpu" else "time", settings["runs"]),
        machine(settings), "",
        *table(["key", "budget", "server ms", "ptsort ms", "ratio", *PARTS, "memory MB",
                "temporary MB", ""], rows)]) + "\n"


def main(arguments):
    options = parse(arguments)
    if options.command == "run":
        return run(options)
    return bench.publish(options.out, text(bench.load(options.out)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
