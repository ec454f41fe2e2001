"""A random table and its random history.

A history is a list of statements whose results an index build must handle: HOT
chains, dead and recently dead rows, rows of aborted subtransactions, frozen
pages, missing attributes, several partitions.
"""

import values


OLD_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"

# Approximate maximum size of a table in bytes
MAX_BYTES = 12 << 20


def choose_size(rng, factor, limit):
    """A random number of rows, usually a few hundred, multiplied by the factor."""
    roll = rng.random()
    if roll < 0.08:
        n = rng.randint(1, 20)
    elif roll < 0.65:
        n = rng.randint(20, 800)
    elif roll < 0.89:
        n = rng.randint(800, 5000)
    elif roll < 0.985:
        n = rng.randint(5000, 20000)
    else:
        n = rng.randint(20000, 200000)
    return min(int(n * factor), limit)


def is_odd(column, what=""):
    """True for citext in a nondeterministic collation.  The operator "=" of citext
    compares bytes and contradicts the order, so the server's result is random."""
    return column.type == "citext" and "fz_" in what + str(column.collation)


class Table:
    """The table "t" of a case."""

    KINDS = ("plain",) * 8 + ("unlogged", "temporary", "temporary", "partitioned")

    def __init__(self, rng, world):
        self.rng = rng
        self.world = world
        self.name = "t"
        self.kind = rng.choice(self.KINDS)
        self.n = choose_size(rng, world.factor, world.max_rows)
        self.next_column = 1
        self.columns = [values.Column(
            rng, "id", values.Kind("id", "int8", values.RANK,
                                   expressions=values.INT), self.n, plain=True)]
        self.columns[0].distribution.name = "ascending"
        for _ in range(self._choose_width()):
            self.columns.append(self.new_column())
        if rng.random() < 0.5:
            self.columns.append(self.new_column(values.broad_kind(rng)))
        width = sum(c.kind.width for c in self.columns)
        self.n = max(1, min(self.n, MAX_BYTES // width))
        if any(c.kind.slow for c in self.columns):
            self.n = min(self.n, 20000)
        self.rows = 0               # number of rows inserted so far
        self.storage = {}           # column names to STORAGE, if set

    def _choose_width(self):
        """The number of columns besides id."""
        roll = self.rng.random()
        if roll < 0.8:
            return self.rng.randint(1, 5)
        if roll < 0.95:
            return self.rng.randint(6, 12)
        return self.rng.randint(20, 45)

    def new_column(self, kind=None):
        """A random column, for the caller to add."""
        name = "c%d" % self.next_column
        self.next_column += 1
        kind = kind or values.column_kind(self.rng, self.world.utf8)
        return values.Column(self.rng, name, kind, self.n,
                             self.world.collation(self.rng))

    @property
    def temporary(self):
        return self.kind == "temporary"

    @property
    def partitioned(self):
        return self.kind == "partitioned"

    def create(self):
        """The statements that create the empty table."""
        rng = self.rng
        columns = ", ".join(c.declaration() for c in self.columns)
        prefix = {"unlogged": "UNLOGGED ", "temporary": "TEMPORARY "}.get(
            self.kind, "")
        options = ""
        if rng.random() < 0.5:
            options = " WITH (fillfactor = %d)" % rng.choice((20, 50, 70, 90))
        if self.partitioned:
            yield "CREATE TABLE t (%s) PARTITION BY HASH (id)" % columns
            parts = rng.randint(1, 3)
            for i in range(parts):
                yield ("CREATE TABLE t_%d PARTITION OF t FOR VALUES WITH "
                       "(MODULUS %d, REMAINDER %d)%s" % (i, parts, i, options))
        else:
            yield "CREATE %sTABLE t (%s)%s" % (prefix, columns, options)
        for column in self.columns:
            if column.kind.width >= 100 and column.kind.text:
                if rng.random() < 0.5 and column.kind.type != "name":
                    storage = rng.choice(("EXTERNAL", "PLAIN", "MAIN"))
                    self.storage.setdefault(column.name, storage)
                    yield "ALTER TABLE t ALTER %s SET STORAGE %s" % (
                        column.name, storage)

    def insert(self, count, conflict=""):
        """INSERT of `count` new rows."""
        first = self.rows + 1
        self.rows += count
        return ("INSERT INTO t (%s) SELECT %s "
                "FROM generate_series(%d::int8, %d) g%s") % (
            ", ".join(c.name for c in self.columns),
            ", ".join(c.value("g") for c in self.columns),
            first, self.rows, conflict)

    def where(self):
        """A condition that is true for a part of the rows."""
        k = self.rng.choice((2, 3, 10, 100))
        return self.rng.choice((
            "id %% %d = 0" % k,
            "id %% %d <> 0" % k,
            "id < %d" % (self.rows // k),
            "id BETWEEN %d AND %d" % (self.rows // 3, self.rows // 2),
            "hashint8extended(id, 5) %% %d = 0" % k))

    def update(self):
        """UPDATE of a part of the rows, to other values or to the old values."""
        others = self.columns[1:] or self.columns
        column = self.rng.choice(others)
        value = column.name
        if self.rng.random() < 0.7:
            value = column.value("(id + %d)" % self.rng.randint(1, 100))
        return "UPDATE t SET %s = %s WHERE %s" % (
            column.name, value, self.where())

    def delete(self):
        return "DELETE FROM t WHERE " + self.where()

    def lock(self):
        return "SELECT count(*) FROM (SELECT FROM t WHERE %s FOR %s) s" % (
            self.where(), self.rng.choice(("SHARE", "UPDATE", "KEY SHARE")))

    def change(self):
        """A random statement that changes or locks rows."""
        return self.rng.choice((self.update, self.update, self.delete,
                                self.lock))()

    def aborted(self, statement):
        """The statement in a subtransaction that aborts."""
        return "SAVEPOINT s; %s; ROLLBACK TO s" % statement

    def transaction(self):
        """Several changes for one transaction, some in subtransactions."""
        parts = []
        for _ in range(self.rng.randint(1, 4)):
            statement = self.change()
            if self.rng.random() < 0.3:
                statement = self.insert(self.rng.randint(1, 1 + self.n // 10))
            if self.rng.random() < 0.4:
                statement = self.aborted(statement)
            elif self.rng.random() < 0.3:
                statement = "SAVEPOINT s2; %s; RELEASE s2" % statement
            parts.append(statement)
        return "; ".join(parts)

    def alter(self):
        """Add a column, or drop a column."""
        if len(self.columns) > 2 and self.rng.random() < 0.4:
            column = self.columns.pop(self.rng.randrange(1, len(self.columns)))
            return "ALTER TABLE t DROP COLUMN %s" % column.name
        column = self.new_column()
        self.columns.append(column)
        default = ""
        if self.rng.random() < 0.7:
            default = " DEFAULT " + column.value(str(self.rng.randint(1, 100)))
        return "ALTER TABLE t ADD COLUMN %s%s" % (column.declaration(), default)

    def freeze(self):
        """Statements that reload the same rows with FREEZE."""
        return ("COPY t TO :'fuzz_file'; BEGIN; TRUNCATE t; "
                "COPY t FROM :'fuzz_file' FREEZE; COMMIT")

    def rewrite(self):
        """A statement that writes a new file of the table; the caller must pass
        the statement to rewritten() after running it."""
        choices = ["VACUUM FULL t",
                   "ALTER TABLE t ADD z float8 DEFAULT (random() * 0); "
                   "ALTER TABLE t DROP z"]
        if self.kind in ("plain", "unlogged"):
            choices.append("ALTER TABLE t SET LOGGED" if self.kind == "unlogged"
                           else "ALTER TABLE t SET UNLOGGED")
        return self.rng.choice(choices)

    def rewritten(self, statement):
        """Record the changes made by a statement that rewrote the table."""
        if statement.endswith("UNLOGGED"):
            self.kind = "unlogged"
        elif statement.endswith("LOGGED"):
            self.kind = "plain"

    def fill(self):
        """Statements that insert the first rows, in one of several ways."""
        rng = self.rng
        parts = rng.choice((1, 1, 2, 3))
        for _ in range(parts):
            statement = self.insert(max(1, self.n // parts))
            if rng.random() < 0.1:
                yield "BEGIN; %s; ROLLBACK" % statement
                statement = self.insert(max(1, self.n // parts))
            if rng.random() < 0.1:
                aborted = self.aborted(self.insert(max(1, self.n // 10)))
                statement = ("BEGIN; %s; SAVEPOINT s3; %s; RELEASE s3; "
                             "COMMIT" % (aborted, statement))
            yield statement

    def history(self, session2_open):
        """The table's history before its first index.  Yields (session,
        statement); session 2 keeps an old snapshot."""
        rng = self.rng
        for statement in self.fill():
            yield 1, statement
        events = rng.choice((0, 0, 1, 2, 4))
        if rng.random() < 0.2:
            # if a statement changes a row after the snapshot, the old version is
            # recently dead during index builds
            yield 2, OLD_SNAPSHOT
            yield 1, self.update()
            events += 1
        for _ in range(events):
            roll = rng.random()
            if roll < 0.05 and not session2_open():
                yield 2, OLD_SNAPSHOT
            elif roll < 0.5:
                yield 1, self.change()
            elif roll < 0.65:
                yield 1, "BEGIN; %s; %s" % (self.transaction(), rng.choice(
                    ("COMMIT", "COMMIT", "ROLLBACK")))
            elif roll < 0.75:
                yield 1, "VACUUM %st" % rng.choice(
                    ("", "(FREEZE) ", "(ANALYZE) "))
            elif roll < 0.87:
                yield 1, self.alter()
            elif roll < 0.92 and not self.partitioned:
                yield 1, self.freeze()
            elif not self.partitioned:
                statement = self.rewrite()
                self.rewritten(statement)
                yield 1, statement
