"""Random sorts: the server's tuplesort and ptsort sort the rows of a random
table by random keys, in one process.  ptsort_test_model of contrib/ptsort_test
compares every tuple."""

import indexes
from case import Case
from totals import Totals

# The operators "less" and "greater" of operator classes that are not default.  The
# operators of setup.sql's n-th class begin with n signs "#".
OPERATORS = {
    "text_pattern_ops": ("~<~", "~>~"),
    "varchar_pattern_ops": ("~<~", "~>~"),
    "bpchar_pattern_ops": ("~<~", "~>~"),
    "record_image_ops": ("*<", "*>"),
}
for _number, _name in enumerate(("fz_backward_ops", "fz_length_ops",
                                 "fz_digit_ops", "fz_float_ops",
                                 "fz_text_ops"), 1):
    OPERATORS[_name] = tuple("%s%s#" % ("#" * _number, sign)
                             for sign in "<>")

SLOTS = ("plan", "plan", "plan", "virtual", "heap", "minimal", "scan")


class Key:
    """A sort key: an expression, and its direction, operator and nulls."""

    def __init__(self, rng, table, world):
        column = rng.choice([c for c in table.columns if c.kind.key])
        self.kind = column.kind
        self.what = column.name
        self.how = rng.choice(("", "", " ASC", " DESC"))
        self.plain = True       # the key is just the column
        self.slow = column.kind.slow
        if column.kind.expressions and rng.random() < 0.2:
            template = rng.choice(column.kind.expressions)
            self.what = "(%s)" % template.replace("{c}", column.name)
            self.slow |= "fz_" in self.what
            self.plain = False
        else:
            if column.kind.text and rng.random() < 0.6:
                collation = world.collation(rng)
                if collation:
                    self.what = "(%s COLLATE %s)" % (self.what, collation)
                    self.plain = False
            if column.kind.classes and rng.random() < 0.3:
                name = rng.choice(column.kind.classes)
                self.how = " USING " + rng.choice(OPERATORS[name])
                self.slow |= name.startswith("fz_")
        self.how += rng.choice(("", "", " NULLS FIRST", " NULLS LAST"))


class Query:
    """A query whose Sort node the test runs with one of several kinds of slots."""

    def __init__(self, rng, table, world):
        self.datum = rng.random() < 0.3
        count = 1 if self.datum or rng.random() < 0.4 else rng.randint(2, 5)
        self.keys = [Key(rng, table, world) for _ in range(count)]
        self.slow = any(key.slow for key in self.keys)
        names = [c.name for c in table.columns]
        others = []
        roll = rng.random()
        source = rng.choice(("t", "t", "t", "(SELECT * FROM t OFFSET 0) s"))
        if not self.datum and roll < 0.3:
            others = ["*"]
        elif not self.datum and roll < 0.7:
            others = [rng.choice(names) for _ in range(rng.randint(1, 6))]
        elif not self.datum and roll < 0.8:
            others = [rng.choice(names) for _ in range(rng.randint(7, 30))]
        elif not self.datum and roll < 0.9:
            others = ["ARRAY[id, NULL] || id", "t"[:source == "t"] or "s"]
        self.plain = source == "t" and not table.partitioned and not self.datum \
            and all(key.plain for key in self.keys)
        places = list(range(1, count + 1))
        whats = [key.what for key in self.keys]
        if others and rng.random() < 0.5:
            # the other columns come before the keys in the sorted rows
            order = [key.what + key.how for key in self.keys]
            columns = others
        else:
            order = ["%d%s" % (place, key.how)
                     for place, key in zip(places, self.keys)]
            columns = whats + others
        self.text = "SELECT %s FROM %s ORDER BY %s" % (
            ", ".join(columns), source, ", ".join(order))

    def slots(self, rng):
        """A random kind of slots that the query allows."""
        kind = rng.choice(SLOTS)
        return "plan" if kind == "scan" and not self.plain else kind


