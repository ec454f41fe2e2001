"""Random statements that build all indexes of a table: ptsort uses one scan for
several indexes.  Then the server runs REINDEX, and the test compares each index of
ptsort with the server's index."""

import re

import indexes
import oracle
from copies import CopiedTable, CopyCase
from oracle import Failure
from totals import Totals

SHARED = re.compile(r"one scan for (\d+) indexes")
TAKEN = re.compile(r"from the scan for \"")
AGAIN = re.compile(r"ptsort: scanning again for index \".+?\": (.*)")
NAME = re.compile(r"index \"(.+?)\"")

TABLESPACE = "SET allow_in_place_tablespaces = on; " \
    "CREATE TABLESPACE fz_space LOCATION ''"


class RebuiltTable(CopiedTable):
    """The table "t".  It is small, because it has many indexes.  For most of
    KINDS, one scan of the table can fill several indexes."""

    KINDS = ("plain",) * 20 + ("unlogged", "unlogged", "temporary", "partitioned")
    MAX_ROWS = 3000


class Member(indexes.Index):
    """One of several indexes; most indexes are plain."""

    def _choose_kind(self, snapshot_held):
        if self.table.target != "table":
            return "create"
        return self.rng.choice(("create",) * 6 + ("constraint",))

    def _choose_predicate(self):
        return "" if self.rng.random() < 0.5 else super()._choose_predicate()

    def _key(self):
        what, how = super()._key()
        while what[0] == "(" and self.rng.random() < 0.6:
            what, how = super()._key()
        return what, how

    @property
    def whole(self):
        """True if the index has an entry for every row."""
        return not self.predicate

    @property
    def plain(self):
        """True if the index has an entry for every row, its keys are columns, and
        it is not an exclusion constraint.  Any other index ends a group of
        indexes that share a scan."""
        return self.whole and self.constraint != "EXCLUDE" \
            and not any(what[0] == "(" for what, _ in self.keys)


class Rebuild:
    """The messages that a statement wrote about the indexes that it built."""

    def __init__(self, answer, in_transaction=False):
        self.error = answer.error
        self.in_transaction = in_transaction
        self.lines = [line for line in answer.lines if "pg_toast" not in line]

    def _matches(self, pattern):
        return [m for m in map(pattern.search, self.lines) if m]

    @property
    def building(self):
        """The index's name and the number of participants, for each build that
        began."""
        return [(NAME.search(line).group(1),
                 int(oracle.PARTICIPANTS.search(line).group(1)))
                for line in self.lines if line.startswith("ptsort: building")]

    @property
    def shared(self):
        """The number of indexes of each shared scan."""
        return [int(m.group(1)) for m in self._matches(SHARED)]

    @property
    def taken(self):
        """The number of builds without a scan of their own."""
        return len(self._matches(TAKEN))

    @property
    def again(self):
        """The reasons why builds could not use the runs of a shared scan."""
        return [m.group(1) for m in self._matches(AGAIN)]

    def check(self, participants, most, expected):
        """Check the messages.  participants: a function that returns the number
        of participants for an index.  most: the maximum number of indexes of
        one scan.  expected: true if indexes must share a scan unless an error
        occurs."""
        for line in self.lines:
            if line.startswith("ptsort: leaving index") \
                    and not line.endswith("empty table"):
                raise Failure("not built: " + line)
        for name, found in self.building:
            if found != participants(name):
                raise Failure("%s: %d participants, not %d" % (
                    name, found, participants(name)))
        if self.again:
            raise Failure("scanned again: %s" % self.again)
        if max(self.shared, default=0) > most:
            raise Failure("one scan for %s indexes, not %d" % (
                self.shared, most))
        if self.taken > sum(self.shared) - len(self.shared):
            raise Failure("%d builds used scans for %s indexes" % (
                self.taken, self.shared))
        if expected and self.building and not self.error and not self.shared:
            raise Failure("no scan was shared: %s" % self.lines)


