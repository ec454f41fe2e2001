#!/usr/bin/env python3
"""Measure how ptsort's index builds scale from 1 to 64 participants.

Measures the participants' waits on this machine's cores, and models a machine
with one core for each participant.  Optionally measures the duration of
checkpoints during builds by the server and by ptsort.

    scale.py run        measure, on the server that PGHOST and PGPORT name
    scale.py report     make text and a picture from the results

`make bench-scale` calls bench-scale.sh, which runs these commands.
"""

import argparse
import os
import re
import sys
import time
from statistics import median

import bench
import checkpoints
import cluster
import measure
import report
import scalechart
import scalemodel
import shapes
import waits

PIECE = 256 * 1024              # bytes that measured_rates() writes at a time
SEGMENT = 16 << 20              # bytes of WAL to write before a sync
SAMPLE_BYTES = 256 << 20
TINY_ROWS = 1000
FORK = 0.0005                   # seconds to fork a process; forks are serial


def parse(arguments):
    """Parse the command line into a namespace."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure")
    run.add_argument("--rows", type=int, default=10000000)
    run.add_argument("--shape", default="int8", choices=sorted(shapes.SHAPES))
    run.add_argument("--participants", default="1,2,4,8,16,32,64",
                     type=bench.numbers)
    run.add_argument("--memory", default="2GB", help="maintenance_work_mem")
    run.add_argument("--runs", type=int, default=3,
                     help="builds by each number of participants")
    run.add_argument("--checkpoints", action="store_true",
                     help="also time CHECKPOINT during builds by both builders")
    run.add_argument("--slow-disk", type=int, metavar="MB/S",
                     help="also time CHECKPOINT on a disk simulated by slowdisk.c")
    run.add_argument("--keep", action="store_true", help="do not drop the table")
    run.add_argument("--source", default="?", help="version of ptsort")
    run.add_argument("--out", required=True, help="directory for results.json")
    show = commands.add_parser("report", help="text and picture from results.json")
    show.add_argument("--memory-rate", type=float, default=200,
                      help="memory rate of the modelled machine, GB/s")
    show.add_argument("--wal-rate", type=float, default=2,
                      help="rate of WAL to its disk, GB/s")
    show.add_argument("out", help="directory with results.json")
    options = parser.parse_args(arguments)
    if options.command == "run" and options.slow_disk and not (
            options.checkpoints and os.environ.get("SLOW_DISK_FILE")):
        parser.error("--slow-disk needs --checkpoints and SLOW_DISK_FILE")
    return options


def written_rate(path, sync):
    """The rate at which one process writes pieces to a new file, in bytes a
    second.  If sync is true, the process syncs the file after each SEGMENT
    bytes."""
    piece, written, start = b"\1" * PIECE, 0, time.perf_counter()
    with open(path, "wb", buffering=0) as f:
        while written < SAMPLE_BYTES:
            written += f.write(piece)
            if sync and written % SEGMENT == 0:
                os.fdatasync(f.fileno())
    elapsed = time.perf_counter() - start
    os.remove(path)
    return written / elapsed


def measured_rates(directory):
    """The rates at which one process on this machine writes to the kernel's
    cache ("file"), and to disk with syncs ("wal")."""
    path = os.path.join(directory, "rate")
    return {"file": max(written_rate(path, False) for _ in range(3)),
            "wal": max(written_rate(path, True) for _ in range(2))}


def one_build(server, options, table, keys, participants):
    """Build the index once and drop it.  Returns the measurements as a dict."""
    options.workers = participants - 1
    measure.set_workers(server, options, table)
    measure.warm(server, table)
    script = measure.build_script("ptsort", options, table, keys, "debug2")
    with waits.Perf(server.postmaster_pid(), options.out) as perf, \
            waits.Waits() as seen:
        result, messages = server.json(script)
    rows, _ = measure.ptsort_participants(result.pop("last_build"), options.workers)
    server.run("DROP INDEX " + measure.INDEX)
    found = re.findall(r'ptsort: part "(\w+)": ([0-9.]+) ms', "\n".join(messages))
    return dict(result, participants=rows, events=dict(seen.events),
                spinning=perf.spinning,
                parts={name: float(ms) / 1000 for name, ms in found})


def tiny_table(server):
    """Create a tiny table.  Index builds on this table show the costs that all
    builds have."""
    server.run("DROP TABLE IF EXISTS bench_tiny",
               "CREATE TABLE bench_tiny AS SELECT i::int8 AS id FROM "
               "generate_series(1, %d) i" % TINY_ROWS, "VACUUM bench_tiny")
    return "bench_tiny"


def run(options):
    """Measure all builds.  Returns the exit status."""
    server = cluster.Cluster()
    server.run(*["CREATE EXTENSION IF NOT EXISTS " + name
                 for name in ("ptsort", "pg_prewarm")])
    os.makedirs(options.out, exist_ok=True)
    shape = shapes.SHAPES[options.shape]
    keys = shapes.index_columns(shape, measure.find_collations(server))
    options.workers, options.planned = 0, False
    table = measure.load(server, options, shapes.TABLES[shape.table])
    tiny = tiny_table(server)
    builds = {n: [] for n in options.participants}
    tinies = {n: [] for n in options.participants}
    for turn in range(options.runs):
        order = options.participants[::1 if turn % 2 == 0 else -1]
        for n in order:
            tinies[n].append(one_build(server, options, tiny, "id", n)["seconds"])
            builds[n].append(one_build(server, options, table, keys, n))
            print("%2d participants: %.2f s" % (n, builds[n][-1]["seconds"]), flush=True)
    results = {
        "settings": dict(bench.machine_facts(server), source=options.source,
                         label=shape.label, memory=options.memory, runs=options.runs,
                         wal=server.value("SHOW wal_level") + ", wal_buffers = "
                         + server.value("SHOW wal_buffers")),
        "rates": measured_rates(server.data),
        "table_bytes": int(server.value("SELECT pg_relation_size('%s')" % table)),
        "builds": builds, "tinies": tinies, "checkpoints": []}
    bench.save(results, options.out)
    if options.checkpoints:
        results["checkpoints"] = checkpoints.measure_disks(server, options, table, keys)
    server.run("DROP TABLE " + tiny)
    if not options.keep:
        server.run("DROP TABLE " + table)
    bench.save(results, options.out)
    return 0


def phase_seconds(build):
    """The seconds of each phase of a build, summed over the participants."""
    return {name: sum(part[key] or 0 for part in build["participants"]) / 1000
            for name, key in zip(scalemodel.PHASES, (
                "scan_ms", "sort_ms", "run_ms", "merge_load_ms"))}


def facts_of(results):
    """The model's input.  In builds with more participants than cores,
    participants wait for a core.  The function therefore takes the work from
    the builds with the largest number of participants that does not exceed
    the number of cores."""
    builds = {int(n): b for n, b in results["builds"].items()}
    cores = max(n for n in builds if n <= results["settings"]["cpus"])

    def work(n):
        works = [phase_seconds(b) for b in builds[n]]
        return {name: median(w[name] for w in works) for name in scalemodel.PHASES}

    def alone(n, name):
        return median(b["parts"].get(name, 0) for b in builds[n])

    def start_and_end(n):
        """The time to start and end n participants.  The workers' own part
        runs on all cores in parallel, but the server forks the workers one
        after the other."""
        least, all_of_it = (median(results["tinies"][str(m)]) for m in (1, n))
        return least + (n - 1) * FORK + max(all_of_it - least, 0) * min(
            cores / n, 1)

    return {
        "tuples": sum(p["tuples"] for p in builds[cores][0]["participants"]),
        "table_bytes": results["table_bytes"],
        "index_bytes": median(b["index_bytes"] for b in builds[cores]),
        "wal_bytes": median(b["wal_bytes"] for b in builds[cores]),
        "work_s": work(cores), "serial_work_s": work(1),
        "alone_s": {n: {"start and end": start_and_end(n),
                        "plan": alone(n, "plan"), "stitch": alone(n, "stitch"),
                        "sync": alone(n, "sync")} for n in builds}}


def waits_of(builds):
    """The share of each kind of wait in the samples of the builds."""
    return waits.shares(waits.by_kind(waits.total(builds)))


def tables(results, facts, machine):
    """The report's tables, as lines."""
    rows, seen = [], []
    for n in sorted(facts["alone_s"]):
        builds = results["builds"][str(n)]
        spinning = [b["spinning"] for b in builds if b["spinning"] is not None]
        rows.append([n, "%.2f" % median(b["seconds"] for b in builds),
                     "%.2f" % sum(scalemodel.parts(facts, machine, n).values()),
                     "%.1f" % scalemodel.speedup(facts, machine, n),
                     scalemodel.limit(facts, machine, n)]
                    + ["%.0f" % (1000 * facts["alone_s"][n][name])
                       for name in ("start and end", "plan", "stitch", "sync")])
        seen.append([n, ", ".join("%s %.0f %%" % (name, 100 * share) for name, share
                                  in waits_of(builds).items() if share >= 0.005),
                     "-" if not spinning else "%.2f %%" % (100 * median(spinning))])
    return (report.table(["participants", "here, s", "model, s", "speedup", "mostly",
                          "start and end, ms", "plan, ms", "stitch, ms", "sync, ms"], rows)
            + [""] + report.table(["participants", "seen doing", "spinning"], seen))


