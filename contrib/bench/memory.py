"""Memory of a build's participants, sampled from /proc while it runs.

What counts is memory of their own (RssAnon), not the buffers they share, so
the kernel's own high-water mark (VmHWM) is of no use.  A sampler can miss a
short peak, in both builds alike.
"""

import threading


def read(path):
    """A file's bytes; b'' if the process has gone."""
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def children(pid):
    """Process ids of a process's children."""
    return [int(p) for p in read("/proc/%d/task/%d/children" % (pid, pid)).split()]


def is_participant(command):
    """Is this the command line of a session or of a parallel worker?  (The
    server's own processes are 'postgres: checkpointer' and the like.)"""
    title = command.replace(b"\0", b" ").strip()
    return b" parallel worker for PID " in title or b" [local]" in title


def anonymous(status):
    """RssAnon in bytes, from the text of /proc/PID/status; 0 if not there."""
    for line in status.splitlines():
        if line.startswith(b"RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


class Sampler(threading.Thread):
    """with Sampler(pid of the server) as s: ...; then s.peak is the most
    memory that all participants together were seen to have at one time, and
    s.each the peak of every one of them.  None and {} if none was seen."""

    INTERVAL = 0.05                 # seconds; half a percent of one processor

    def __init__(self, postmaster):
        super().__init__(daemon=True)
        self.postmaster = postmaster
        self.peak = None
        self.each = {}
        self.done = threading.Event()

    def sample(self):
        """Look once."""
        together = 0
        for pid in children(self.postmaster):
            if is_participant(read("/proc/%d/cmdline" % pid)):
                size = anonymous(read("/proc/%d/status" % pid))
                self.each[pid] = max(self.each.get(pid, 0), size)
                together += size
        if together:
            self.peak = max(self.peak or 0, together)

    def run(self):
        while not self.done.wait(self.INTERVAL):
            self.sample()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()
