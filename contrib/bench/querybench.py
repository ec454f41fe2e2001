#!/usr/bin/env python3
"""Run queries with the server's sorts and with ptsort's, and compare the times.

    querybench.py run       measure, on the server that PGHOST and PGPORT name
    querybench.py report    make text from the results

`make bench-query` calls bench-query.sh, which starts a private server and runs
these commands in turn.
"""

import argparse
import os
import sys

import bench
import cluster
import measure
import queries
import querymeasure
import queryreport
from bench import list_of


def parse(arguments):
    """Parse the command line into a namespace."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="measure")
    run.add_argument("--rows", type=int, default=500000)
    run.add_argument("--shapes", type=list_of(queries.choose), default="",
                     help="names: " + " ".join([*queries.GROUPS, *queries.QUERIES]))
    run.add_argument("--memory", type=list_of(queries.choose_memories), default="",
                     help="work_mem: " + " ".join(queries.MEMORIES))
    run.add_argument("--workers", type=bench.numbers, default="0,1",
                     help="numbers of parallel workers, separated by commas")
    run.add_argument("--reps", type=int, default=3,
                     help="runs of each query by each sort")
    run.add_argument("--by", choices=("ms", "cpu"),
                     help="unit of the ratios; by default cpu if the machine is busy")
    run.add_argument("--min-rows", type=int, help="ptsort.min_sort_rows")
    run.add_argument("--keep", action="store_true", help="do not drop tables")
    run.add_argument("--source", default="?", help="version of ptsort")
    run.add_argument("--out", required=True, help="directory for results.json")

    show = commands.add_parser("report", help="text from results.json")
    show.add_argument("out", help="directory with results.json")
    return parser.parse_args(arguments)


def describe(server, options):
    """The settings to save in a results file."""
    facts = bench.machine_facts(server)
    return dict(facts, source=options.source, rows=options.rows, reps=options.reps,
                min_rows=options.min_rows,
                by=options.by or ("cpu" if facts["load"] > 0.5 else "ms"))


def say(query):
    """Print one line about a measured query."""
    if query["status"] != "ok":
        words = "%s: %s" % (query["status"], query["reason"])
    else:
        s = query["summary"]
        words = "ratio %5.2f (%.2f to %.2f), CPU ms %7.0f / %7.0f %s" % (
            s["ratio"], s["low"], s["high"], s["server"]["cpu"], s["ptsort"]["cpu"],
            "missed" if s["missed"] else "")
    print("%-54s %-4s %d %s" % (query["label"], query["memory"], query["workers"], words),
          flush=True)


def run(options):
    """Measure all queries.  Returns the exit status: 1 if a query failed."""
    server = cluster.Cluster()
    server.run(*["CREATE EXTENSION IF NOT EXISTS " + name
                 for name in ("ptsort", "pg_prewarm")])
    collations = measure.find_collations(server)
    results = {"settings": describe(server, options), "shapes": []}
    os.makedirs(options.out, exist_ok=True)
    for query in options.shapes:
        for workers in options.workers:
            for memory in options.memory:
                if memory not in query.memories or workers not in query.workers:
                    continue
                done = querymeasure.measure(server, options, query, memory, workers, collations)
                if done["status"] == "ok":
                    done["summary"] = queryreport.summarize(done, results["settings"]["by"])
                results["shapes"].append(done)
                bench.save(results, options.out)
                say(done)
    if not options.keep:
        server.run("DROP TABLE IF EXISTS bench_parts", *[
            "DROP TABLE IF EXISTS " + queries.table_name(table, options.rows)
            for table in queries.TABLES.values()])
    return int(any(q["status"] == "error" for q in results["shapes"]))


def show(options):
    """Write report.txt beside results.json, and print the report."""
    return bench.publish(options.out, queryreport.text(bench.load(options.out)))


def main(arguments):
    options = parse(arguments)
    return run(options) if options.command == "run" else show(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
