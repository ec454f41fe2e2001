"""Random copies of tables by CLUSTER.  The server and ptsort each copy the
table in a subtransaction.  The test rolls back each subtransaction, so that
both copy the same table.  Then ptsort makes one copy that stays, by CLUSTER or
by VACUUM FULL."""

import re

import indexes
import oracle
import tables
import values
from case import Case
from oracle import Failure
from totals import Totals

START = re.compile(r"ptsort: copying table \"(.+?)\" in the order of "
                   r"(?:index .*|its blocks): (\d+) participants?, "
                   r"(?:.*keys (\w+))?")
END = re.compile(r"ptsort: copied table \"(.+?)\": (\d+) participants?, "
                 r"(\d+) rows, .* written by (.*)")
LEAVING = re.compile(r"ptsort: leaving copy of table \"(.+?)\" to the server: "
                     r"(.*)")
FOUND = re.compile(r"found \d+ removable, \d+ nonremovable row versions")

# Columns that are not keys.  Some make rows about as long as the TOAST
# threshold or a page; others have values stored out of line, or compressed
# values stored inline.
LONG_KINDS = (
    ("at the threshold", "PLAIN", "fz_noise({r}, (1800 + {r} % 250)::int4)"),
    ("nearly a page", "PLAIN",
     "fz_noise({r}, (CASE WHEN {r} % 30 = 7 THEN 7500 + {r} % 400"
     " ELSE {r} % 200 END)::int4)"),
    ("out of line", "EXTERNAL",
     "fz_noise({r}, (CASE WHEN {r} % 9 = 1 THEN 5000 ELSE 30 END)::int4)"),
    ("out of line, compressed", "EXTENDED",
     "CASE WHEN {r} % 9 = 1 THEN repeat(fz_noise({r}, 1500), 5) ELSE 'x' END"),
    ("compressed", "EXTENDED", "repeat(md5(({r})::text), 200)"),
)


class CopiedTable(tables.Table):
    """The table "t" to copy: it may have long rows, and it may be a
    materialized view, a partition, or partitioned."""

    MAX_ROWS = 10000

    def __init__(self, rng, world):
        super().__init__(rng, world)
        self.n = min(self.n, self.MAX_ROWS)
        if rng.random() < 0.4:
            self._add_long_columns()
        self.target = "table"
        if self.partitioned:
            self.target = rng.choice(("all partitions", "partition"))
        elif not self.temporary and rng.random() < 0.1:
            self.target = "materialized view"

    def _add_long_columns(self):
        for name, storage, value in self.rng.sample(
                LONG_KINDS, self.rng.choice((1, 1, 2))):
            kind = values.Kind(name, "text", value, key=False, width=600)
            column = self.new_column(kind)
            self.storage[column.name] = storage
            self.columns.append(column)
        self.n = min(self.n, 2000)

    def create(self):
        yield from super().create()
        for name, storage in self.storage.items():
            yield "ALTER TABLE t ALTER %s SET STORAGE %s" % (name, storage)

    def history(self, session2_open):
        """The history that every table has, and then statements that lock rows
        in several transactions.  Session 3 holds row locks while session 1
        locks or updates rows."""
        yield from super().history(session2_open)
        if self.temporary or self.rng.random() < 0.5:
            return
        for _ in range(self.rng.choice((1, 1, 2))):
            yield 3, ("BEGIN; SELECT count(*) FROM (SELECT FROM fuzz.t WHERE %s"
                      " FOR KEY SHARE) s" % self.where())
            yield 1, self.rng.choice((self.share, self.update))()
            yield 3, self.rng.choice(("COMMIT", "COMMIT", "ROLLBACK"))

    def share(self):
        """Lock rows; session 3 may hold locks on some of them."""
        return "SELECT count(*) FROM (SELECT FROM t WHERE %s FOR %s) s" % (
            self.where(), self.rng.choice(("SHARE", "KEY SHARE",
                                           "NO KEY UPDATE")))

    def become_target(self):
        """Statements that turn "t" into the table to copy."""
        if self.target == "partition":
            return ["ALTER TABLE t RENAME TO parent",
                    "ALTER TABLE t_0 RENAME TO t"]
        if self.target == "materialized view":
            # the view has the source's rows unchanged, so its columns need the
            # storage settings of the source's columns; otherwise the server
            # packs length words that copyscan.c leaves unchanged
            return ["ALTER TABLE t RENAME TO source",
                    "CREATE MATERIALIZED VIEW t AS SELECT * FROM source",
                    *("ALTER MATERIALIZED VIEW t ALTER %s SET STORAGE %s" % column
                      for column in self.storage.items())]
        return []


