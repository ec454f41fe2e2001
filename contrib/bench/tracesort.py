"""The server's trace_sort lines, as the phases that ptsort_last_build() has.

The clock of each sort starts when the sort begins.  In a parallel build every
participant has a sort of its own, numbered from 0, which ends with one run on
tape; the leader then begins another one, number -1, which waits for them,
merges their runs, and ends when the index is loaded.  A serial build has only
number -1, which does everything.  The lines have a resolution of 10 ms.
"""

import re

ELAPSED = r".* elapsed: (?P<elapsed>[0-9.]+) s"
EVENTS = [(name, re.compile(pattern + ELAPSED)) for name, pattern in (
    ("sort_start", r"worker (?P<n>-?\d+) starting quicksort of run \d+:"),
    ("sort_end", r"worker (?P<n>-?\d+) finished quicksort of run \d+:"),
    ("run_end", r"worker (?P<n>-?\d+) finished writing run \d+ to tape \d+:"),
    ("perform", r"performsort of worker (?P<n>-?\d+) starting:"),
    ("performed", r"performsort of worker (?P<n>-?\d+) done"),
    ("ended", r"sort of worker (?P<n>-?\d+) ended,"),
)]


def events(messages):
    """What happened, as (number of the sort, what, milliseconds since its
    begin, said by a worker?), from the messages of psql, in which a line
    "CONTEXT:  parallel worker" follows what a worker said."""
    found = []
    for line in messages:
        if "CONTEXT:" in line:
            if found and "parallel worker" in line and found[-1][3] is None:
                found[-1][3] = True
            continue
        if "LOG:" in line and found and found[-1][3] is None:
            found[-1][3] = False
        for name, pattern in EVENTS:
            match = pattern.search(line)
            if match:
                found.append([int(match.group("n")), name,
                              round(float(match.group("elapsed")) * 1000), None])
                break
    return [tuple(e) for e in found]


class Sort:
    """One sort's times, added up event by event."""

    def __init__(self, number):
        self.number = number
        self.by_worker = False
        self.at = {}            # time of the last event of each kind
        self.runs = 0
        self.sort_ms = 0        # from quicksort lines
        self.run_ms = 0         # from lines about writing
        self.busy_ms = 0        # of both, before "perform"

    def add(self, name, ms, by_worker):
        """Take one event."""
        self.by_worker = self.by_worker or bool(by_worker)
        if name == "sort_end":
            self.sort_ms += ms - self.at.get("sort_start", ms)
        elif name == "run_end":
            self.runs += 1
            self.run_ms += ms - self.at.get("sort_end", ms)
        elif name == "perform":
            self.busy_ms = self.sort_ms + self.run_ms
        self.at[name] = ms

    def participant(self):
        """The phases of a participant: a scan until "perform", except for
        runs written meanwhile; after it come the last run and the merge of
        all runs, or, of tuples that fit in memory, just a sort."""
        perform = self.at.get("perform", 0)
        performed = self.at.get("performed", perform)
        ended = self.at.get("ended", performed)
        rest = performed - perform - (self.sort_ms + self.run_ms - self.busy_ms)
        return {
            "role": "worker" if self.by_worker else "leader",
            "runs": self.runs,
            "scan_ms": perform - self.busy_ms,
            "sort_ms": self.sort_ms + (0 if self.runs else rest),
            "run_ms": self.run_ms + (rest if self.runs else 0),
            "merge_load_ms": ended - performed if self.number < 0 else 0,
        }


def phases(messages):
    """The participants of the build that psql's messages tell of: a list of
    dicts with role, runs, scan_ms, sort_ms, run_ms and merge_load_ms, as in
    ptsort_last_build(), and wait_ms, the time from the end of the leader's
    own share to the end of the last participant's.  [] without trace_sort."""
    sorts = {}
    for number, name, ms, by_worker in events(messages):
        sorts.setdefault(number, Sort(number)).add(name, ms, by_worker)
    final = sorts.pop(-1, None)
    if not sorts:
        return [dict(final.participant(), wait_ms=0)] if final else []

    found = [dict(sorts[n].participant(), wait_ms=0) for n in sorted(sorts)]
    if final:
        # Merging starts at "perform", loading ends at "ended".
        wait = final.at.get("perform", 0)
        merge_load = final.at.get("ended", wait) - wait
        for part in found:
            if part["role"] == "leader":
                part["merge_load_ms"] = merge_load
                part["wait_ms"] = wait
                break
        else:
            found.append({"role": "leader", "runs": 0, "scan_ms": 0, "sort_ms": 0,
                          "run_ms": 0, "merge_load_ms": merge_load,
                          "wait_ms": wait})
    return found
