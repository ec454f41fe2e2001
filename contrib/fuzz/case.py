"""One case: a table, its history, and several indexes, each built by the
server and by ptsort.  The case's own seed determines everything."""

import random

import indexes
import oracle
import tables
from oracle import Failure

# Errors that statements of a history may raise: violated constraints, values
# out of range, rows too large, and errors of fz_picky().
HARMLESS = ("22", "23", "54", "PT0", "25P", "3B0", "55000", "0A0", "42")

# Maximum number of values in an index, rows times columns.  One case with more
# values would take as long as a whole run.
MAX_VALUES = 1000000


class Case:
    """Case number `number` of a seed, in a world (a database)."""

    TABLE = tables.Table
    INDEX = indexes.Index
    OUTCOME = oracle.Outcome
    MAX_ROWS = 1000000000
    SETTINGS = indexes.quiet_settings()     # while the table is made

    def __init__(self, seed, number, worlds, totals):
        self.rng = random.Random("%s:%s" % (seed, number))
        self.world = self.rng.choice(worlds)
        self.number = number
        self.totals = totals
        self.script = []            # (session, statement)
        self.snapshot = None        # the session that holds an old snapshot
        self.main = None

    # sessions

    def record(self, session, sql):
        self.script.append((session, sql))

    def run(self, sql, session=None):
        """Run a statement, which must cause no warning and no internal error."""
        answer = (session or self.main).run(sql)
        for message in answer.messages:
            if message.severity == "WARNING" or message.code.startswith("XX"):
                if not self._expected(message):
                    raise Failure("%s after: %s" % (message, sql))
        return answer

    @staticmethod
    def _expected(message):
        """True for expected warnings."""
        return message.code in ("25P01", "25001") \
            or "concurrent" in message.text and message.severity == "WARNING" \
            and message.code == "0A000"

    def must(self, sql, session=None):
        """Run a statement that the server may refuse only for a harmless reason."""
        answer = self.run(sql, session)
        if answer.error:
            if not answer.error.code.startswith(HARMLESS):
                raise Failure("%s after: %s" % (answer.error, sql))
            self.totals.refused += 1
            self.totals.note_refusal(answer.error, sql)
        return answer

    # the case

    def play(self):
        """Play the whole case."""
        self.main = self.world.session(self.record)
        self.record("main", "-- case %s in %s" % (self.number, self.world.name))
        self.main.quiet("RESET ALL")
        self.main.run("SET statement_timeout = '%ds'; "
                      "SET client_min_messages = debug1" % self.main.timeout)
        self.must("CREATE SCHEMA fuzz; SET search_path = fuzz, public")
        try:
            self._play_in_schema()
        finally:
            if self.snapshot:
                self.snapshot.close()
        self.must("DROP TABLE IF EXISTS t; DROP SCHEMA fuzz CASCADE")

    def _play_in_schema(self):
        table = self._make_table()
        for _ in range(self.rng.choice((1, 2, 3, 4, 6))):
            self._one_index(table)

    def _make_table(self):
        """Create the table and play its history."""
        table = self.TABLE(self.rng, self.world)
        table.n = min(table.n, self.MAX_ROWS)
        self.main.run(indexes.set_all(self.SETTINGS))
        for statement in table.create():
            self.must(statement)
        self.totals.tables += 1
        for session, statement in table.history(self._snapshot_held):
            self._happen(session, statement)
        return table

    def _snapshot_held(self):
        return self.snapshot is not None

    def _happen(self, session, statement):
        """One event of the history."""
        if session == 2:
            self.snapshot = self.world.other_session(self.record)
            self.must(statement, self.snapshot)
        else:
            answer = self.must(statement)
            if answer.error:
                self.run("ROLLBACK")

    def _one_index(self, table):
        """Build an index twice or more, compare the builds, use the table, and
        drop the index."""
        index = self.INDEX(self.rng, table, self.world, self._snapshot_held())
        self.index = index
        if index.slow and table.n > 5000:
            return
        if table.rows * (len(index.keys) + len(index.include)) > MAX_VALUES:
            return
        if index.kind == "transaction":
            self._in_transaction(table, index)
        elif index.kind.startswith("reindex"):
            self._reindex(table, index)
        elif index.kind == "rewrite":
            self._rewrite(table, index)
        else:
            self._create(table, index)
        self._use(table)
        self.must(index.drop())

    def _settings(self, table, number):
        """Settings for ptsort's build number `number`.  Serial and parallel builds
        alternate."""
        return indexes.Settings(self.rng, table.n, parallel=number % 2 == 1)

    def _server_builds(self, statement):
        self.main.run(indexes.set_all(indexes.quiet_settings()))
        outcome = self.OUTCOME(self.main, self.run(statement))
        oracle.check_server_built(outcome)
        return outcome

    def _ptsort_builds(self, table, index, settings, statement):
        """Run the statement, and check that ptsort built the index with the
        expected number of participants."""
        self.main.run(indexes.set_all(settings.values))
        outcome = self.OUTCOME(self.main, self.run(statement))
        serial = table.temporary or index.unsafe
        participants = 1 if serial else settings.participants
        oracle.check_ptsort_built(outcome, participants)
        self.totals.note(outcome)
        outcome.slices = None
        if participants > 1 or not serial and settings.workers > 0:
            outcome.slices = settings.values["ptsort_test.slices"]
        outcome.orderly = outcome.slices is None and not settings.may_spill
        return outcome

    def _compare(self, index, servers, ours, same_statement=True):
        if servers.error or ours.error:
            oracle.compare_errors(self.main, index, servers, ours, ours.orderly)
            self.totals.errors += 1
            self.totals.note_error(ours.error)
        else:
            self.totals.kinds[index.kind] += 1
            self.totals.rows += self._compare_leaves(index, servers, ours,
                                                     same_statement)
            self.totals.builds += len(ours.leaves)
            if ours.slices is None:
                self.totals.identical += len(ours.leaves)

    def _compare_leaves(self, index, servers, ours, same_statement):
        """Compare the indexes of two builds; returns the number of entries."""
        return oracle.compare_leaves(servers, ours, ours.slices, same_statement,
                                     self._amcheck_one)

    def _create(self, table, index):
        """Build the index by CREATE INDEX or ADD CONSTRAINT; drop the index
        before each new build."""
        servers = self._server_builds(index.statement())
        rounds = self.rng.choice((2, 2, 3, 4))
        for number in range(rounds):
            self.must(index.drop())
            settings = self._settings(table, number)
            ours = self._ptsort_builds(
                table, index, settings, index.statement(settings.for_statement))
            self._compare(index, servers, ours)

    def _in_transaction(self, table, index):
        """Call _create() in a transaction that changes the table first.  Every
        statement has a subtransaction of its own."""
        self.run("\\set ON_ERROR_ROLLBACK on")
        self.must("BEGIN")
        rewrite = ""
        if self.rng.random() < 0.3:
            rewrite = table.rewrite().replace("VACUUM FULL t", "TRUNCATE t")
            self.must(rewrite)
            self.must(table.insert(min(table.n, 20000)))
        if self.rng.random() < 0.8:
            self.must(table.transaction())
        self._create(table, index)
        end = self.rng.choice(("COMMIT", "COMMIT", "ROLLBACK"))
        self.must(end)
        if end == "COMMIT":
            table.rewritten(rewrite)
        self.run("\\set ON_ERROR_ROLLBACK off")

    def _reindex(self, table, index):
        """The server runs CREATE INDEX, and ptsort runs REINDEX."""
        servers = self._server_builds(index.statement())
        for number in range(self.rng.choice((2, 2, 3))):
            settings = self._settings(table, number)
            settings.values["ptsort.parallel_workers"] = settings.workers
            if servers.error:
                continue
            ours = self._ptsort_builds(
                table, index, settings, "REINDEX INDEX %s i" % (
                    "CONCURRENTLY" if "concurrently" in index.kind else ""))
            self._compare(index, servers, ours, same_statement=False)

    def _rewrite(self, table, index):
        """ptsort runs a command that rewrites the table and its index.  Then the
        server runs REINDEX."""
        servers = self._server_builds(index.statement())
        settings = self._settings(table, self.rng.randrange(2))
        settings.values["ptsort.parallel_workers"] = settings.workers
        statement = table.rewrite()
        if self.rng.random() < 0.3 and not index.predicate \
                and index.clusterable:
            statement = "CLUSTER t USING i"
        if servers.error:
            return
        table.rewritten(statement)
        ours = self._ptsort_builds(table, index, settings, statement)
        servers = self._server_builds("REINDEX INDEX i")
        self._compare(index, servers, ours, same_statement=False)

    # using the index

    def _amcheck_one(self, name):
        answer = self.run(
            "SELECT bt_index_parent_check('%s', true, true)" % name)
        if answer.error:
            raise Failure("amcheck: %s" % answer.error)
        self._ptsort_check(name)

    def _ptsort_check(self, name):
        # some cases declare an index unique that is not
        answer = self.run(
            "SELECT details FROM ptsort_check('%s', true) "
            "WHERE problems > duplicates" % name)
        if answer.error or answer.rows:
            raise Failure("ptsort_check: %s" % (answer.error or answer.rows))
        self.totals.checks += 1

    def _amcheck(self):
        """Run amcheck on every valid index."""
        for row in self.run("SELECT leaf FROM fz_built('i') "
                            "WHERE state LIKE 't t%'").rows:
            self._amcheck_one(row)

    def _use(self, table):
        """Run amcheck before and after changes of the table."""
        self._amcheck()
        for _ in range(self.rng.randint(1, 3)):
            statement = table.change()
            if self.rng.random() < 0.5:
                statement = table.insert(
                    1 + table.n // 10,
                    self.rng.choice(("", " ON CONFLICT DO NOTHING")))
            self.must(statement)
        if self.rng.random() < 0.5:
            self.must("VACUUM t")
        self._amcheck()