class CopyIndex(indexes.Index):
    """An index for CLUSTER."""

    def _choose_kind(self, snapshot_held):
        if self.table.target != "table":
            return "create"
        return self.rng.choice(("create",) * 6 + ("constraint",))

    def _choose_predicate(self):
        return ""


class Contents:
    """The contents of the table after a copy."""

    FIELDS = ("versions", "digest", "visible", "links", "multis", "toast",
              "reltuples", "relpages", "relallvisible", "relfrozenxid",
              "relminmxid")

    def __init__(self, session):
        answer = session.quiet("SELECT * FROM fz_copied('t')")
        if answer.error:
            raise Failure("the copy cannot be read: %s" % answer.error)
        self.fields = dict(zip(self.FIELDS, answer.value.split("|")))
        for name in ("versions", "links", "multis", "relpages"):
            self.fields[name] = int(self.fields[name])
        answer = session.quiet("SELECT string_agg(msg, '; ') FROM "
                               "verify_heapam('t', check_toast => true)")
        if answer.error or answer.value:
            raise Failure("verify_heapam: %s" % (answer.error or answer.value))

    def compare(self, servers, slices):
        """All fields must equal those of the server's copy, with two exceptions.
        The number of pages may differ by a few.  relminmxid may differ if the
        copy has multixacts, because each copy makes new multixacts."""
        for name in self.FIELDS:
            ours, expected = self.fields[name], servers.fields[name]
            if name == "relpages":
                if abs(ours - expected) <= expected / 30 + 2 + slices:
                    continue
            elif name == "relminmxid" and self.fields["multis"] > 0:
                continue
            if ours != expected:
                raise Failure("%s: %s, not %s" % (name, ours, expected))


class Copy:
    """One CLUSTER: its messages and its result."""

    def __init__(self, answer):
        self.error = answer.error
        lines = answer.lines
        starts = [START.search(line) for line in lines if START.search(line)]
        # a copy begins again if the blocks are not in the order of the index
        self.starts = [start for start, following in
                       zip(starts, starts[1:] + [None])
                       if not following or start.group(1) != following.group(1)]
        self.ends = [END.search(line) for line in lines if END.search(line)]
        self.left = [LEAVING.search(line) for line in lines
                     if LEAVING.search(line)]
        self.found = [(FOUND.search(m.text).group(0), m.fields.get("DETAIL"))
                      for m in answer.messages if FOUND.search(m.text)]
        self.displaced = 0
        self.contents = None

    def read(self, session, alone):
        """Read the result; alone: true if there is only one table."""
        if self.error:
            return
        self.displaced = displaced(session)
        if alone:
            self.contents = Contents(session)

    @property
    def by_all(self):
        return all(end.group(4) == "all of them" for end in self.ends)

    def check_ours(self, participants):
        """Check that ptsort copied every table that has rows."""
        for left in self.left:
            if left.group(2) != "empty table":
                raise Failure("not copied: " + left.group(0))
        for start in self.starts:
            if int(start.group(2)) != participants:
                raise Failure("%s participants planned, not %d" % (
                    start.group(2), participants))
        if self.error:
            return
        if not self.starts and not self.left:
            raise Failure("ptsort copied nothing")
        if len(self.starts) != len(self.ends):
            raise Failure("%d copies began, %d ended" % (
                len(self.starts), len(self.ends)))

    def check_order(self, linked):
        """Check that rows are in the order of the index.  If the server's
        functions write rows, the rows may be out of order, because these
        functions write linked row versions together; `linked` is the number of
        linked row versions."""
        allowed = 0 if self.by_all else linked
        if self.displaced > allowed:
            raise Failure("%d rows are not in their order, not %d" % (
                self.displaced, allowed))


