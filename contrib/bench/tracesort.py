"""Convert the server's trace_sort lines to the phases of ptsort_last_build().

The clock of each sort starts when the sort begins.  In a parallel build every
participant has its own sort.  The server numbers these sorts from 0, and each
one ends with one run on tape.  The leader then begins a sort with number -1.
This sort waits for the participants, merges their runs, and ends when the index
is loaded.  A serial build has only sort -1, which does all the work.  The lines
have a resolution of 10 ms.
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
    """The events in psql's messages, as (number of the sort, event,
    milliseconds since the start of the sort, True if a worker logged it).  In
    the messages, a line "CONTEXT:  parallel worker" follows each message of a
    worker."""
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
    """Adds up the times of one sort, event by event."""

    def __init__(self, number):
        self.number = number
        self.by_worker = False
        self.at = {}            # time of the last event of each kind
        self.runs = 0
        self.sort_ms = 0        # from lines about quicksort
        self.run_ms = 0         # from lines about writing
        self.busy_ms = 0        # sort_ms + run_ms before "perform"

    def add(self, name, ms, by_worker):
        """Add one event."""
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
        """The phases of a participant.  Until the event "perform" the
        participant scans, sorts and writes runs.  After "perform" it writes the
        last run and merges all runs, or only sorts if its tuples fit in
        memory."""
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
    """The participants of a build, according to psql's messages.  Returns a
    list of dicts with role, runs, scan_ms, sort_ms, run_ms and merge_load_ms,
    as in ptsort_last_build().  wait_ms is the time from the end of the leader's
    share to the end of the last participant's share.  The list is empty without
    trace_sort."""
    sorts = {}
    for number, name, ms, by_worker in events(messages):
        sorts.setdefault(number, Sort(number)).add(name, ms, by_worker)
    final = sorts.pop(-1, None)
    if not sorts:
        return [dict(final.participant(), wait_ms=0)] if final else []

    found = [dict(sorts[n].participant(), wait_ms=0) for n in sorted(sorts)]
    if final:
        # Merging starts at "perform"; loading ends at "ended".
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
