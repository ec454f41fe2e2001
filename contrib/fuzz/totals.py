"""Counters of a run of the fuzzer."""

import collections
import time

from oracle import KEYS, RUNS


class Totals:
    """Counters of builds."""

    def __init__(self):
        self.tables = self.builds = self.rows = self.errors = 0
        self.identical = self.checks = self.refused = self.failures = 0
        self.kinds = collections.Counter()
        self.codes = collections.Counter()
        self.refusals = collections.Counter()
        self.started = time.monotonic()

    def note(self, outcome):
        """Count the properties of a build."""
        for line in outcome.lines_of("building"):
            keys = KEYS.search(line)    # none for GIN
            self.kinds["keys " + (keys.group(1) if keys else "in GIN")] += 1
        for line in outcome.lines_of("built"):
            runs = int(RUNS.search(line).group(1))
            self.kinds["spilled"] += runs > 0
        for participants in outcome.participants:
            self.kinds["parallel"] += participants > 1
        self.kinds["started over"] += sum(
            ": restarting build of" in line for line in outcome.lines)

    def note_error(self, error):
        self.codes[error.code] += 1

    def note_refusal(self, error, sql):
        self.refusals["%s %s: %s" % (error.code, error.text, sql[:60])] += 1

    def kinds_text(self):
        """The kinds and their counts."""
        return ", ".join("%s %d" % item for item in sorted(self.kinds.items()))

    def done(self):
        """The number of comparisons."""
        return self.builds

    def counted(self):
        """What was compared."""
        return "%d builds (%d page by page; %s)" % (
            self.builds, self.identical, self.kinds_text())

    def __str__(self):
        codes = ", ".join("%s %d" % item for item in sorted(self.codes.items()))
        return ("%d tables, %s, %d rows, %d errors (%s) compared, "
                "%d checks by amcheck, %d failures, %.0f s" % (
                    self.tables, self.counted(), self.rows, self.errors, codes,
                    self.checks, self.failures,
                    time.monotonic() - self.started))
