"""Tests of tracesort with shortened psql messages of real builds."""

import unittest

import tracesort

CPU = "CPU: user: 0.01 s, system: 0.00 s, elapsed: %s s"


def messages(lines):
    """Messages as psql prints them.  A line has a message and its time, after a
    '*' if a worker logged the message."""
    found = []
    for line in lines.strip().splitlines():
        said, elapsed = line.strip().lstrip("*").rsplit(" ", 1)
        found.append("psql:<stdin>:6: LOG:  %s: %s" % (said, CPU % elapsed))
        if line.strip().startswith("*"):
            found.append("CONTEXT:  parallel worker")
    return found


PARALLEL = messages("""
    performsort of worker 0 starting 0.05
    worker 0 switching to external sort with 6 tapes 0.06
    worker 0 starting quicksort of run 1 0.06
    *performsort of worker 1 starting 0.05
    *worker 1 starting quicksort of run 1 0.05
    *worker 1 finished quicksort of run 1 0.13
    *worker 1 finished writing run 1 to tape 1 0.15
    *performsort of worker 1 done 0.15
    *parallel external sort of worker 1 ended, 153 disk blocks used 0.15
    worker 0 finished quicksort of run 1 0.20
    worker 0 finished writing run 1 to tape 1 0.21
    performsort of worker 0 done 0.23
    parallel external sort of worker 0 ended, 230 disk blocks used 0.23
    performsort of worker -1 starting 0.02
    performsort of worker -1 done (except 2-way final merge) 0.03
    parallel external sort of worker -1 ended, 383 disk blocks used 0.09
    """)

SERIAL = messages("""
    performsort of worker -1 starting 0.06
    performsort of worker -1 done 0.34
    internal sort of worker -1 ended, 5755 KB used 0.41
    """)

SERIAL_RUNS = messages("""
    worker -1 switching to external sort with 7 tapes 0.02
    worker -1 starting quicksort of run 1 0.02
    worker -1 finished quicksort of run 1 0.08
    worker -1 finished writing run 1 to tape 1 0.09
    performsort of worker -1 starting 0.22
    worker -1 starting quicksort of run 2 0.22
    worker -1 finished quicksort of run 2 0.28
    worker -1 finished writing run 2 to tape 2 0.30
    performsort of worker -1 done (except 2-way final merge) 0.33
    external sort of worker -1 ended, 382 disk blocks used 0.38
    """)


class TraceSort(unittest.TestCase):
    def test_parallel(self):
        leader, worker = tracesort.phases(PARALLEL)
        self.assertEqual(leader, {
            "role": "leader", "runs": 1, "scan_ms": 50, "sort_ms": 140,
            "run_ms": 40, "wait_ms": 20, "merge_load_ms": 70})
        self.assertEqual(worker, {
            "role": "worker", "runs": 1, "scan_ms": 50, "sort_ms": 80,
            "run_ms": 20, "wait_ms": 0, "merge_load_ms": 0})

    def test_workers_only(self):
        """A leader that did not participate still merges."""
        parts = tracesort.phases([m for m in PARALLEL if "worker 0" not in m])
        self.assertEqual([p["role"] for p in parts], ["worker", "leader"])
        self.assertEqual(parts[1]["merge_load_ms"], 70)

    def test_serial(self):
        self.assertEqual(tracesort.phases(SERIAL), [{
            "role": "leader", "runs": 0, "scan_ms": 60, "sort_ms": 280,
            "run_ms": 0, "wait_ms": 0, "merge_load_ms": 70}])

    def test_serial_runs(self):
        """The time to write runs during the scan does not count as scan
        time."""
        self.assertEqual(tracesort.phases(SERIAL_RUNS), [{
            "role": "leader", "runs": 2, "scan_ms": 150, "sort_ms": 120,
            "run_ms": 60, "wait_ms": 0, "merge_load_ms": 50}])

    def test_nothing(self):
        self.assertEqual(tracesort.phases([]), [])
        self.assertEqual(tracesort.phases(["psql:<stdin>:1: LOG:  other"]), [])


if __name__ == "__main__":
    unittest.main()
