#!/usr/bin/env python3
"""Compare the server's index builds with ptsort's.

    bench.py settings   print a server configuration for this machine
    bench.py run        measure, on the server that PGHOST and PGPORT name
    bench.py report     make text and charts from the results

`make bench` calls bench.sh, which starts a private server and runs these
commands in turn.  These commands need only Python 3.7, psql and pg_ctl.
"""

import argparse
import datetime
import json
import os
import sys

import chart
import cluster
import measure
import report
import shapes
import textreport


def numbers(words):
    """The numbers in a comma-separated list."""
    return [int(word) for word in words.split(",")]


def parse(arguments):
    """Parse the command line into a namespace."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)

    settings = commands.add_parser("settings", help="print server configuration")
    settings.add_argument("--workers", type=int, default=1)
    settings.add_argument("--wal-level", choices=("replica", "minimal"),
                          default="replica")

    run = commands.add_parser("run", help="measure")
    run.add_argument("--rows", type=int, default=2000000)
    run.add_argument("--shapes", type=list_of(shapes.choose), default="",
                     help="names: " + " ".join([*shapes.GROUPS, *shapes.SHAPES]))
    run.add_argument("--workers", type=int, default=1,
                     help="parallel workers; the leader takes part as well")
    run.add_argument("--planned", action="store_true",
                     help="let the server plan at most --workers for each table")
    run.add_argument("--memory", default="512MB", help="maintenance_work_mem")
    run.add_argument("--builders", choices=("both", "ptsort"), default="both")
    run.add_argument("--runs", type=int, default=3,
                     help="builds of each index by each builder")
    run.add_argument("--cache", choices=("warm", "cold"), default="warm")
    run.add_argument("--check", action="store_true", help="run amcheck on every index once")
    run.add_argument("--keep", action="store_true", help="do not drop tables")
    run.add_argument("--source", default="?", help="version of ptsort")
    run.add_argument("--out", required=True, help="directory for results.json")

    show = commands.add_parser("report", help="text and chart from results.json")
    show.add_argument("--phases", action="store_true",
                      help="phases of all shapes, not only of int8")
    show.add_argument("out", help="directory with results.json")
    return parser.parse_args(arguments)


def list_of(choose):
    """Wrap a function that chooses names, so that argparse reports the
    function's errors."""
    def parsed(words):
        try:
            return choose(words)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error))
    return parsed


def cpu_model():
    """Name of the machine's processor."""
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return os.uname().machine


def machine_facts(server):
    """The server, the machine and the date, for a results file."""
    return {
        "server_version": server.value("SHOW server_version").split()[0],
        "cpus": os.cpu_count(), "cpu": cpu_model(),
        "machine_memory": cluster.machine_memory(),
        "shared_buffers": server.value("SHOW shared_buffers"),
        "wal_level": server.value("SHOW wal_level"),
        "load": os.getloadavg()[0],
        "date": datetime.date.today().isoformat(),
    }


def describe(server, options):
    """The settings to save in a results file."""
    return dict(machine_facts(server), source=options.source,
                rows=options.rows, workers=options.workers,
                planned=options.planned, memory=options.memory,
                runs=options.runs, cache=options.cache)


def save(results, out):
    """Write results.json in one step: a failure leaves the old file
    unchanged."""
    path = os.path.join(out, "results.json")
    with open(path + ".new", "w") as f:
        json.dump(results, f, indent=1)
    os.replace(path + ".new", path)


def say(shape):
    """Print one line about a measured shape."""
    if shape["status"] != "ok":
        words = "%s: %s" % (shape["status"], shape["reason"])
    elif shape["summary"]["ratio"] is None:
        words = "ptsort %8.2f s" % shape["summary"]["ptsort_s"]
    else:
        words = "server %8.2f s, ptsort %8.2f s, ratio %5.2f" % tuple(
            shape["summary"][key] for key in ("server_s", "ptsort_s", "ratio"))
    print("%-30s %s" % (shape["label"], words), flush=True)


def run(options):
    """Measure all shapes.  Returns the exit status: 1 if a shape failed."""
    server = cluster.Cluster()
    server.run(*["CREATE EXTENSION IF NOT EXISTS " + name
                 for name in ("ptsort", "pg_prewarm", "amcheck")])
    collations = measure.find_collations(server)
    results = {"settings": describe(server, options), "shapes": []}
    os.makedirs(options.out, exist_ok=True)
    for n, shape in enumerate(options.shapes):
        done = measure.measure(server, options, shape, collations)
        if done["status"] == "ok":
            done["summary"] = report.summarize(done)
        results["shapes"].append(done)
        save(results, options.out)
        say(done)
        later = [other.table for other in options.shapes[n + 1:]]
        if shape.table not in later and not options.keep:
            server.run("DROP TABLE IF EXISTS "
                       + shapes.table_name(shapes.TABLES[shape.table], options.rows))
    return int(any(s["status"] == "error" or
                   s.get("summary", {}).get("amcheck") not in (None, "ok")
                   for s in results["shapes"]))


def pictures(results):
    """The report's chart, as {file name: SVG}; no chart if a shape has no
    ratio."""
    settings = results["settings"]
    measured = [s for s in results["shapes"] if "summary" in s]
    if any(s["summary"]["ratio"] is None for s in measured):
        return {}
    rows = " or ".join(format(n, ",") for n in sorted(
        {s["rows"] for s in measured}, reverse=True))
    return {"chart.svg": chart.chart(
        "CREATE INDEX: how many times faster than PostgreSQL's own build",
        ["%s rows" % rows, report.conditions(settings), report.machine(settings)],
        [(s["label"], s["summary"]) for s in measured])}


def load(out):
    """Read the results that save() wrote."""
    with open(os.path.join(out, "results.json")) as f:
        return json.load(f)


def publish(out, words, pictures=()):
    """Write the report and the pictures beside results.json; print the report.
    pictures is {file name: SVG}.  Returns 0, the command's exit status."""
    for name, content in dict(pictures, **{"report.txt": words}).items():
        with open(os.path.join(out, name), "w", encoding="utf-8") as f:
            f.write(content)
    print(words, end="")
    return 0


def show(options):
    """Write report.txt and the pictures beside results.json; print the text."""
    results = load(options.out)
    return publish(options.out,
                   report.text(results, options.phases) + textreport.text(results),
                   pictures(results))


def main(arguments):
    options = parse(arguments)
    if options.command == "settings":
        print("\n".join(cluster.settings(cluster.machine_memory(), options.workers,
                                         options.wal_level)))
        return 0
    return run(options) if options.command == "run" else show(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
