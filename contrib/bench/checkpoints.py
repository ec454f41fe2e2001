"""Measure the duration of CHECKPOINT during index builds by the server and by
ptsort.  The builds use the machine's disk and, with --slow-disk, also a slow
disk that slowdisk.c simulates."""

import os
import struct

import measure
import neighbours
import report
import waits

MB = 1000 * 1000

# Run CHECKPOINT once, and return its duration in milliseconds
CHECKPOINT = """SELECT clock_timestamp() AS start \\gset
CHECKPOINT;
SELECT 1000 * extract(epoch FROM clock_timestamp() - :'start'::timestamptz);
"""
CHECKPOINTER = """SELECT coalesce(wait_event_type || ':' || wait_event, 'running')
FROM pg_stat_activity WHERE backend_type = 'checkpointer';
"""
IDLE = "Activity:CheckpointerMain"
SHOWN = 4                       # number of wait events in the report


class Checkpoints(waits.Session):
    """Runs CHECKPOINT in a loop: "with Checkpoints() as c: ...".  Afterwards
    c.times has the duration of each CHECKPOINT in milliseconds, in order."""

    def __init__(self):
        super().__init__()
        self.times = []

    def run(self):
        while not self.done.is_set() and self.ask(CHECKPOINT):
            line = self.psql.stdout.readline()
            if not line:
                break
            self.times.append(float(line))
        self.close()


class SlowDisk:
    """The file that slowdisk.c maps.  The file holds the disk's rate and the
    time when the disk is idle again."""

    def __init__(self, path):
        self.path = path

    def set_rate(self, mb_s):
        """Limit the server's writes to mb_s megabytes a second; 0: no limit."""
        with open(self.path, "r+b") as f:
            f.write(struct.pack("=qq", mb_s * MB, 0))

    def is_used(self):
        """True if the server wrote something since set_rate()."""
        with open(self.path, "rb") as f:
            return struct.unpack("=qq", f.read(16))[1] != 0


def one_build(server, options, builder, table, keys):
    """Build the index once, and drop it.  Returns a dict with the build's
    seconds and the durations of the checkpoints during the build."""
    measure.warm(server, table)
    with waits.Waits(CHECKPOINTER) as seen, Checkpoints() as beside:
        began, ended = neighbours.one_build(server, options, builder, table, keys)
    if beside.psql.returncode != 0 or not beside.times:
        raise measure.BuildError("no CHECKPOINT ended during the build")
    server.run("DROP INDEX " + measure.INDEX)
    return {"seconds": ended - began, "times": beside.times, "events": dict(seen.events),
            "load": os.getloadavg()[0]}


def measure_disk(server, options, table, keys, mb_s):
    """Measure builds by both builders in turn, with each number of
    participants, on a disk that writes mb_s megabytes a second (0 for the
    machine's disk).  Returns a list of dicts."""
    found = []
    for n in options.participants:
        options.workers = n - 1
        measure.set_workers(server, options, table)
        pair = {builder: [] for builder in measure.BUILDERS}
        for turn in range(options.runs):
            for builder in measure.BUILDERS[::1 if turn % 2 == 0 else -1]:
                pair[builder].append(one_build(server, options, builder, table, keys))
                print("%2d participants, %s: %-7s %.2f s, longest CHECKPOINT %.0f ms" % (
                    n, disk_words(mb_s), builder, pair[builder][-1]["seconds"],
                    longest(pair[builder][-1:])), flush=True)
        found.append(dict(pair, participants=n, mb_s=mb_s))
    return found


def measure_disks(server, options, table, keys):
    """Run measure_disk() on the machine's disk and, with --slow-disk, on the
    simulated disk."""
    found = measure_disk(server, options, table, keys, 0)
    if options.slow_disk:
        disk = SlowDisk(os.environ["SLOW_DISK_FILE"])
        disk.set_rate(options.slow_disk)
        try:
            server.run("CHECKPOINT")
            if not disk.is_used():
                raise measure.BuildError("the server runs without slowdisk.c")
            found += measure_disk(server, options, table, keys, options.slow_disk)
        finally:
            disk.set_rate(0)
    return found


def disk_words(mb_s):
    """The name of a disk in the report."""
    return "%d MB/s" % mb_s if mb_s else "as it is"


def longest(builds):
    """The duration of the longest CHECKPOINT during the builds, in
    milliseconds."""
    return max(max(build["times"]) for build in builds)


def seen_doing(builds):
    """The checkpointer's wait events as words, most frequent first."""
    events = waits.total(builds)
    del events[IDLE]
    shares = waits.shares(dict(events.most_common()))
    return ", ".join("%s %.0f %%" % (event, 100 * share)
                     for event, share in list(shares.items())[:SHOWN])


def lines(found):
    """The report's lines about checkpoints; empty without measurements."""
    if not found:
        return []
    rows, seen = [], []
    for pair in found:
        server, ptsort = (pair[builder] for builder in measure.BUILDERS)
        rows.append(
            [pair["participants"], disk_words(pair["mb_s"]), "%.0f" % longest(server),
             "%.0f" % longest(ptsort), "%.2f" % (longest(ptsort) / longest(server))]
            + [" / ".join(words(builds) for builds in (server, ptsort)) for words in (
                lambda builds: str(sum(len(build["times"]) for build in builds)),
                lambda builds: "%.1f" % report.middle(builds, "seconds"))])
        seen += [[pair["participants"], disk_words(pair["mb_s"]), builder,
                  seen_doing(pair[builder])] for builder in measure.BUILDERS]
    return (["", "CHECKPOINT in a loop during other builds, by the server and by ptsort:"]
            + report.table(["participants", "disk", "longest: server, ms", "ptsort, ms",
                            "ptsort / server", "checkpoints", "build, s"], rows)
            + [""] + report.table(["participants", "disk", "build", "checkpointer"], seen))
