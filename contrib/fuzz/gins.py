"""Random GIN indexes.  ptsort_check() compares them with their tables."""

import re

import indexes
import oracle
import tables
import values
from case import Case
from oracle import Failure

# Types of btree_gin
SCALARS = re.compile(
    r"(bool|int[248]|oid|\"char\"|float[48]|numeric.*|money|date|time|timetz"
    r"|timestamp|timestamptz|interval|uuid|inet|cidr|macaddr8?|bit.*|varbit"
    r"|bytea|text|varchar.*|char\(.*|name|fz_color|fz_words|fz_small)$")

# Classes of a type, and conditions that an index of the class answers
CLASSES = {
    "jsonb": (("", "{c} ? 'k'"), ("", "{c} @> {v}"),
              ("jsonb_path_ops", "{c} @> {v}")),
    "tsvector": (("", "{c} @@ 'fat & !17'"), ("", "{c} @@ '1:*'")),
    "hstore": (("", "{c} ? '3'"), ("", "{c} @> {v}")),
    "int4[]": (("fz_ints.gin__int_ops", "{c} OPERATOR(fz_ints.&&) {v}"),),
    "text": (("gin_trgm_ops", "{c} LIKE '%ab%'"),
             ("gin_trgm_ops", "{c} ~ '1.2'")),
}
ARRAY = (("", "{c} && {v}"), ("", "{c} @> {v}"), ("", "{c} <@ {v}"),
         ("", "{c} = {v}"))
SCALAR = (("", "{c} = {v}"), ("", "{c} < {v}"))

TRIGRAMS_MOST = 300             # width of texts


def classes_of(column):
    """The choices of (class, condition) for a column."""
    found = list(CLASSES.get(column.type, ()))
    if column.kind.width > TRIGRAMS_MOST and column.type == "text":
        found = []
    if column.type.endswith("[]"):
        found += ARRAY
    elif SCALARS.match(column.type):
        found += SCALAR
    return found


def array_of(rng, kind):
    """The kind of arrays of a kind of values."""
    def element(rank):
        return "(%s)::%s" % (kind.value.replace(values.RANK, rank), kind.type)
    few = element("({r} %% %d)" % rng.choice((3, 20, 300)))
    special = ["'%s'::%s" % (s.strip("'"), kind.type) for s in kind.special
               if "''" not in s.strip("'") and s[0] != "B"]
    often = rng.choice(special) if special else few
    value = ("CASE {r} %% 11 WHEN 0 THEN '{}' WHEN 1 THEN ARRAY[%s, NULL]"
             " WHEN 2 THEN ARRAY[%s, %s, %s] WHEN 3 THEN ARRAY[%s]"
             " ELSE ARRAY[%s, %s, %s] END" % (
                 few, few, few, element("{r}"), often, few,
                 element("({r} / 3)"), element("({r} % 100000 * 7)")))
    return values.Kind("array of " + kind.name, kind.type + "[]", value,
                       ("'{}'", "'{NULL}'"), width=3 * kind.width,
                       text=kind.text, slow=kind.slow)


class GinTable(tables.Table):
    """The table "t", with arrays and other columns for GIN indexes."""

    MAX_ROWS = 20000

    def _choose_width(self):
        return self.rng.randint(2, 6)

    def new_column(self, kind=None):
        column = super().new_column(kind)
        if kind is None and (self.rng.random() < 0.5 or not classes_of(column)):
            kind = column.kind
            if not kind.key or kind.type in ("oidvector", "name") \
                    or kind.type.endswith("[]"):
                kind = self.rng.choice(values.PLAIN_KINDS[:20])
            self.next_column -= 1
            column = super().new_column(array_of(self.rng, kind))
        return column