def displaced(session):
    """Read the index "i" in order.  Returns the number of entries whose row
    precedes the previous entry's row in the table."""
    count = 0
    for row in session.quiet("SELECT * FROM fz_built('i')").rows:
        before = (0, 0)
        for _, tid in oracle.Leaf(session, row).tree.entries():
            count += tid < before
            before = tid
    return count


class CopyTotals(Totals):
    """Counters of copies."""

    def __init__(self):
        super().__init__()
        self.copies = 0

    def note_copy(self, copy, target, slices):
        """Count the properties of a copy."""
        self.copies += len(copy.ends)
        for start, end in zip(copy.starts, copy.ends):
            self.rows += int(end.group(3))
            self.kinds["by " + end.group(4).replace("server's ", "")] += 1
            self.kinds["keys " + (start.group(3) or "none")] += 1
            self.kinds["parallel"] += int(end.group(2)) > 1
            self.kinds["in slices"] += slices > 1
            self.kinds["of " + target] += 1
        self.kinds["of empty"] += len(copy.left)

    def note_contents(self, contents):
        """Count the kinds of rows."""
        for name in ("links", "multis", "toast"):
            self.kinds["with " + name] += contents.fields[name] not in (0, "")

    def done(self):
        return self.copies

    def counted(self):
        return "%d copies (%s)" % (self.copies, self.kinds_text())