def show(options):
    """Write report.txt and scale.svg beside results.json; print the text."""
    results = bench.load(options.out)
    facts, settings = facts_of(results), results["settings"]
    machine = scalemodel.Machine(options.memory_rate * scalemodel.GB,
                                 options.wal_rate * scalemodel.GB,
                                 results["rates"]["file"])
    numbers = sorted(facts["alone_s"])
    words = [
        "%s rows of %s, maintenance_work_mem = %s, wal_level = %s" % (
            format(facts["tuples"], ","), settings["label"], settings["memory"],
            settings["wal"]),
        "Model: one core for each participant, like the %d cores of this machine (%s); rates: "
        "memory %g GB/s, WAL to disk %g GB/s (one process on this machine: %.1f), one "
        "process to the kernel's cache %.1f GB/s, as on this machine." % (
            settings["cpus"], settings["cpu"], options.memory_rate, options.wal_rate,
            results["rates"]["wal"] / scalemodel.GB,
            results["rates"]["file"] / scalemodel.GB),
        report.machine(settings)]
    lines = (words + [""] + tables(results, facts, machine)
             + checkpoints.lines(results.get("checkpoints", [])))
    serial = median(b["seconds"] for b in results["builds"]["1"])
    picture = scalechart.picture(
        words, numbers, [scalemodel.speedup(facts, machine, n) for n in numbers],
        {n: serial / median(b["seconds"] for b in results["builds"][str(n)])
         for n in numbers if n <= settings["cpus"]},
        [scalemodel.parts(facts, machine, n) for n in numbers],
        [waits_of(results["builds"][str(n)]) for n in numbers])
    return bench.publish(options.out, "\n".join(lines) + "\n",
                         {"scale.svg": picture})


def main(arguments):
    options = parse(arguments)
    return run(options) if options.command == "run" else show(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
