#!/usr/bin/env python3
"""The sort benchmark on this machine's disk: contrib/sortbench and other
programs sort files in turn.

    filebench.py run        measure, on the server that PGHOST and PGPORT name
    filebench.py report     make text from the results

All programs sort the same file.  The time includes syncing the result to disk.
`sort` reads lines, so it sorts only files of ASCII records.  "Cold" means that
the kernel's cache holds nothing of the input file.  "Direct" means that the
output bypasses the kernel's cache.
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

SIZE = 100

def commands(source, target, workers, memory):
    """The commands of the other programs, as {name: command}.  memory is in
    bytes."""
    dd = ["dd", "if=" + source, "of=" + target, "bs=1M", "status=none"]
    return {"dd": dd, "dd, direct": dd + ["oflag=direct"],
            "sort": ["env", "LC_ALL=C", "sort", "-S", "%dk" % (memory // 1024),
                     "--parallel=%d" % (workers + 1), "-T", os.path.dirname(target),
                     "-o", target, source]}


def forget(path):
    """Syncs a file and evicts it from the kernel's cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def remember(path):
    """Reads a file into the kernel's cache."""
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def other(command, target):
    """Runs another program, and syncs its output to disk.  Returns the
    program's times, or the reason for its failure."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return {"reason": lines[-1][:60] if lines else "status %d" % done.returncode}
    with open(target, "rb") as file:
        os.fsync(file.fileno())
    elapsed = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    os.remove(target)
    return {"seconds": elapsed, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def ours(server, source, target, workers, memory, passes, direct):
    """Runs sortbench_sort().  Returns the sort's times and report.  memory is
    in bytes."""
    row = server.json_lines("""SELECT row_to_json(s) FROM sortbench_sort('{%s}', '{%s}', %d, '%dkB', passes => %d, direct_output => %s) s;
