"""Sample what the participants of a build wait for: wait events from
pg_stat_activity, and spinlocks with perf."""

import collections
import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time

SAMPLE = """SELECT coalesce(wait_event_type || ':' || wait_event, 'running')
FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND
(backend_type = 'parallel worker' OR query LIKE 'CREATE INDEX%' AND state = 'active');
"""
INTERVAL = 0.02                 # seconds
PERF_START = 0.3                # seconds to wait for perf's start or end
PERF_TRIES = 100                # maximum number of signals to end perf

# Prefixes of wait events, each with the picture's name for the kind of these
# events.  An event has the kind of the first prefix that matches.
KINDS = (("running", "running"), ("Lock:extend", "extension lock"),
         ("LWLock:WAL", "WAL"), ("IO:WAL", "WAL"), ("IO:DataFile", "table and index file"),
         ("IO:BufFile", "temporary files"), ("Extension:", "plan, others"),
         ("IPC:", "plan, others"), ("Timeout:SpinDelay", "spinlock"),
         ("", "other"))


def kind(event):
    """The picture's name for the kind of a wait event."""
    return next(words for start, words in KINDS if event.startswith(start))


def by_kind(events):
    """Convert counts of events to counts of kinds, in the order of KINDS."""
    found = {words: 0 for _, words in KINDS}
    for event, count in events.items():
        found[kind(event)] += count
    return {words: count for words, count in found.items() if count}


def total(builds):
    """The sums of the events' counts over the builds."""
    return sum((collections.Counter(build["events"]) for build in builds),
               collections.Counter())


def shares(counts):
    """Convert counts to shares of their sum."""
    return {name: count / sum(counts.values()) for name, count in counts.items()}


class Session(threading.Thread):
    """A thread whose psql process runs statements until the end of a `with`
    block."""

    def __init__(self):
        super().__init__(daemon=True)
        self.done = threading.Event()
        self.psql = None

    def ask(self, script):
        """Send a script to psql.  Returns False if psql ended."""
        try:
            self.psql.stdin.write(script)
            self.psql.stdin.flush()
        except BrokenPipeError:
            return False
        return True

    def __enter__(self):
        self.psql = subprocess.Popen(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "postgres"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        self.start()
        return self

    def close(self):
        """Close psql's input."""
        with contextlib.suppress(BrokenPipeError):
            self.psql.stdin.close()

    def __exit__(self, *_):
        self.done.set()
        self.join()
        self.psql.stdout.close()
        self.psql.wait()


class Waits(Session):
    """Samples wait events: "with Waits() as w: ...".  Afterwards w.events
    counts the wait events of the leader and the workers.  If the caller passes
    another query, w.events counts the lines of that query's results."""

    def __init__(self, sample=SAMPLE):
        super().__init__()
        self.sample = sample
        self.events = collections.Counter()

    def run(self):
        reader = threading.Thread(target=self.read, daemon=True)
        reader.start()
        while not self.done.wait(INTERVAL) and self.ask(self.sample):
            pass
        self.close()
        reader.join()

    def read(self):
        """Count the lines of psql's output."""
        for line in self.psql.stdout:
            self.events[line.strip()] += 1


def spin_share(report):
    """From perf's report, the share of samples in s_lock() and its subroutines;
    None if the report has no samples."""
    share, some = 0.0, False
    for line in report.splitlines():
        words = line.split()
        if len(words) >= 3 and words[0].endswith("%"):
            some = True
            if words[-1] in ("s_lock", "perform_spin_delay", "finish_spin_delay"):
                share += float(words[0][:-1]) / 100
    return share if some else None


class Perf:
    """Runs perf: "with Perf(pid of the server, directory) as p: ...".
    perf samples the processes that start in the `with` block.  Afterwards
    p.spinning is the share of these processes' CPU time spent waiting for
    spinlocks, or None if perf is missing or lacks permission."""

    def __init__(self, postmaster, directory):
        self.data = os.path.join(directory, "perf.data")
        self.command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "499",
                        "-p", str(postmaster), "-o", self.data]
        self.process = None
        self.spinning = None

    def __enter__(self):
        if shutil.which("perf"):
            self.process = subprocess.Popen(
                self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(PERF_START)
        return self

    def __exit__(self, *_):
        if self.process is None:
            return
        if not self.end():
            return
        done = subprocess.run(
            ["perf", "report", "-i", self.data, "--stdio", "--no-children",
             "--sort", "symbol"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.spinning = spin_share(done.stdout.decode(errors="replace"))
        if os.path.exists(self.data):
            os.remove(self.data)

    def end(self):
        """End perf.  Returns True if perf wrote data.  Background processes of
        a script ignore SIGINT, so signals that arrive before perf sets its
        handler are lost.  This method therefore sends SIGINT repeatedly."""
        for _ in range(PERF_TRIES):
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(PERF_START)
                return os.path.exists(self.data)
            except subprocess.TimeoutExpired:
                pass
        self.process.kill()
        self.process.wait()
        return False
