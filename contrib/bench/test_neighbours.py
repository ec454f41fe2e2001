"""Tests of make bench-neighbours that need no server: log and report."""

import os
import tempfile
import unittest

import neighbours
import pglog

LOG = """0 1 2500 0 100 250000
1 1 400 0 100 900000
0 2 1000 0 101 0
1 2 90000 0 103 999999
"""


def log_of(words):
    """The transactions of a log file with the given content."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "log.1")
        with open(path, "w") as f:
            f.write(words)
        return pglog.read([path])


class Log(unittest.TestCase):
    def test_read(self):
        self.assertEqual(log_of(LOG), [(100.25, 2.5), (100.9, 0.4), (101.0, 1.0),
                                       (103.999999, 90.0)])

    def test_no_transaction(self):
        for line in ("0 1 failed 0 100 1\n", "0 1 skipped 0 100 1\n", "0 1 2\n"):
            with self.assertRaises(ValueError):
                log_of(LOG + line)

    def test_facts(self):
        found = pglog.facts(log_of(LOG), 100, 104)
        self.assertEqual(found["seconds"], [2, 1, 0, 1])
        self.assertEqual((found["transactions"], found["tps"], found["worst_second"]),
                         (4, 1, 0))
        self.assertEqual((found["p50"], found["p99"], found["longest"]), (1, 90, 90))

    def test_part(self):
        """A period includes a transaction that ends at the period's start, and
        excludes a transaction that ends at the period's end."""
        found = pglog.facts(log_of(LOG), 100.25, 101)
        self.assertEqual((found["transactions"], found["longest"]), (2, 2.5))
        self.assertIsNone(pglog.facts(log_of(LOG), 102, 103))

    def test_percentile(self):
        hundred = list(range(1, 101))
        self.assertEqual([pglog.percentile(hundred, share) for share in
                          (0, 0.5, 0.99, 0.999, 1)], [1, 50, 99, 100, 100])

    def test_share(self):
        events = {"running": 3, "LWLock:BufferMapping": 1}
        self.assertEqual(pglog.share(events, neighbours.MAPPING), 0.25)
        self.assertEqual(pglog.share({}, neighbours.MAPPING), 0)


def stretch(seconds, rate):
    """A stretch of 10 s with `rate` transactions a second.  Each transaction
    takes 2 ms."""
    done = [(100 + i / rate, 2.0) for i in range(10 * rate)]
    return {"seconds": seconds, "whole": pglog.facts(done, 100, 110), "events": {},
            "build": seconds and pglog.facts(done, 102, 102 + seconds)}


class Report(unittest.TestCase):
    def test_rows(self):
        rows = neighbours.rows_of({
            "alone": [stretch(None, 30)],
            "10": {"server": [stretch(6, 10)], "ptsort": [stretch(3, 20)]},
            "2": {"server": [stretch(6, 10)], "ptsort": [stretch(3, 15)]}})
        self.assertEqual([row[0] for row in rows], [
            "no build", "server, 2 participants", "ptsort, 2 participants",
            "ptsort / server", "server, 10 participants", "ptsort, 10 participants",
            "ptsort / server"])
        self.assertEqual({len(row) for row in rows}, {len(neighbours.HEADER)})
        self.assertEqual(rows[3][:4], ["ptsort / server", "0.50", "1.50", "1.00"])
        self.assertEqual(rows[0][7], "-")

    def test_error(self):
        """The report has no line and no ratio for builds without results."""
        rows = neighbours.rows_of({
            "alone": [stretch(None, 30)], "errors": ["too long"],
            "2": {"server": [], "ptsort": [stretch(3, 15)]}})
        self.assertEqual([row[0] for row in rows], ["no build", "ptsort, 2 participants"])


if __name__ == "__main__":
    unittest.main()
