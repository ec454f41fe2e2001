#!/usr/bin/env python3
"""Measure how much index builds by the server and by ptsort slow down pgbench.
Each run of pgbench, called a stretch, has the same length and contains at most
one build.

    neighbours.py run      measure, on the server that PGHOST and PGPORT name
    neighbours.py report   make text from the results

`make bench-neighbours` calls bench-neighbours.sh, which runs these commands.
"""

import argparse
import glob
import os
import subprocess
import sys
import time
from statistics import median

import bench
import cluster
import measure
import pglog
import report
import shapes
import waits

# Database and pgbench script of each workload.  The tables of bench_small fit
# in shared_buffers; the tables of bench_large do not.
WORKLOADS = {
    "read_fits": ("bench_small", "select-only"),
    "read": ("bench_large", "select-only"),
    "tpcb_fits": ("bench_small", "tpcb-like"),
    "tpcb": ("bench_large", "tpcb-like")}
SCALES = {"bench_small": "small_scale", "bench_large": "large_scale"}

# Query for the wait events of pgbench's sessions
SAMPLE = """SELECT coalesce(wait_event_type || ':' || wait_event, 'running')
FROM pg_stat_activity WHERE application_name = 'pgbench' AND state = 'active';
"""
LEAD = 2.0                      # seconds of pgbench before a build begins
MAPPING = ("LWLock:BufferMapping", "LWLock:buffer_mapping")


def workload_list(words):
    """Parse names of workloads for argparse."""
    names = words.split(",")
    for name in names:
        if name not in WORKLOADS:
            raise argparse.ArgumentTypeError(
                "unknown workload %s; there are: %s" % (name, " ".join(WORKLOADS)))
    return names


