#!/usr/bin/env python3
"""Other systems, same keys, same number of threads: DuckDB's sort and CREATE
INDEX, and the sort of Polars.

Called as a program by bench.sh, with the Python of a virtual environment that
has one or both of them:

    peers.py OUT

It reads the keys that `bench.py run --peers` wrote to OUT/peers, with the
settings in OUT/results.json, and writes OUT/peers.json.  Sorting means: the
keys with their row numbers, in order, materialised in memory.  Loading the
keys is not counted.
"""

import json
import os
import sys
import time
from statistics import median

# Shapes whose order these systems have, too, with DuckDB's and Polars' types.
TYPES = {
    "int8": ("BIGINT", "Int64"),
    "int8_asc": ("BIGINT", "Int64"),
    "timestamptz": ("TIMESTAMP", "String"),
    "uuid": ("UUID", "String"),
    "int4_few": ("INTEGER", "Int32"),
    "text_c": ("VARCHAR", "String"),
    "prefix_c": ("VARCHAR", "String"),
    "geoghegan": ("INTEGER", "Int32"),
    "zipf": ("INTEGER", "Int32"),
    "reversed": ("BIGINT", "Int64"),
    "equal90": ("BIGINT", "Int64"),
}


def export(server, options, shape):
    """Write a shape's keys in table order to OUT/peers, if TYPES has it."""
    import shapes               # not needed by the program
    if shape.name not in TYPES:
        return
    table = shapes.table_name(shapes.TABLES[shape.table], options.rows)
    column = shape.keys.split()[0]
    path = os.path.join(options.out, "peers", shape.name + ".csv")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    cast = "(%s AT TIME ZONE 'UTC')" % column if column == "at" else column
    server.psql("\\copy (SELECT %s AS k FROM %s) TO '%s' (FORMAT csv, HEADER)\n"
                % (cast, table, path))


def load(out):
    """What peers.json says; [] if there is none."""
    try:
        with open(os.path.join(out, "peers.json")) as f:
            return json.load(f)
    except OSError:
        return []


def timed(runs, action):
    """Median time of several calls, in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return median(times)


def duckdb_times(path, shape, settings):
    """[(what, seconds)] of DuckDB."""
    import duckdb
    db = duckdb.connect()
    db.execute("SET threads = %d" % (settings["workers"] + 1))
    db.execute("SET preserve_insertion_order = true")
    db.execute("CREATE TABLE t AS SELECT k FROM read_csv('%s', header = true, "
               "columns = {'k': '%s'})" % (path, TYPES[shape][0]))

    def sort():
        db.execute("CREATE OR REPLACE TABLE s AS SELECT k, rowid AS r FROM t ORDER BY k")

    def index():
        db.execute("DROP INDEX IF EXISTS i")
        db.execute("CREATE INDEX i ON t (k)")

    return "DuckDB " + duckdb.__version__, [
        ("sort", timed(settings["runs"], sort)),
        ("CREATE INDEX", timed(settings["runs"], index))]


def polars_times(path, shape, settings):
    """[(what, seconds)] of Polars, whose threads are set in main()."""
    import polars
    frame = polars.read_csv(path, schema={"k": getattr(polars, TYPES[shape][1])})
    if shape == "timestamptz":
        frame = frame.select(polars.col("k").str.to_datetime(time_unit="us"))
    frame = frame.with_row_index("r")
    return "Polars " + polars.__version__, [
        ("sort", timed(settings["runs"], lambda: frame.sort("k")))]


def main(out):
    with open(os.path.join(out, "results.json")) as f:
        settings = json.load(f)["settings"]
    # Polars reads this when it is imported.
    os.environ["POLARS_MAX_THREADS"] = str(settings["workers"] + 1)
    found = []
    for name in TYPES:
        path = os.path.join(out, "peers", name + ".csv")
        if not os.path.exists(path):
            continue
        for system, times in (("DuckDB", duckdb_times), ("Polars", polars_times)):
            try:
                system, measured = times(path, name, settings)
                found += [{"system": system, "shape": name, "what": what,
                           "seconds": s} for what, s in measured]
            except ImportError:
                found.append({"system": system, "shape": name, "what": "-",
                              "error": "not installed"})
            except Exception as error:      # theirs are of many classes
                found.append({"system": system, "shape": name, "what": "-",
                              "error": str(error).splitlines()[0]})
    with open(os.path.join(out, "peers.json"), "w") as f:
        json.dump(found, f, indent=1)


if __name__ == "__main__":
    main(sys.argv[1])