def settings(rng, n):
    """Random settings of the session."""
    result = {"work_mem": rng.choice(("'64kB'", "'1MB'", "'64MB'"))}
    for name, chance, choices in (
            ("ptsort.use_collation_tables", 0.8, ("on", "off")),
            ("ptsort_test.key_class", 0.6, ("auto", "prefix", "compared")),
            ("ptsort_test.learn_tuples", 0.4, (-1, 0, 2, 300, 5000)),
            ("ptsort_test.slices", 0.4, (0, 1, 2, 7, 40)),
            ("ptsort_test.merge_order", 0.6, (0, 2, 3, 8))):
        value = choices[0] if rng.random() < chance else rng.choice(choices)
        result[name] = value
    spill = 0
    if rng.random() < 0.5:
        spill = max(2, n // 300, rng.choice((2, 10, 100, 1000, 5000)))
    result["ptsort_test.spill_entries"] = spill
    return result


def arguments(rng, query):
    """Random arguments of ptsort_test_model, except the query."""
    result = {
        "variant": "'datum'" if query.datum else "'tuple'",
        "slots": "'%s'" % query.slots(rng),
        "budget_kb": rng.choice((1024, 1024, 1024, 2048, 5000, 65536)),
        "seed": rng.randrange(1 << 31),
    }
    if rng.random() < 0.4:
        result["stable"] = "true"
    if rng.random() < 0.3:
        result["expected_tuples"] = rng.choice((1, 1000, 100000))
    if rng.random() < 0.5:
        result["participants"] = rng.choice((1, 2, 3, 3, 5, 8))
        result["slices"] = rng.choice(("true", "false"))
        return result
    if rng.random() < 0.6:
        result["random_access"] = "true"
    if rng.random() < 0.4:
        result["bound"] = rng.choice((1, 2, 10, 100, 1000, 10000))
    if rng.random() < 0.4:
        result["rounds"] = rng.choice((2, 3, 10))
    return result


class SortTotals(Totals):
    """Counters of sorts."""

    def __init__(self):
        super().__init__()
        self.sorts = 0
        self.types = set()

    def note_sort(self, query, given, row):
        """Count the properties of a sort."""
        tuples, groups, runs = (int(field) for field in row.split("|")[:3])
        self.sorts += 1
        self.rows += tuples
        self.types.update(key.kind.type for key in query.keys)
        for name, there in (
                ("datums", query.datum), ("ties", groups < tuples),
                ("spilled", runs > 0), ("in memory", runs == 0),
                ("parallel", given.get("participants", 0) > 1),
                ("in slices", given.get("slices") == "true"),
                ("stable", "stable" in given), ("reset", "rounds" in given),
                ("bounded", "bound" in given),
                ("random access", "random_access" in given),
                ("slots " + given["slots"].strip("'"), True)):
            self.kinds[name] += there

    def done(self):
        return self.sorts

    def counted(self):
        return "%d sorts (%s), %d types" % (
            self.sorts, self.kinds_text(), len(self.types))


class SortCase(Case):
    """A table, its history, and several sorts of its rows."""

    MAX_ROWS = 60000
    SETTINGS = dict(
        indexes.quiet_settings(), enable_indexscan="off",
        enable_bitmapscan="off", enable_incremental_sort="off",
        max_parallel_workers_per_gather="0", jit="off")

    def _play_in_schema(self):
        self.must("CREATE EXTENSION IF NOT EXISTS ptsort_test SCHEMA public")
        table = self._make_table()
        for _ in range(self.rng.choice((2, 4, 6))):
            self._one_query(table)

    def _one_query(self, table):
        """Sort by some keys, with several settings and options."""
        query = Query(self.rng, table, self.world)
        if query.slow and table.n > 3000:
            return
        for _ in range(self.rng.choice((1, 2, 3))):
            self.main.run(indexes.set_all(settings(self.rng, table.n)))
            given = arguments(self.rng, query)
            answer = self.must("SELECT * FROM ptsort_test_model($q$%s$q$, %s)" % (
                query.text,
                ", ".join("%s => %s" % item for item in given.items())))
            if not answer.error:
                self.totals.note_sort(query, given, answer.value)
