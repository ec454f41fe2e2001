"""A random index, and random settings for its builds."""

import tables

MAX_COLUMNS = 32                # INDEX_MAX_KEYS

KINDS = ("create",) * 6 + ("concurrently", "transaction", "transaction",
                           "reindex", "reindex concurrently", "constraint",
                           "rewrite")


class Index:
    """An index of a table, by default with the name "i"."""

    clusterable = True

    def __init__(self, rng, table, world, snapshot_held, name="i"):
        self.rng = rng
        self.name = name
        self.table = table
        self.world = world
        self.slow = False           # slow with many rows
        self.own_equality = False   # "=" may contradict the order
        self.kind = self._choose_kind(snapshot_held)
        self.unique = (rng.random() < (0.4 if snapshot_held else 0.25)
                       or self.kind == "constraint")
        self.constraint = "UNIQUE"
        if self.kind == "constraint":
            self.constraint = rng.choice(
                ("UNIQUE", "UNIQUE", "UNIQUE", "PRIMARY KEY", "EXCLUDE"))
        if self.constraint == "EXCLUDE" and table.n > 3000:
            self.constraint = "UNIQUE"
        self.keys = self._choose_keys()
        self.include = self._choose_include()
        if self.kind != "constraint" and rng.random() < 0.25:
            self._widen()
        self.nulls = rng.choice(("", " NULLS NOT DISTINCT"))
        self.options = self._choose_options()
        self.predicate = self._choose_predicate()
        self.deferrable = rng.choice(("", "", " DEFERRABLE INITIALLY DEFERRED"))

    def _choose_kind(self, snapshot_held):
        """A random way to build the index.  It is not CONCURRENTLY if a session
        holds an old snapshot, because the build would wait for the snapshot."""
        kind = self.rng.choice(KINDS)
        if "concurrently" in kind and (snapshot_held or self.table.partitioned):
            return "create"
        if kind in ("constraint", "rewrite", "transaction") \
                and self.table.partitioned:
            return "create"
        return kind

    def _column(self, for_key=True):
        columns = [c for c in self.table.columns if c.kind.key or not for_key]
        return self.rng.choice(columns)

    def _key(self):
        """A random key: (expression with collation, options)."""
        rng = self.rng
        column = self._column()
        what = column.name
        how = ""
        plain = self.kind == "constraint"
        if column.kind.expressions and not plain and rng.random() < 0.2:
            template = rng.choice(column.kind.expressions)
            what = template.replace("{c}", column.name)
            self.slow |= "fz_" in what
            return "(%s)" % what, self._order()
        if column.kind.text and not plain and rng.random() < 0.5:
            collation = self.world.collation(rng)
            if collation:
                what += " COLLATE " + collation
        if column.kind.classes and not plain and rng.random() < 0.3:
            operator_class = rng.choice(column.kind.classes)
            how = " " + operator_class
            self.own_equality = True
            self.slow |= operator_class in ("fz_backward_ops", "fz_length_ops",
                                            "fz_digit_ops")
        self.own_equality |= tables.is_odd(column, what)
        self.slow |= column.kind.slow
        return what, how + ("" if plain else self._order())

    def _order(self):
        rng = self.rng
        return rng.choice(("", "", " DESC", " ASC")) + rng.choice(
            ("", "", " NULLS FIRST", " NULLS LAST"))

    def _choose_keys(self):
        rng = self.rng
        roll = rng.random()
        if roll < 0.75:
            count = rng.randint(1, 3)
        elif roll < 0.93:
            count = rng.randint(4, 8)
        else:
            count = rng.randint(9, MAX_COLUMNS)
        keys = [self._key() for _ in range(count)]
        if self.unique and rng.random() < 0.3:
            keys = self._unique_but_nulls() or keys
        if self.kind == "constraint":
            # a constraint may not have a column twice
            keys = list(dict.fromkeys(keys))
        if self.unique and (self.table.partitioned or rng.random() < 0.5):
            place = rng.randrange(len(keys))
            if self.kind != "constraint" or ("id", "") not in keys:
                keys[place] = ("id", "")
        return keys

    def _unique_but_nulls(self):
        """A key without duplicates except nulls."""
        columns = [c for c in self.table.columns
                   if c.kind.key and c.nulls and c.distribution.is_unique]
        if not columns:
            return None
        return [(self.rng.choice(columns).name, "")]

    def _choose_include(self):
        """INCLUDE columns.  A column may occur several times.  The index has at
        most MAX_COLUMNS columns, including the keys."""
        rng = self.rng
        room = MAX_COLUMNS - len(self.keys)
        roll = rng.random()
        if room == 0 or roll < 0.7 or self.constraint == "EXCLUDE":
            return []
        count = rng.randint(1, min(room, 3) if roll < 0.82 else room)
        return [self._column(for_key=False).name for _ in range(count)]

    @property
    def unsafe(self):
        """True if a key has a function that is not parallel safe."""
        return any("fz_unsafe" in what or "fz_guarded" in what
                   for what, how in self.keys)

    def _widen(self):
        """Add columns until the entries reach a random width, between a few
        hundred bytes and more than a third of a page.  Each added column is one
        of the table's two widest columns (not counting columns over 130
        bytes), so that several values are wide."""
        rng = self.rng
        target = rng.randint(300, 2800)
        columns = sorted((c for c in self.table.columns if c.kind.width <= 130),
                         key=lambda c: c.kind.width)[-2:]
        width = 0
        names = []
        while width < target and len(names) < MAX_COLUMNS - 1:
            column = rng.choice(columns)
            width += column.kind.width
            names.append(column)
        room = MAX_COLUMNS - len(names)
        self.keys = self.keys[:max(1, min(room, 3))]
        if rng.random() < 0.5:
            self.include = [column.name for column in names]
        else:
            self.include = []
            self.keys += [(column.name, "") for column in names
                          if column.kind.key]

    def _choose_options(self):
        rng = self.rng
        options = []
        if rng.random() < 0.25:
            options.append("fillfactor = %d" % rng.choice(
                (10, 30, 50, 89, 100)))
        if rng.random() < 0.25:
            options.append("deduplicate_items = %s" % rng.choice(
                ("on", "off", "off")))
        return options

    def _choose_predicate(self):
        rng = self.rng
        if rng.random() > 0.15 or self.kind == "constraint":
            return ""
        column = self.rng.choice(self.table.columns).name
        return rng.choice((
            "%s IS NOT NULL" % column,
            "%s IS NULL" % column,
            "id %% %d = 0" % rng.choice((2, 10, 1000)),
            "id > 0 AND %s IS NOT NULL" % column,
            "id < 0",
            "fz_nested_call(id) = 1" if self.table.n < 10000 else "id <> 3"))

    def statement(self, workers=None):
        """The statement that builds the index.  workers: parallel_workers in
        WITH, or None."""
        options = list(self.options)
        if workers is not None:
            options.insert(0, "parallel_workers = %d" % workers)
        with_ = " WITH (%s)" % ", ".join(options) if options else ""
        include = ""
        if self.include:
            include = " INCLUDE (%s)" % ", ".join(self.include)
        if self.kind == "constraint":
            return self._constraint(include, with_)
        return "CREATE %sINDEX %s%s ON t (%s)%s%s%s%s" % (
            "UNIQUE " if self.unique else "",
            "CONCURRENTLY " if self.kind == "concurrently" else "",
            self.name,
            ", ".join(what + how for what, how in self.keys), include,
            self.nulls if self.unique else "", with_,
            " WHERE " + self.predicate if self.predicate else "")

    def _constraint(self, include, with_):
        """The statement that adds the constraint."""
        columns = ", ".join(what for what, how in self.keys)
        if self.constraint == "EXCLUDE":
            body = "EXCLUDE USING btree (%s)" % ", ".join(
                what + " WITH =" for what, how in self.keys)
        elif self.constraint == "UNIQUE":
            body = "UNIQUE%s (%s)%s" % (self.nulls, columns, include)
        else:
            body = "PRIMARY KEY (%s)%s" % (columns, include)
        return "ALTER TABLE t ADD CONSTRAINT %s %s%s%s" % (
            self.name, body, with_, self.deferrable)

    def drop(self):
        """The statement that drops the index if it exists."""
        if self.kind == "constraint":
            return "ALTER TABLE t DROP CONSTRAINT IF EXISTS " + self.name
        return "DROP INDEX IF EXISTS " + self.name


