#!/usr/bin/env python3
"""Compare the server's tuplesort with ptsort's sort in one process.

    sortbench.py run        measure, on the server that PGHOST and PGPORT name
    sortbench.py report     make text and charts from the results

`make bench-sort` calls bench-sort.sh, which starts a private server and runs
these commands in turn.
"""

import argparse
import os
import sys

import bench
import chart
import cluster
import measure
import peers
import sortmeasure
import sortreport
import sortshapes


# The times in a summary
TIMES = ("server", "ptsort", "limit")


def list_of(choose):
    """Wrap a function that chooses names, so that argparse reports the
    function's errors."""
    def parsed(words):
        try:
            return choose(words)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error))
    return parsed


def parse(arguments):
    """Parse the command line into a namespace."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="measure")
    run.add_argument("--scale", type=float, default=0.1,
                     help="1 is 2 million rows of 290 bytes, 10 million of 40 bytes")
    run.add_argument("--shapes", type=list_of(sortshapes.choose), default="",
                     help="names: " + " ".join([*sortshapes.GROUPS, *sortshapes.SHAPES]))
    run.add_argument("--budgets", type=list_of(sortshapes.choose_budgets), default="",
                     help="names: " + " ".join(sortshapes.BUDGETS))
    run.add_argument("--runs", type=int, default=3,
                     help="sorts by each engine, in turn in one process")
    run.add_argument("--firsts", type=int, default=1,
                     help="sorts by each engine that each run in a new process")
    run.add_argument("--by", choices=("ms", "cpu"),
                     help="unit of the ratios; by default cpu if the machine is busy")
    run.add_argument("--untold", dest="told", action="store_false",
                     help="do not tell ptsort the number of rows in advance")
    run.add_argument("--limit", action="store_true",
                     help="also copy the rows without sorting them")
    run.add_argument("--peers", action="store_true",
                     help="also run DuckDB and Polars, if they are installed")
    run.add_argument("--keep", action="store_true", help="do not drop tables")
    run.add_argument("--source", default="?", help="version of ptsort")
    run.add_argument("--out", required=True, help="directory for results.json")

    show = commands.add_parser("report", help="text and charts from results.json")
    show.add_argument("out", help="directory with results.json")
    return parser.parse_args(arguments)


def describe(server, options):
    """The settings to save in a results file."""
    load = os.getloadavg()[0]
    return dict(bench.machine_facts(server), source=options.source, load=load,
                scale=options.scale, runs=options.runs, firsts=options.firsts, told=options.told,
                by=options.by or ("cpu" if load > 0.5 else "ms"))


def say(shape):
    """Print one line about a measured shape."""
    if shape["status"] != "ok":
        words = "%s: %s" % (shape["status"], shape["reason"])
    else:
        s = shape["summary"]
        words = "server %8.0f ms, ptsort %8.0f ms, ratio %5.2f %s" % (
            s["server"], s["ptsort"], s["ratio"],
            "missed: " + ", ".join(s["missed"]) if s["missed"] else "")
    print("%-28s %-5s %s" % (shape["label"], shape["budget"], words), flush=True)


def sort_with_peers(server, options, shape, done):
    """Run peers.measure() for the shape."""
    table = sortshapes.table_name(sortshapes.TABLES[shape.table], options.scale)
    return peers.measure(server, shape, table, done["budget_kb"], options.runs,
                         os.path.abspath(options.out))


def run(options):
    """Measure all shapes.  Returns the exit status: 1 if a shape failed."""
    server = cluster.Cluster()
    server.run("CREATE EXTENSION IF NOT EXISTS sortcompare CASCADE")
    collations = measure.find_collations(server, sortshapes.COLLATIONS)
    results = {"settings": describe(server, options), "shapes": []}
    os.makedirs(options.out, exist_ok=True)
    if options.peers and not peers.installed():
        print("no peers: python3 has none of " + ", ".join(peers.ENGINES), flush=True)
    for n, shape in enumerate(options.shapes):
        for budget in options.budgets:
            if budget not in shape.budgets:
                continue
            done = sortmeasure.measure(server, options, shape, budget, collations)
            if done["status"] == "ok":
                done["summary"] = sortreport.summarize(done, results["settings"]["by"])
                if options.peers and budget == sortshapes.IN_MEMORY:
                    done["peers"] = sort_with_peers(server, options, shape, done)
            results["shapes"].append(done)
            bench.save(results, options.out)
            say(done)
        later = [other.table for other in options.shapes[n + 1:]]
        if shape.table not in later and not options.keep:
            server.run("DROP TABLE IF EXISTS " + sortshapes.table_name(
                sortshapes.TABLES[shape.table], options.scale))
    return int(any(s["status"] == "error" for s in results["shapes"]))


def in_seconds(summary):
    """The summary with the times that the chart shows, which are in seconds."""
    return dict(summary, **{name + "_s": summary[name] / 1000
                            for name in TIMES if summary[name] is not None})


def pictures(results):
    """Draw one chart for each budget.  Returns {file name: SVG}."""
    settings = results["settings"]
    where = [sortreport.conditions(settings), sortreport.machine(settings)]
    found = {}
    for budget in sortshapes.BUDGETS:
        bars = [(s["label"], in_seconds(s["summary"]))
                for s in results["shapes"]
                if s["budget"] == budget and "summary" in s and s["way"] != "parallel"]
        if bars:
            found["chart-%s.svg" % budget] = chart.chart(
                "Sorts: how many times faster than PostgreSQL's tuplesort, %s" % budget,
                where, bars)
    return found


def show(options):
    """Write report.txt and the charts beside results.json; print the text."""
    results = bench.load(options.out)
    return bench.publish(options.out, sortreport.text(results), pictures(results))


def main(arguments):
    options = parse(arguments)
    return run(options) if options.command == "run" else show(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