class CopyCase(Case):
    """A table, its history, and copies in the order of several indexes."""

    TABLE = CopiedTable

    def _play_in_schema(self):
        table = self._make_table()
        for _ in range(self.rng.choice((1, 2, 3))):
            self._one_index(table)

    def _make_table(self):
        self.locker = None
        try:
            table = super()._make_table()
        finally:
            if self.locker:
                self.locker.close()
        for statement in table.become_target():
            self.must(statement)
        return table

    def _happen(self, session, statement):
        if session != 3:
            super()._happen(session, statement)
            return
        if self.locker is None:
            self.locker = self.world.other_session(self.record)
        self.must(statement, self.locker)

    def _one_index(self, table):
        """Copy the table in the order of an index, use the table, drop the index."""
        index = CopyIndex(self.rng, table, self.world, self._snapshot_held())
        if index.slow and table.n > 3000:
            return
        self._set(indexes.quiet_settings())
        if not self.must(index.statement()).error:
            self._seen()            # from now on the snapshot keeps multixacts, too
            if table.target != "all partitions":
                self._compare_copies(table, index)
            self._copy_for_good(table, index)
            self._use(table)
        self.must(index.drop())

    def _set(self, chosen):
        self.main.run(indexes.set_all(chosen))

    def _compare_copies(self, table, index):
        """The server copies the table, and ptsort copies it with several settings.
        All copies are in one transaction, which may change the table first."""
        self.run("\\set ON_ERROR_ROLLBACK on")
        self.must("BEGIN")
        if self.rng.random() < 0.4:
            self.must(table.transaction())
        turns = [None] + [indexes.Settings(self.rng, table.n, parallel=bool(n))
                          for n in range(self.rng.choice((2, 2, 3)))]
        self.rng.shuffle(turns)
        copies = []
        for settings in turns:
            self.must("SAVEPOINT copy")
            copies.append((settings, self._copy(table, index, settings)))
            self.must("ROLLBACK TO copy")
        servers = [copy for settings, copy in copies if settings is None][0]
        for settings, ours in copies:
            if settings:
                self._compare(servers, ours, settings)
        self.must(self.rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))
        self.run("\\set ON_ERROR_ROLLBACK off")

    def _copy(self, table, index, settings, vacuum=False):
        """Run CLUSTER or VACUUM FULL.  If `settings` is None, the server copies the table,
        otherwise ptsort does."""
        if settings:
            chosen = dict(settings.values)
            chosen["ptsort.parallel_workers"] = settings.workers
            chosen["enable_indexscan"] = self.rng.choice(("on", "off"))
        else:
            # make the server sort: its index scans would drop more old versions
            # than a sort does
            chosen = dict(indexes.quiet_settings(), enable_indexscan="off")
        self._set(chosen)
        linked = int(self.main.quiet("SELECT fz_linked('t')").value)
        before = self._in_order()
        copy = Copy(self.run("VACUUM (FULL, VERBOSE) t" if vacuum else
                             "CLUSTER (VERBOSE) t USING i"))
        copy.read(self.main, table.target != "all partitions")
        if not settings:
            if copy.starts or not all(
                    left.group(2) == "ptsort.enable is off"
                    for left in copy.left):
                raise Failure("ptsort.enable is off, but ptsort copied")
            return copy
        alone = table.temporary or (index.unsafe and not vacuum)
        copy.check_ours(1 if alone else settings.participants)
        if not vacuum:
            copy.check_order(linked)
        elif copy.by_all and not copy.error and before != self._in_order():
            raise Failure("VACUUM FULL changed the order of the rows")
        self.totals.note_copy(copy, table.target, 0 if alone else
                              settings.values["ptsort_test.slices"])
        return copy

    def _in_order(self):
        """A digest of the visible rows, in the order of the table's file."""
        return self.main.quiet("SELECT tableoid, md5(string_agg(t::text, ' ' "
                               "ORDER BY ctid)) FROM t GROUP BY 1 "
                               "ORDER BY 1").rows

    def _compare(self, servers, ours, settings):
        if servers.error or ours.error:
            if not servers.error or not ours.error or \
                    servers.error.code != ours.error.code:
                raise Failure("the server: %s, ptsort: %s" % (
                    servers.error, ours.error))
            self.totals.errors += 1
            self.totals.note_error(ours.error)
            return
        slices = max(20, settings.values["ptsort_test.slices"])
        ours.contents.compare(servers.contents, slices)
        if ours.found != servers.found:
            raise Failure("VERBOSE: %s, not %s" % (ours.found, servers.found))
        self.totals.note_contents(ours.contents)

    def _seen(self):
        """The rows that the main session and the session with the old snapshot see.
        The session with the snapshot must not keep its lock on the table."""
        sql = "SELECT * FROM fz_seen('fuzz.t')"
        seen = [str(self.main.quiet(sql).rows)]
        if self.snapshot:
            self.snapshot.quiet("SAVEPOINT look")
            answer = self.snapshot.quiet(sql)
            seen.append(str(answer.error or answer.rows))
            self.snapshot.quiet("ROLLBACK TO look")
        return seen

    def _copy_for_good(self, table, index):
        """ptsort copies the table outside a transaction block.  All sessions must
        see the same rows before and after the copy."""
        before = self._seen()
        settings = indexes.Settings(self.rng, table.n,
                                    parallel=self.rng.random() < 0.7)
        copy = self._copy(table, index, settings, self.rng.random() < 0.5)
        after = self._seen()
        if not copy.error and before != after:
            raise Failure("seen: %s, not %s" % (after, before))

    def _use(self, table):
        """Change and vacuum the table, and check that the table is sound."""
        if table.target == "materialized view":
            self.must("REFRESH MATERIALIZED VIEW t")
            self._amcheck()
        else:
            super()._use(table)
        self.must("VACUUM (%sDISABLE_PAGE_SKIPPING) t" %
                  self.rng.choice(("", "FREEZE, ")))
        answer = self.run("SELECT * FROM fz_unsound()")
        if answer.error or answer.rows:
            raise Failure("after use: %s" % (answer.error or answer.rows))
        self.totals.checks += 1