def quiet_settings():
    """Settings for the server's own build."""
    return {"ptsort.enable": "off", "max_parallel_maintenance_workers": "0",
            "maintenance_work_mem": "'64MB'"}


class Settings:
    """Random settings for a build by ptsort."""

    def __init__(self, rng, n, parallel):
        self.max_workers = rng.choice((1, 2, 2, 3, 4, 4))
        self.workers = rng.randint(1, 4) if parallel else 0
        self.in_statement = rng.random() < 0.5
        self.values = {
            "ptsort.enable": "on",
            "max_parallel_maintenance_workers": self.max_workers,
            "maintenance_work_mem": rng.choice(
                ("'1MB'", "'1MB'", "'2MB'", "'5MB'", "'16MB'", "'64MB'")),
            "ptsort.parallel_workers": self.workers,
        }
        if self.in_statement:
            # the number of workers in the statement overrides this setting
            self.values["ptsort.parallel_workers"] = rng.choice((-1, 0, 1, 2))
        for name, chance, choices in (
                ("ptsort.use_collation_tables", 0.8, ("on", "off")),
                ("ptsort.max_wal_rate", 0.9, (0, "'20MB'", "'1GB'")),
                ("ptsort.max_io_rate", 0.9, (0, "'20MB'", "'1GB'")),
                ("ptsort_test.leader_participates", 0.7, ("on", "off")),
                ("ptsort_test.server_pages", 0.7, ("off", "on")),
                ("ptsort_test.key_class", 0.5, ("auto", "prefix", "compared")),
                ("ptsort_test.learn_tuples", 0.6, (0, -1)),
                ("ptsort_test.slices", 0.4, (0, 1, 2, 7, 40, 500)),
                ("ptsort_test.merge_order", 0.6, (0, 2, 3, 8))):
            value = choices[0] if rng.random() < chance else rng.choice(choices)
            self.values[name] = value
        spill = 0
        if rng.random() < 0.4:
            spill = max(2, n // 400, rng.choice((2, 10, 100, 1000, 5000)))
        self.values["ptsort_test.spill_entries"] = spill

    @property
    def participants(self):
        """The number of participants of a build that may be parallel."""
        launched = min(self.workers, self.max_workers)
        leader = self.values["ptsort_test.leader_participates"] == "on"
        return launched + (1 if leader or launched == 0 else 0)

    @property
    def may_spill(self):
        """True if a build may sort a part of its rows before it reads the rest."""
        return self.values["ptsort_test.spill_entries"] > 0 \
            or self.values["maintenance_work_mem"] != "'64MB'"

    @property
    def for_statement(self):
        """The workers argument of Index.statement()."""
        return self.workers if self.in_statement else None


def set_all(values):
    """The SET statements for a dictionary of settings."""
    return "; ".join("SET %s = %s" % item for item in values.items())
