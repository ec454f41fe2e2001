#!/usr/bin/env python3
"""The sort benchmark on this machine's disk, with contrib/sortbench.

    filebench.py run        measure, on the server that PGHOST and PGPORT name
    filebench.py report     make text from the results

Sorts the same files in one pass and in two, with and without direct output, and
copies them with dd.  The times include syncing the result to disk.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import bench
from cluster import Cluster, machine_memory

SIZE = 100      # bytes of a record


def read_or_forget(path, cold):
    """Evict a file from the kernel's cache, or read it into the cache."""
    with open(path, "rb") as file:
        if cold:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        else:
            while file.read(1 << 20):
                pass


def copy(source, target):
    """Copy a file with dd.  Returns the times."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(["dd", "if=" + source, "of=" + target, "bs=1M", "conv=fsync",
                    "status=none"], check=True)
    elapsed = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    os.remove(target)
    return {"seconds": elapsed, "cpu": after.ru_utime + after.ru_stime
            - before.ru_utime - before.ru_stime}


def sort(server, source, target, workers, memory, passes, direct):
    """Run sortbench_sort().  Returns the sort's times and report.  memory is in
    bytes."""
    done, report, valid, _ = server.json_lines("""
SELECT row_to_json(s) FROM sortbench_sort('{%s}', '{%s}', %d, '%dkB', passes => %d, direct_output => %s) s;
SELECT jsonb_agg(r) FROM sortbench_report() r;
SELECT row_to_json(a) FROM sortbench_validate('{%s}') a;
SELECT to_json(sortbench_remove('%s'))"""
        % (source, target, workers, memory // 1024, passes, direct, target, target))
    return {"seconds": done["elapsed_ms"] / 1000, "sort": done, "report": report,
            "valid": valid, "cpu": sum(r["user_ms"] + r["system_ms"] for r in report) / 1000}


def measure_file(server, args, records, kind):
    """Sort one file in each way, in turn."""
    source, target = (os.path.join(args.directory, "sortbench." + end) for end in ("in", "out"))
    server.run("SELECT sortbench_generate('%s', %d, 0, '%s', true)" % (source, records, kind))
    made, _ = server.json("SELECT row_to_json(a) FROM sortbench_validate('{%s}') a" % source)
    little = max(records * SIZE // 10, 16 << 20)
    ways = {"dd": lambda: copy(source, target)}
    for name, memory, passes in (("one pass", args.memory, 1), ("two passes", little, 2)):
        for direct in (False, True):
            ways[name + (", direct" if direct else "")] = (
                lambda memory=memory, passes=passes, direct=direct:
                sort(server, source, target, args.workers, memory, passes, direct))
    runs = {name: [] for name in ways}
    for _ in range(args.runs):
        for name, way in ways.items():
            read_or_forget(source, args.cache == "cold")
            done = way()
            if "valid" in done and (done["valid"]["unordered"] != 0 or any(
                    done["valid"][what] != made[what] for what in ("records", "checksum"))):
                raise SystemExit("%s: the result is wrong" % name)
            runs[name].append(done)
            print("%11d records, %s, %-18s %.2f s" % (records, kind, name, done["seconds"]), flush=True)
    server.run("SELECT sortbench_remove('%s')" % source)
    return {"records": records, "kind": kind, "runs": runs}


def run(args):
    """Run all measurements, and write results.json."""
    server = Cluster()
    server.run("CREATE EXTENSION IF NOT EXISTS sortbench CASCADE")
    args.memory = int(server.value("SELECT pg_size_bytes('%s')" % args.memory)) if args.memory else machine_memory() // 2
    args.directory = args.directory or tempfile.mkdtemp(dir=args.out)
    memory = "%dkB" % (args.memory // 1024)
    results = {"settings": dict(bench.machine_facts(server), source=args.source, workers=args.workers,
                                cache=args.cache),
               "files": [measure_file(server, args, int(records), kind)
                         for records in args.records.split(",") for kind in args.kinds.split(",")]}
    results["datamation"], _ = server.json(
        "SELECT json_agg(d) FROM datamation('%s', %d, direct_output => true) d"
        % (args.directory, args.workers))
    if args.seconds_allowed > 0:
        results["minutesort"], _ = server.json(
            "SELECT json_agg(m) FROM minutesort('%s', %g, %d, '%s', %d, direct_output => true) m"
            % (args.directory, args.seconds_allowed, args.workers, memory, args.most_bytes))
        results["pennysort"], _ = server.json(
            "SELECT row_to_json(p) FROM pennysort('%s', 1000, 3, %d, '%s', %d, true) p"
            % (args.directory, args.workers, memory, args.most_bytes))
    bench.save(results, args.out)
    return 0


def text(results):
    """The report, as one string."""
    lines = ["PostgreSQL %(server_version)s, %(workers)d workers, %(cache)s cache; ptsort %(source)s" % results["settings"], "",
             "%11s  %-12s %-18s %8s %7s %8s %9s" % ("records", "", "", "seconds", "MB/s", "CPU s", "temporary")]
    for part in results["files"]:
        for name, runs in part["runs"].items():
            seconds = statistics.median(r["seconds"] for r in runs)
            lines.append("%11d  %-12s %-18s %8.2f %7.0f %8.2f %9s" % (
                part["records"], part["kind"], name, seconds, part["records"] * SIZE / 1e6 / seconds,
                statistics.median(r["cpu"] for r in runs),
                "%.0f MB" % (runs[0]["sort"]["temp_bytes"] / 1e6) if "sort" in runs[0] else ""))
    lines += ["", "Datamation (ms): " + ", ".join("%s %.0f" % (s["step"], s["ms"]) for s in results["datamation"])]
    lines += ["MinuteSort: %(records)d records, %(bytes)d bytes in %(elapsed_seconds).1f s" % m
              for m in results.get("minutesort", []) if m["fits"]][-1:]
    if results.get("pennysort", {}).get("records"):
        lines.append("PennySort, a machine of $1000: %(seconds).1f s for a penny, %(records)d records, "
                     "%(bytes)d bytes in %(elapsed_seconds).1f s" % results["pennysort"])
    return "\n".join(lines) + "\n"


def main(arguments):
    """Parse and run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("run")
    for name, kind, default in (("out", str, None), ("source", str, ""), ("records", str, "1000000,10000000"),
                                ("kinds", str, "ascii"), ("workers", int, max(os.cpu_count() - 1, 0)),
                                ("memory", str, None), ("runs", int, 3), ("cache", str, "warm"),
                                ("seconds-allowed", float, 60), ("most-bytes", int, 4 * 10 ** 9),
                                ("directory", str, None)):
        measuring.add_argument("--" + name, type=kind, default=default)
    measuring.add_argument("--keep", action="store_true")
    commands.add_parser("report").add_argument("directory")
    args = parser.parse_args(arguments)
    if args.command == "run":
        return run(args)
    return bench.publish(args.directory, text(bench.load(args.directory)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