class GinIndex(indexes.Index):
    """A GIN index of a table."""

    clusterable = False

    def __init__(self, *arguments):
        self.conditions = []
        super().__init__(*arguments)

    def _choose_kind(self, snapshot_held):
        kind = super()._choose_kind(snapshot_held)
        return "create" if kind == "constraint" else kind

    def _key(self):
        rng = self.rng
        column = rng.choice([c for c in self.table.columns if classes_of(c)])
        name, condition = rng.choice(classes_of(column))
        what = column.name
        if column.kind.expressions and rng.random() < 0.15:
            what = "(%s)" % rng.choice(column.kind.expressions).replace(
                "{c}", what)
            self.slow |= "fz_" in what
            return what, ""
        if column.kind.text and rng.random() < 0.4:
            collation = self.world.collation(rng)
            what += " COLLATE " + collation if collation else ""
        self.slow |= column.kind.slow
        value = "(SELECT %s FROM t ORDER BY id, ctid LIMIT 1 OFFSET %d)" % (
            column.name, rng.randint(0, 20))
        self.conditions.append(condition.replace("{c}", what).replace(
            "{v}", value))
        return what, " " + name

    def _choose_keys(self):
        return [self._key() for _ in range(self.rng.choice((1, 1, 1, 2, 3, 6)))]

    def _choose_include(self):
        return []

    def _widen(self):
        pass

    def _choose_options(self):
        return self.rng.choice(([], [], ["fastupdate = off"],
                                ["gin_pending_list_limit = 64"]))

    def statement(self, workers=None):
        options = list(self.options)
        if workers is not None:
            options.insert(0, "parallel_workers = %d" % workers)
        return "CREATE INDEX %s%s ON t USING gin (%s)%s%s" % (
            "CONCURRENTLY " if self.kind == "concurrently" else "", self.name,
            ", ".join(what + how for what, how in self.keys),
            " WITH (%s)" % ", ".join(options) if options else "",
            " WHERE " + self.predicate if self.predicate else "")


class GinLeaf:
    """One index: its numbers of keys and entries."""

    def __init__(self, session, row):
        self.name, blocks, table_blocks, self.state = row.split("|")
        self.blocks = int(blocks)
        self.table_blocks = int(table_blocks)
        answer = session.quiet(
            "SELECT n_entries, tuples, details FROM ptsort_check('%s', true), "
            "gin_metapage_info(get_raw_page('%s', 0))" % (self.name, self.name))
        if answer.error or not answer.value.endswith("|{}"):
            raise Failure("%s: ptsort_check: %s" % (
                self.name, answer.error or answer.value))
        self.keys, self.entries, _ = answer.value.split("|")


class GinOutcome(oracle.Outcome):
    LEAF = GinLeaf


class GinCase(Case):
    """A table with a history, and GIN indexes."""

    TABLE = GinTable
    MAX_ROWS = GinTable.MAX_ROWS
    INDEX = GinIndex
    OUTCOME = GinOutcome

    def _compare_leaves(self, index, servers, ours, same_statement):
        names = [[leaf.name for leaf in them.leaves]
                 for them in (servers, ours)]
        if names[0] != names[1]:
            raise Failure("indexes %s, not %s" % (names[1], names[0]))
        entries = 0
        for server, our in zip(servers.leaves, ours.leaves):
            self._compare_leaf(server, our, ours.slices or 0)
            if same_statement and server.state != our.state:
                raise Failure("%s: in the catalogs %s, not %s" % (
                    our.name, our.state, server.state))
            entries += int(our.entries)
        return entries

    @staticmethod
    def _compare_leaf(server, our, slices):
        found = our.keys, our.entries
        expected = server.keys, server.entries
        if found != expected:
            raise Failure("%s: keys, entries %s, not %s" % (
                our.name, found, expected))
        # the server fills half of a page of keys
        if our.blocks > server.blocks * 1.05 + 10 + 2 * slices:
            raise Failure("%s: %d blocks, not %d" % (
                our.name, our.blocks, server.blocks))

    def _compare(self, index, servers, ours, same_statement=True):
        super()._compare(index, servers, ours, same_statement)
        if not ours.error and not servers.error:
            self._query(index)

    def _query(self, index):
        """The index must answer as sequential scans do."""
        for condition in index.conditions:
            query = "SELECT count(*), sum(id), min(ctid) FROM t " \
                "WHERE " + condition
            if index.predicate:
                query += " AND " + index.predicate
            answers = []
            for setting in ("off", "on"):
                self.main.run("SET enable_seqscan = " + setting)
                answers.append(self.run(query))
            # operators of intarray refuse nulls
            if not answers[1].error and (
                    answers[0].error
                    or answers[0].value != answers[1].value):
                raise Failure("%s: %s, not %s" % (query, *(
                    answer.error or answer.value for answer in answers)))

    def _amcheck_one(self, name):
        self._ptsort_check(name)