SELECT jsonb_agg(r) FROM sortbench_report() r;
SELECT row_to_json(a) FROM sortbench_validate('{%s}') a;
SELECT to_json(sortbench_remove('%s'))""" % (source, target, workers, memory // 1024, passes, direct, target, target))
    sort, report, valid, _ = row
    return {"seconds": sort["elapsed_ms"] / 1000, "sort": sort, "report": report, "valid": valid,
            "cpu": sum((r["user_ms"] or 0) + (r["system_ms"] or 0) for r in report) / 1000}


def ways_of(server, args, records, kind, source, target):
    """The ways to sort a file, as {name: function}.  Each function does one run
    and returns the run's times."""
    little = args.little or max(records * SIZE // 10, 16 << 20)
    ways = {}
    for name, memory, passes in (("one pass", args.memory, 1), ("two passes", little, 2)):
        for direct in (False, True):
            ways["ptsort, " + name + (", direct" if direct else "")] = (
                lambda memory=memory, passes=passes, direct=direct:
                ours(server, source, target, args.workers, memory, passes, direct))
    if not args.alone:
        for name, command in commands(source, target, args.workers, args.memory).items():
            if name.startswith("dd") or kind.startswith("ascii") and records <= args.most_others:
                ways[name] = lambda command=command: other(command, target)
    return ways


def wrong(run, records, checksum, duplicates):
    """True if a sort by ptsort gave a wrong result for a file."""
    valid = run.get("valid")
    return valid is not None and (valid["unordered"] != 0 or valid["records"] != records or
                                  valid["checksum"] != checksum or valid["duplicates"] != duplicates)


def measure_file(server, args, records, kind):
    """Sorts one file in each way in turn, with warm and with cold caches."""
    source, target = (os.path.join(args.directory, "sortbench." + end) for end in ("in", "out"))
    server.run("SELECT sortbench_generate('%s', %d, 0, '%s', true)" % (source, records, kind))
    checksum = server.json("SELECT row_to_json(a) FROM sortbench_validate('{%s}') a" % source)[0]["checksum"]
    ways = ways_of(server, args, records, kind, source, target)
    results, duplicates = [], None
    for state, prepare in (("warm", remember), ("cold", forget)):
        runs = {name: [] for name in ways}
        for _ in range(args.runs):
            for name, way in ways.items():
                prepare(source)
                run = way()
                if duplicates is None and "valid" in run:
                    duplicates = run["valid"]["duplicates"]
                if wrong(run, records, checksum, duplicates):
                    raise RuntimeError("%s: the result is wrong" % name)
                runs[name].append(run)
                print("%11d records, %s, %s, %-26s %s" % (records, kind, state, name, "%.2f s" % run["seconds"]
                                                          if "seconds" in run else run["reason"]), flush=True)
        results.append({"records": records, "kind": kind, "state": state, "runs": runs})
    server.run("SELECT sortbench_remove('%s')" % source)
    return results


def run(args):
    """Runs all measurements, and writes results.json."""
    server = Cluster()
    server.run("CREATE EXTENSION IF NOT EXISTS sortbench CASCADE")
    args.memory = int(server.value("SELECT pg_size_bytes('%s')" % args.memory)) if args.memory else machine_memory() // 2
    args.little = int(server.value("SELECT pg_size_bytes('%s')" % args.little)) if args.little else 0
    args.directory = args.directory or tempfile.mkdtemp(dir=args.out)
    results = {"files": [], "workers": args.workers, "memory": args.memory, "source": args.source,
               "server": server.value("SELECT version()"), "price": args.price}
    for records in args.records.split(","):
        for kind in args.kinds.split(","):
            results["files"] += measure_file(server, args, int(records), kind)
    kilobytes = "%dkB" % (args.memory // 1024)
    results["datamation"] = server.json("SELECT json_agg(d) FROM datamation('%s', %d, direct_output => true) d" % (args.directory, args.workers))[0]
    if args.seconds_allowed > 0:
        results["minutesort"] = server.json("SELECT json_agg(m) FROM minutesort('%s', %g, %d, '%s', %d, direct_output => true) m" % (
            args.directory, args.seconds_allowed, args.workers, kilobytes, args.most_bytes))[0]
        results["pennysort"] = server.json("SELECT row_to_json(p) FROM pennysort('%s', %g, 3, %d, '%s', %d, true) p" % (
            args.directory, args.price, args.workers, kilobytes, args.most_bytes))[0]
    bench.save(results, args.out)
    return 0


def table(results):
    """The report's table of the sorts of files, as lines."""
    lines = ["%11s  %-12s %-5s %-26s %8s %7s %9s %8s %9s %6s" % (
        "records", "", "cache", "", "seconds", "MB/s", "MB/s/core", "CPU s", "temporary", "of dd")]
    for part in results["files"]:
        dd = [r["seconds"] for r in part["runs"].get("dd", []) if "seconds" in r]
        for name, runs in part["runs"].items():
            good = [r for r in runs if "seconds" in r]
            if not good:
                lines.append("%11d  %-12s %-5s %-26s failed: %s" % (
                    part["records"], part["kind"], part["state"], name, runs[0]["reason"]))
                continue
            seconds = statistics.median(r["seconds"] for r in good)
            rate = part["records"] * SIZE / 1e6 / seconds
            cores = 1 if name.startswith("dd") else results["workers"] + 1
            lines.append("%11d  %-12s %-5s %-26s %8.2f %7.0f %9.0f %8.2f %9s %6s" % (
                part["records"], part["kind"], part["state"], name, seconds, rate, rate / cores,
                statistics.median(r["cpu"] for r in good),
                "%.0f MB" % (good[0]["sort"]["temp_bytes"] / 1e6) if "sort" in good[0] else "",
                "%.2f" % (seconds / statistics.median(dd)) if dd else ""))
    return lines


def text(results):
    """The report, as one string."""
    lines = [results["server"], "ptsort %s, %d workers" % (results["source"], results["workers"]), ""] + table(results)
    lines += ["", "Datamation (ms): " + ", ".join("%s %.0f" % (s["step"], s["ms"]) for s in results["datamation"])]
    fits = [m for m in results.get("minutesort", []) if m["fits"]]
    if fits:
        lines.append("MinuteSort: %(records)d records, %(bytes)d bytes in %(elapsed_seconds).1f s" % fits[-1])
    if results.get("pennysort", {}).get("records"):
        lines.append("PennySort, %g dollars: %s" % (
            results["price"], "%(seconds).1f s for a penny, %(records)d records, %(bytes)d bytes in %(elapsed_seconds).1f s" % results["pennysort"]))
    return "\n".join(lines) + "\n"


def main(arguments):
    """Parses and runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands_ = parser.add_subparsers(dest="command", required=True)
    measuring = commands_.add_parser("run")
    for name, kind, default in (("out", str, None), ("source", str, ""), ("records", str, "1000000,10000000"),
                                ("kinds", str, "ascii"), ("most-others", int, 20 * 10 ** 6),
                                ("workers", int, max(os.cpu_count() - 1, 0)), ("memory", str, None), ("little", str, None),
                                ("runs", int, 3), ("seconds-allowed", float, 60), ("most-bytes", int, 4 * 10 ** 9),
                                ("price", float, 1000), ("directory", str, None)):
        measuring.add_argument("--" + name, type=kind, default=default)
    measuring.add_argument("--alone", action="store_true")
    measuring.add_argument("--keep", action="store_true")
    commands_.add_parser("report").add_argument("directory")
    args = parser.parse_args(arguments)
    if args.command == "run":
        return run(args)
    return bench.publish(args.directory, text(bench.load(args.directory)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
