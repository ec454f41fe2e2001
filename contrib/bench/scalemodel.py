"""A model of the time of an index build on a machine with a core for each
participant.

The model uses measured times.  It divides the work of a phase by the number of
participants, but the phase takes at least the time to move its bytes through
memory.  During the load, one process at a time writes WAL.  Also, one process
at a time writes the index file, because a buffered write holds the file's lock.
If one of these writes takes longer than the divided work, the write determines
the time of the load.  The model adds the work that one process does for all
participants: starting and ending workers, planning slices, connecting the
slices (the "stitch"), and the sync.
"""

from collections import namedtuple

GB = 1e9

# The rates of the modelled machine in bytes a second: of all memory, of WAL to
# the disk, and of one process's writes to the kernel's cache.
Machine = namedtuple("Machine", "memory wal file")

# moved() counts a phase's reads and writes of memory.  An entry has 16 bytes.
# A radix sort moves each entry once for each byte of the key.  To write a run,
# ptsort packs it and the kernel copies it.  To load, ptsort forms, logs and
# copies pages.
ENTRY = 16
PHASES = ("scan", "sort", "run", "load")


def moved(phase, facts):
    """The number of bytes that a phase moves; facts come from
    scale.facts_of()."""
    entries = ENTRY * facts["tuples"]
    return {"scan": facts["table_bytes"] + entries,
            "sort": 2 * 8 * entries,
            "run": 4 * entries,
            "load": 3 * entries + 4 * facts["index_bytes"] + 2 * facts["wal_bytes"],
            }[phase]


def phase_limits(phase, facts, machine, n):
    """The possible limits of a phase with n participants, as {name: seconds}.
    The longest time is the phase's limit."""
    work = facts["serial_work_s" if n == 1 else "work_s"]
    found = {phase: work[phase] / n,
             "memory": moved(phase, facts) / machine.memory}
    if phase == "load":
        found["WAL"] = facts["wal_bytes"] / machine.wal
        found["index file"] = facts["index_bytes"] / machine.file
    return found


def parts(facts, machine, n):
    """The parts of a build by n participants, as {name: seconds}: the limit of
    each phase, and the work that one process does for all participants."""
    found = {}
    for phase in PHASES:
        limits = phase_limits(phase, facts, machine, n)
        worst = max(limits, key=limits.get)
        found[worst] = found.get(worst, 0) + limits[worst]
    for name, seconds in facts["alone_s"][n].items():
        found[name] = found.get(name, 0) + seconds
    return found


def speedup(facts, machine, n):
    """The speedup of n participants over one participant."""
    return (sum(parts(facts, machine, 1).values())
            / sum(parts(facts, machine, n).values()))


def limit(facts, machine, n):
    """The name of the longest part of a build by n participants."""
    found = parts(facts, machine, n)
    return max(found, key=found.get)
