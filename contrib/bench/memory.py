"""Sample the memory of a build's participants from /proc during the build.

The sampler counts private memory (RssAnon) and not shared buffers.  The
kernel's high-water mark (VmHWM) includes shared buffers, so the sampler cannot
use it.  A sampler can miss a short peak of either builder.
"""

import threading


def read(path):
    """The contents of a file in /proc; b'' if the process is gone."""
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def children(pid):
    """The process IDs of a process's children."""
    return [int(p) for p in read("/proc/%d/task/%d/children" % (pid, pid)).split()]


def is_participant(command):
    """True if command is the command line of a session or of a parallel
    worker, and not of an auxiliary process such as 'postgres: checkpointer'."""
    title = command.replace(b"\0", b" ").strip()
    return b" parallel worker for PID " in title or b" [local]" in title


def anonymous(status):
    """RssAnon in bytes, from the text of /proc/PID/status; 0 if missing."""
    for line in status.splitlines():
        if line.startswith(b"RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


class Sampler(threading.Thread):
    """Samples memory: "with Sampler(pid of the server) as s: ...".  Afterwards
    s.peak is the largest sum of the participants' memory in one sample, and
    s.each has the peak of each participant.  Without participants s.peak is
    None and s.each is {}."""

    INTERVAL = 0.05                 # seconds between samples

    def __init__(self, postmaster):
        super().__init__(daemon=True)
        self.postmaster = postmaster
        self.peak = None
        self.each = {}
        self.done = threading.Event()

    def sample(self):
        """Take one sample."""
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
