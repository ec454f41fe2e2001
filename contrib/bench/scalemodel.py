"""How long an index build would take by more participants than there are cores:
a model, made of what was measured.

Work that is divided takes its time divided by the number of participants, but
not less than the bytes that it moves take the machine's memory.  While the index
is loaded, WAL is written by one process at a time, and so is the index file (a
buffered write holds the file's lock); if either takes longer than the divided
work, that is how long the load takes.  What one process does for all comes on
top: starting and ending workers, the plan of slices, the stitch, the sync.
"""

from collections import namedtuple

GB = 1e9

# What the modelled machine moves, in bytes a second: all memory together, WAL
# through to the disk, and one process's writes to the system's cache.
Machine = namedtuple("Machine", "memory wal file")

# How often the bytes of a phase pass through memory, read or written.  Entries
# have 16 bytes; a radix sort moves them once for each byte of the key, a run is
# packed and copied by the system, and pages are formed, logged and copied.
ENTRY = 16
PHASES = ("scan", "sort", "run", "load")


def moved(phase, facts):
    """Bytes that a phase moves; facts are those of scale.facts_of()."""
    entries = ENTRY * facts["tuples"]
    return {"scan": facts["table_bytes"] + entries,
            "sort": 2 * 8 * entries,
            "run": 4 * entries,
            "load": 3 * entries + 4 * facts["index_bytes"] + 2 * facts["wal_bytes"],
            }[phase]


def phase_limits(phase, facts, machine, n):
    """What a phase could be limited by with n participants, as {name: seconds}.
    The one that takes longest is its limit."""
    work = facts["serial_work_s" if n == 1 else "work_s"]
    found = {phase: work[phase] / n,
             "memory": moved(phase, facts) / machine.memory}
    if phase == "load":
        found["WAL"] = facts["wal_bytes"] / machine.wal
        found["index file"] = facts["index_bytes"] / machine.file
    return found


def parts(facts, machine, n):
    """The parts of a build by n participants, as {name: seconds}: for each phase
    what limits it, and what is not divided."""
    found = {}
    for phase in PHASES:
        limits = phase_limits(phase, facts, machine, n)
        worst = max(limits, key=limits.get)
        found[worst] = found.get(worst, 0) + limits[worst]
    for name, seconds in facts["alone_s"][n].items():
        found[name] = found.get(name, 0) + seconds
    return found


def speedup(facts, machine, n):
    """How many times faster than one participant."""
    return (sum(parts(facts, machine, 1).values())
            / sum(parts(facts, machine, n).values()))


def limit(facts, machine, n):
    """The name of what takes most of the time of n participants."""
    found = parts(facts, machine, n)
    return max(found, key=found.get)