def parse(arguments):
    """Parse the command line into a namespace."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure")
    run.add_argument("--rows", type=int, default=10000000)
    run.add_argument("--shape", default="text_c", choices=sorted(shapes.SHAPES))
    run.add_argument("--participants", default="2,4,8", type=bench.numbers)
    run.add_argument("--workloads", type=workload_list, default="read_fits,read,tpcb")
    run.add_argument("--stretch", type=int, default=30, help="seconds")
    run.add_argument("--clients", type=int, default=4)
    run.add_argument("--small-scale", type=int, default=10, help="pgbench's scale")
    run.add_argument("--large-scale", type=int, default=100, help="pgbench's scale")
    run.add_argument("--memory", default="512MB", help="maintenance_work_mem")
    run.add_argument("--runs", type=int, default=1, help="stretches of each kind")
    run.add_argument("--keep", action="store_true", help="do not drop the tables")
    run.add_argument("--source", default="?", help="version of ptsort")
    run.add_argument("--out", required=True, help="directory for results.json")
    show = commands.add_parser("report", help="text from results.json")
    show.add_argument("out", help="directory with results.json")
    return parser.parse_args(arguments)


def fill_database(server, database, scale):
    """Create pgbench's tables at a given scale unless the database exists."""
    if server.value("SELECT 1 FROM pg_database WHERE datname = '%s'" % database) == "1":
        return
    server.run("CREATE DATABASE " + database)
    subprocess.run(["pgbench", "-i", "-q", "-s", str(scale), database], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def pgbench(options, workload, prefix):
    """Start pgbench for one stretch.  pgbench logs each transaction."""
    database, script = WORKLOADS[workload]
    return subprocess.Popen(
        ["pgbench", "-n", "-M", "prepared", "-b", script, "-c", str(options.clients),
         "-j", "1", "-T", str(options.stretch), "--random-seed=1", "-l",
         "--log-prefix=" + prefix, database],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)


def one_build(server, options, builder, table, keys):
    """Build the index once.  Returns the times when the build began and
    ended."""
    result, messages = server.json(
        measure.build_script(builder, options, table, keys))
    ended = time.time()
    last_build = result.pop("last_build")
    if builder == "ptsort":
        measure.ptsort_participants(last_build, options.workers)
    else:
        measure.server_participants(messages, options.workers)
    return ended - result["seconds"], ended


def logged(prefix):
    """Read the transactions in pgbench's logs, and remove the logs."""
    paths = glob.glob(prefix + ".*")
    done = pglog.read(paths)
    for path in paths:
        os.remove(path)
    return done


def stretch(server, options, workload, builder, table, keys):
    """Run one stretch of pgbench, with a build unless builder is None.  Returns
    figures about pgbench's transactions, as a dict."""
    prefix = os.path.join(options.out, "transactions")
    server.run("CHECKPOINT")
    started, build = time.time(), None
    runs = pgbench(options, workload, prefix)
    try:
        time.sleep(LEAD)
        with waits.Waits(SAMPLE) as seen:
            if builder:
                build = one_build(server, options, builder, table, keys)
            else:
                runs.wait()
    finally:
        words, _ = runs.communicate()
        server.run("DROP INDEX IF EXISTS " + measure.INDEX)
        done = logged(prefix)
    if runs.returncode != 0:
        raise measure.BuildError("pgbench: " + words[-500:])
    end = started + options.stretch
    if build and build[1] > end:
        raise measure.BuildError(
            "%s's build by %d participants beside %s took %.1f s: it did not end "
            "within the stretch of %d s, increase SECONDS" % (
                builder, options.workers + 1, workload, build[1] - build[0],
                options.stretch))
    return {"seconds": build and build[1] - build[0],
            "whole": pglog.facts(done, started, end),
            "build": build and pglog.facts(done, *build), "events": dict(seen.events)}


def warm(server, options, workload):
    """Load the workload's tables into the buffers."""
    subprocess.run(["pgbench", "-n", "-S", "-c", str(options.clients), "-T", "3",
                    WORKLOADS[workload][0]], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def measure_workload(server, options, workload, table, keys):
    """Run a stretch without a build.  Then, for each number of participants,
    run stretches with builds by both builders in turn.  Returns {"alone":
    [...], "2": {"server": [...], ...}}, with "errors" if a build failed."""
    warm(server, options, workload)
    found = {"alone": [stretch(server, options, workload, None, table, keys)]}
    for n in options.participants:
        options.workers = n - 1
        measure.set_workers(server, options, table)
        pair = found[str(n)] = {builder: [] for builder in measure.BUILDERS}
        for turn in range(options.runs):
            order = 1 if (turn + options.participants.index(n)) % 2 == 0 else -1
            for builder in measure.BUILDERS[::order]:
                try:
                    pair[builder].append(stretch(server, options, workload, builder,
                                                 table, keys))
                    words = short(pair[builder][-1])
                except measure.BuildError as error:
                    words = "error: %s" % error
                    found.setdefault("errors", []).append(str(error))
                print("%-10s %2d participants: %-7s %s" % (workload, n, builder, words),
                      flush=True)
    return found


def short(done):
    """The figures of a stretch as one line."""
    return "build %6.2f s, %6.0f tps, p99 %6.2f ms" % (
        done["seconds"], done["whole"]["tps"], done["whole"]["p99"])


def run(options):
    """Measure all workloads.  Returns the exit status."""
    server = cluster.Cluster()
    server.run("CREATE EXTENSION IF NOT EXISTS ptsort")
    os.makedirs(options.out, exist_ok=True)
    shape = shapes.SHAPES[options.shape]
    keys = shapes.index_columns(shape, measure.find_collations(server))
    options.workers, options.planned = 0, False
    for name in sorted({WORKLOADS[w][0] for w in options.workloads}):
        fill_database(server, name, getattr(options, SCALES[name]))
    table = measure.load(server, options, shapes.TABLES[shape.table])
    results = {"settings": dict(
        bench.machine_facts(server), source=options.source, label=shape.label,
        rows=options.rows, memory=options.memory, stretch=options.stretch,
        clients=options.clients, runs=options.runs,
        scales={name: getattr(options, SCALES[name]) for name in SCALES}),
        "workloads": {}}
    for workload in options.workloads:
        results["workloads"][workload] = measure_workload(
            server, options, workload, table, keys)
        bench.save(results, options.out)
    if not options.keep:
        server.run("DROP TABLE " + table, *[
            "DROP DATABASE IF EXISTS %s" % name for name in SCALES])
    return int(any("errors" in found for found in results["workloads"].values()))


def row_of(name, stretches):
    """A line of the report, with the medians of the given stretches."""
    def middle(part, key):
        values = [s[part][key] for s in stretches if s[part]]
        return median(values) if values else None

    def words(form, value):
        return "-" if value is None else form % value

    events = [pglog.share(s["events"], MAPPING) for s in stretches]
    seconds = [s["seconds"] for s in stretches if s["seconds"]]
    return ([name, words("%.1f", median(seconds) if seconds else None)]
            + ["%.0f" % middle("whole", "tps")]
            + ["%.2f" % middle("whole", key) for key in ("p99", "p999", "longest")]
            + ["%.0f" % middle("whole", "worst_second")]
            + [words("%.0f", middle("build", "tps"))]
            + [words("%.2f", middle("build", key)) for key in ("p99", "p999")]
            + [words("%.0f", middle("build", "worst_second"))]
            + ["%.2f" % (100 * median(events))])


HEADER = ["beside", "build, s", "tps", "p99", "p99.9", "longest", "worst s",
          "build: tps", "p99", "p99.9", "worst s", "mapping, %"]


def ratio_row(pair):
    """A line with ptsort's figures as multiples of the server's figures."""
    def of(part, key):
        ours, theirs = (median(s[part][key] for s in pair[builder])
                        for builder in ("ptsort", "server"))
        return "%.2f" % (ours / theirs) if theirs else "-"

    return (["ptsort / server", "%.2f" % (
        median(s["seconds"] for s in pair["ptsort"])
        / median(s["seconds"] for s in pair["server"]))]
        + [of("whole", key) for key in ("tps", "p99", "p999", "longest", "worst_second")]
        + [of("build", key) for key in ("tps", "p99", "p999", "worst_second")] + [""])


def rows_of(found):
    """The report's lines about one workload."""
    rows = [row_of("no build", found["alone"])]
    for n in sorted((n for n in found if n.isdigit()), key=int):
        rows += [row_of("%s, %s participants" % (builder, n), found[n][builder])
                 for builder in measure.BUILDERS if found[n][builder]]
        if all(found[n].values()):
            rows.append(ratio_row(found[n]))
    return rows


def text(results):
    """The whole report, as one string."""
    settings = results["settings"]
    lines = [
        "%s rows of %s, maintenance_work_mem = %s, shared_buffers = %s" % (
            format(settings["rows"], ","), settings["label"], settings["memory"],
            settings["shared_buffers"]),
        "pgbench: %d clients, scale %d (fits) and %d; stretches of %d s, each with one "
        "build; %d stretches of each kind" % (
            settings["clients"], settings["scales"]["bench_small"],
            settings["scales"]["bench_large"], settings["stretch"], settings["runs"]),
        "Latencies in ms; worst s: fewest transactions in one second; mapping: share of "
        "samples during the build in which a session of pgbench waited for the buffer "
        "mapping",
        report.machine(settings)]
    for workload, found in results["workloads"].items():
        lines += ["", workload] + report.table(HEADER, rows_of(found))
        lines += ["error: " + words for words in found.get("errors", [])]
    return "\n".join(lines) + "\n"


def main(arguments):
    options = parse(arguments)
    if options.command == "run":
        return run(options)
    return bench.publish(options.out, text(bench.load(options.out)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