class Built:
    """The contents of an index, or of each leaf index below it."""

    def __init__(self, session, name):
        self.leaves = [oracle.Leaf(session, row) for row in
                       session.quiet("SELECT * FROM fz_built('%s')" % name).rows]


class RebuildTotals(Totals):
    """Counters of rebuilds."""

    def __init__(self):
        super().__init__()
        self.statements = self.shared = 0

    def note_rebuild(self, verb, rebuild):
        """Count the properties of a statement."""
        self.statements += 1
        self.shared += bool(rebuild.shared)
        self.kinds["shared by " + verb] += bool(rebuild.shared)
        self.kinds["scans for several"] += len(rebuild.shared)
        self.kinds["built from another's scan"] += rebuild.taken
        self.kinds["built"] += len(rebuild.building)
        self.kinds["in a transaction"] += rebuild.in_transaction
        if rebuild.error:
            self.errors += 1
            self.note_error(rebuild.error)
            self.kinds["shared until an error"] += bool(rebuild.shared)

    def done(self):
        return self.shared

    def counted(self):
        return "%d statements, %d with a shared scan (%s)" % (
            self.statements, self.shared, self.kinds_text())


class RebuildCase(CopyCase):
    """A table with a history and many indexes, and statements that rebuild
    these indexes."""

    TABLE = RebuiltTable

    def _play_in_schema(self):
        self.must(TABLESPACE)
        table = self._make_table()
        self.members = {}
        self._create_members(table)
        if table.target != "materialized view":
            for _ in range(self.rng.choice((0, 1, 3))):
                self.must(table.change())
        for _ in range(self.rng.choice((1, 2, 3, 4))):
            self._one_rebuild(table)
        self._use(table)
        for member in self.members.values():
            self.must(member.drop())

    def _choose_member(self, table, name, plain):
        """A random index named `name`.  If `plain` is true, the index is plain."""
        while True:
            index = Member(self.rng, table, self.world, self._snapshot_held(), name)
            if index.plain or not plain:
                return index

    def _create_members(self, table):
        """The server builds the indexes, some in another tablespace."""
        self._set(indexes.quiet_settings())
        plain = self.rng.random() < 0.9
        for letter in "abcdefghijkl"[:self.rng.randint(2, 12)]:
            index = self._choose_member(table, "i" + letter, plain)
            if index.slow and table.n > 1000:
                continue
            if not self.must(index.statement()).error:
                self.members[index.name] = index
                if self.rng.random() < 0.1:
                    self.must("ALTER INDEX %s SET TABLESPACE fz_space"
                              % index.name)
        if self.rng.random() < 0.2:
            self.must("CREATE INDEX other ON t USING %s" % self.rng.choice(
                ("brin (id)", "hash (id)")))

    # choosing a statement

    def _choose_statement(self, table):
        """A statement, its name, and True if the test may roll it back."""
        rng = self.rng
        alone = table.target != "all partitions"
        choices = [("REINDEX TABLE t", "REINDEX", alone)] * 4
        choices += [("REINDEX (TABLESPACE %s) TABLE t" % rng.choice(
            ("fz_space", "pg_default")), "REINDEX", alone)]
        choices += [("VACUUM FULL t", "VACUUM FULL", False)]
        if not table.temporary:
            choices += [("REINDEX SCHEMA fuzz", "REINDEX SCHEMA", False)]
        clusters = [index for index in self.members.values() if index.whole]
        if clusters:
            choices += [("CLUSTER t USING " + rng.choice(clusters).name,
                         "CLUSTER", alone)] * 3
        if table.target == "materialized view":
            choices += [("REFRESH MATERIALIZED VIEW t", "REFRESH", True)] * 5
        if table.target == "table":
            choices += [(self._alter_type(table), "ALTER TYPE", True)] * 3
            choices += [("ALTER TABLE t ADD z float8 DEFAULT (random() * 0); "
                         "ALTER TABLE t DROP z", "ALTER TABLE", True)]
        return rng.choice(choices)

    def _alter_type(self, table):
        """A statement that gives new values, maybe duplicates, to some or all rows."""
        column = self.rng.choice(table.columns[1:] or table.columns)
        value = self.rng.choice((
            column.value("(id + 1)"),
            "CASE WHEN id %% 50 = 1 THEN %s ELSE %s END" % (
                column.value(self.rng.choice(("5", "(id + 1)"))), column.name),
            "CASE WHEN %s THEN %s ELSE %s END" % (
                table.where(), column.name, column.name)))
        return "ALTER TABLE t ALTER %s TYPE %s USING %s" % (
            column.name, column.declaration().split(" ", 1)[1], value)

    def _choose_settings(self, table):
        settings = indexes.Settings(self.rng, table.n,
                                    parallel=self.rng.random() < 0.9)
        settings.in_statement = False
        settings.values.update({
            "ptsort.parallel_workers": settings.workers,
            "ptsort.indexes_per_scan": self.rng.choice((1, 2, 3, 8, 8, 8, 8, 8, 32)),
            "maintenance_work_mem": self.rng.choice(
                ("'1MB'", "'4MB'", "'9MB'", "'20MB'") + ("'64MB'",) * 4),
            "min_parallel_table_scan_size": 0,
            "temp_tablespaces": self.rng.choice(("''", "''", "fz_space")),
        })
        return settings

    def _before(self, table):
        """Changes that the transaction makes before the statement."""
        rng = self.rng
        if table.target == "table" and rng.random() < 0.3:
            self.must("TRUNCATE t")
            self.must(table.insert(table.n))
        if table.target == "materialized view":
            self.must("INSERT INTO source SELECT * FROM source WHERE " +
                      table.where())
        elif rng.random() < 0.6:
            self.must(table.transaction())
        plain = [index.name for index in self.members.values()
                 if index.kind == "create"]
        if plain and rng.random() < 0.4:
            # the catalogs now call the index unique; like a broken unique
            # index, it may have duplicates
            for name in rng.sample(plain, rng.randint(1, min(2, len(plain)))):
                self.must("UPDATE pg_index SET indisunique = true "
                          "WHERE indexrelid = '%s'::regclass" % name)

    def _invalidate(self, table):
        """Mark one index as invalid; a failed CREATE INDEX CONCURRENTLY leaves
        such an index."""
        if self.members and table.target != "all partitions" \
                and self.rng.random() < 0.2:
            self.must("UPDATE pg_index SET indisvalid = false WHERE indexrelid "
                      "= '%s'::regclass" % self.rng.choice(list(self.members)))

    # running a statement

    def _one_rebuild(self, table):
        statement, verb, may_roll_back = self._choose_statement(table)
        if may_roll_back and self.rng.random() < 0.7:
            self._in_transaction(table, statement, verb)
            return
        self._invalidate(table)
        rebuild, settings = self._rebuild(table, statement, verb, False)
        if rebuild.error:
            self._compare_errors(self._server_runs(statement).error,
                                 rebuild.error)
        else:
            self._compare_indexes(table, settings, verb, None)

    def _in_transaction(self, table, statement, verb):
        """The server and then ptsort run the same statement."""
        self.run("\\set ON_ERROR_ROLLBACK on")
        self.must("BEGIN")
        self._before(table)
        self._invalidate(table)
        self.must("SAVEPOINT rebuild")
        servers = self._server_runs(statement)
        states = {} if servers.error else self._states()
        self.must("ROLLBACK TO rebuild")
        rebuild, settings = self._rebuild(table, statement, verb, True)
        if servers.error or rebuild.error:
            self._compare_errors(servers.error, rebuild.error)
        else:
            self._compare_indexes(table, settings, verb, states)
        # not COMMIT: pg_index may be wrong
        self.must("ROLLBACK")
        self.run("\\set ON_ERROR_ROLLBACK off")

    def _server_runs(self, statement):
        # no index scan, because index scans of CLUSTER drop more old versions
        # than sorts do
        self._set(dict(indexes.quiet_settings(), enable_indexscan="off"))
        answer = self.run(statement)
        self._set({"enable_indexscan": "on"})
        return answer

    def _states(self):
        """The state of each index in the catalogs."""
        return {name: self.main.quiet("SELECT leaf, state FROM fz_built('%s')"
                                      % name).rows for name in self.members}

    def _rebuild(self, table, statement, verb, in_transaction):
        """ptsort runs the statement."""
        settings = self._choose_settings(table)
        shareable = int(self.main.quiet("SELECT fz_shareable()").value)
        self._set(settings.values)
        rebuild = Rebuild(self.run(statement), in_transaction)
        self.totals.note_rebuild(verb, rebuild)
        self._nothing_left()
        self._check(table, rebuild, settings, shareable)
        self._set({"temp_tablespaces": "''"})
        return rebuild, settings

    def _participants(self, table, settings, name):
        index = self.members.get(re.sub("^t_[0-9]+_.*", "", name))
        serial = table.temporary or index is not None and index.unsafe
        return 1 if serial else settings.participants

    def _check(self, table, rebuild, settings, shareable):
        """Check that ptsort built the indexes, with the right numbers of
        participants and scans."""
        megabytes = int(settings.values["maintenance_work_mem"].strip("'MB"))
        most = min(settings.values["ptsort.indexes_per_scan"],
                   megabytes // settings.participants)
        parallel = min(settings.workers, settings.max_workers) > 0 \
            and not table.temporary
        if not parallel:
            most = 1

        def participants(name):
            if table.target == "all partitions":
                return settings.participants if (name, settings.participants) \
                    in rebuild.building else 1
            return self._participants(table, settings, name)

        rebuild.check(participants, most, most > 1 and shareable > 1)

    def _nothing_left(self):
        left = self.main.quiet("SELECT * FROM fz_left()")
        if left.error or left.rows:
            raise Failure("left over: %s" % (left.error or left.rows))

    @staticmethod
    def _compare_errors(servers, ours):
        """Check that the server and ptsort refused the statement with the same
        message."""
        if servers is None or ours is None \
                or oracle.words_of(servers) != oracle.words_of(ours):
            raise Failure("the server: %s, ptsort: %s" % (servers, ours))

    def _compare_indexes(self, table, settings, verb, states):
        """Check that the catalogs' data about the indexes equal `states`, the data
        after the server ran the statement (None: no check).  Compare each index
        with the index that the server's REINDEX builds."""
        if states is not None and self._states() != states:
            raise Failure("in the catalogs %s, not %s" % (
                self._states(), states))
        ours = {name: Built(self.main, name) for name in self.members}
        self._amcheck()
        error = self._server_runs("REINDEX TABLE t").error
        unchecked = verb in ("CLUSTER", "VACUUM FULL")
        if error:
            if unchecked and error.code == oracle.UNIQUE_VIOLATION:
                return          # these two do not find duplicates
            raise Failure("the server: %s, ptsort: None" % error)
        for name, index in self.members.items():
            slices = None
            if settings.workers > 0 and not table.temporary \
                    and not index.unsafe:
                slices = settings.values["ptsort_test.slices"]
            # CLUSTER and VACUUM FULL do not mark an index as valid
            self.totals.rows += oracle.compare_leaves(
                Built(self.main, name), ours[name], slices, not unchecked,
                self._amcheck_one)

    def _amcheck(self):
        for name in self.members:
            for row in self.run("SELECT leaf FROM fz_built('%s') "
                                "WHERE state LIKE 't t%%'" % name).rows:
                self._amcheck_one(row)
