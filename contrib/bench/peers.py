#!/usr/bin/env python3
"""Time sorts in memory with one thread: DuckDB's ORDER BY and Polars' sort, if
python3 can import these engines.  Both engines get the rows and keys that
ptsort sorts.

    peers.py ENGINE FILE SPECIFICATION

This command sorts in a new process.  FILE has the rows as CSV, and
SPECIFICATION is the JSON from specification().  The command prints JSON: the
times, or the reason why the engine cannot sort.  The timed operation makes a
sorted copy of a table in memory.  Both engines store columns, not rows.
"""

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

ENGINES = ("duckdb", "polars")

COLUMNS = """SELECT json_agg(json_build_array(attname, format_type(atttypid, atttypmod))
    ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = '%s'::regclass AND attnum > 0 AND NOT attisdropped;
"""


class Unable(Exception):
    """Raised if the engine cannot sort these keys; str() gives the reason."""


def installed():
    """The names of the ENGINES that python3 can import."""
    return [name for name in ENGINES if importlib.util.find_spec(name)]


def specification(cluster, shape, table, budget_kb, runs):
    """The description of a shape for peers.py."""
    return {"columns": cluster.json(COLUMNS % table)[0], "keys": list(shape.columns),
            "collations": list(shape.collations), "runs": runs,
            "memory": budget_kb * 1024
            + int(cluster.value("SELECT pg_table_size('%s')" % table))}


def sort(engine, path, spec):
    """Run peers.py for an engine.  Returns the output of peers.py as a dict, or
    the reason for the failure."""
    done = subprocess.run(
        [sys.executable, os.path.abspath(__file__), engine, path, json.dumps(spec)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dict(os.environ, POLARS_MAX_THREADS="1"))
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return {"reason": lines[-1] if lines else "status %d" % done.returncode}
    return json.loads(done.stdout)


def measure(cluster, shape, table, budget_kb, runs, directory):
    """Measure the installed engines on one shape.  Returns {engine: times}."""
    engines = installed()
    if not engines or shape.way != "rows":
        return {}
    path = os.path.join(directory, "peers.csv")
    cluster.run("COPY (TABLE %s) TO '%s' (FORMAT csv)" % (table, path.replace("'", "''")))
    try:
        spec = specification(cluster, shape, table, budget_kb, runs)
        return {engine: sort(engine, path, spec) for engine in engines}
    finally:
        os.remove(path)


def timed(run, runs):
    """Call run() repeatedly.  Returns the medians of time and CPU time in
    ms."""
    ms, cpu = [], []
    for _ in range(runs):
        before = time.monotonic(), time.process_time()
        run()
        ms.append(1000 * (time.monotonic() - before[0]))
        cpu.append(1000 * (time.process_time() - before[1]))
    return {"ms": statistics.median(ms), "cpu": statistics.median(cpu)}


def order_by(spec):
    """The keys as DuckDB's ORDER BY clause, with nulls last."""
    words = {None: "", "c": "", "en": " COLLATE en_us", "icu": " COLLATE en"}
    return ", ".join('"%s"%s NULLS LAST' % (key, words[collation])
                     for key, collation in zip(spec["keys"], spec["collations"]))


def sort_duckdb(path, spec):
    """Time DuckDB's creation of a sorted table from an unsorted one, in
    memory."""
    import duckdb
    db = duckdb.connect(":memory:", config={
        "threads": 1, "memory_limit": "%dMiB" % (spec["memory"] >> 20)})
    if set(spec["collations"]) & {"en", "icu"}:
        db.execute("LOAD icu")
    db.execute("CREATE TABLE t AS SELECT * FROM read_csv(?, header = false, columns = {%s})"
               % ", ".join("'%s': '%s'" % tuple(c) for c in spec["columns"]), [path])
    query = "CREATE OR REPLACE TABLE s AS SELECT * FROM t ORDER BY " + order_by(spec)
    return dict(timed(lambda: db.execute(query), spec["runs"]), version=duckdb.__version__)


def sort_polars(path, spec):
    """Time Polars' sort of a data frame.  Polars has only the "C" collation."""
    import polars
    if set(spec["collations"]) - {None, "c"}:
        raise Unable("Polars has no collations")
    types = {"bigint": polars.Int64, "integer": polars.Int32,
             "numeric(12,2)": polars.Decimal(12, 2)}
    frame = polars.read_csv(path, has_header=False, schema={
        name: types.get(word, polars.String) for name, word in spec["columns"]})
    frame = frame.with_columns(
        polars.col(name).str.to_datetime("%Y-%m-%d %H:%M:%S%.f%#z")
        for name, word in spec["columns"] if word == "timestamp with time zone")
    return dict(timed(lambda: frame.sort(spec["keys"], nulls_last=True), spec["runs"]),
                version=polars.__version__)


def main(arguments):
    engine, path, spec = arguments
    run = {"duckdb": sort_duckdb, "polars": sort_polars}[engine]
    try:
        print(json.dumps(run(path, json.loads(spec))))
    except Unable as reason:
        print(json.dumps({"reason": str(reason)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
