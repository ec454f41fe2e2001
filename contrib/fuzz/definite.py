"""Random queries whose result does not depend on the order of ties, and the
sort keys of random queries (see queries.py)."""

import sorts
import tables

# Types without a hash function; equal values of each type have the same text.
UNHASHABLE = {"bit(13)", "varbit", "money", "tsvector", "tsquery", "ltree",
              "oidvector"}


def canon(column, what=None):
    """An expression whose result is the same for equal values."""
    what = what or column.name
    if column.type in UNHASHABLE:
        return "coalesce(md5(%s::text), '-')" % what
    if column.type == "name":
        # the hash function of name ignores collations
        what += "::text"
    elif column.type == "citext" and column.collation:
        # the hash function of citext ignores collations, too
        return "%s IS NULL" % what
    return "hash_record_extended(ROW(%s), 0)" % what


class Keys:
    """Some keys, and the parts of queries that use them."""

    def __init__(self, rng, table, world, most=4):
        self.rng = rng
        self.table = table
        self.world = world
        count = 1 if rng.random() < 0.4 else rng.randint(2, most)
        self.keys = [self._key() for _ in range(count)]
        self.slow = any(key.slow for key in self.keys)

    def _key(self):
        while True:
            key = sorts.Key(self.rng, self.table, self.world)
            if not any(tables.is_odd(column, key.what)
                       for column in self.table.columns
                       if column.kind is key.kind):
                return key

    def order(self, prefix=None):
        """The ORDER BY list of all keys, or of the first `prefix` keys."""
        return ", ".join(key.what + key.how for key in self.keys[:prefix])

    def whats(self):
        return [key.what for key in self.keys]

    def plain(self):
        """Columns for grouping and joins."""
        columns = [c for c in self.table.columns
                   if c.kind.key and not tables.is_odd(c)]
        count = min(self.rng.choice((1, 1, 2, 3)), len(columns))
        return self.rng.sample(columns, count)


# Each function below returns a query, and True if the query has an order.

def distinct_on(rng, keys):
    """The first row of each group."""
    prefix = rng.randint(1, len(keys.keys))
    what = ", ".join(key.what for key in keys.keys[:prefix])
    return "SELECT DISTINCT ON (%s) id FROM t ORDER BY %s, id" % (
        what, keys.order()), True


def total_order(rng, keys):
    """A total order of all rows."""
    return "SELECT id FROM t ORDER BY %s, id%s" % (
        keys.order(), rng.choice((" DESC", "", " LIMIT 7", " OFFSET 3"))), True


def windows(rng, keys):
    """Window functions, some over the same window."""
    parts = ", ".join(c.name for c in keys.plain()[:2])
    order = keys.order()
    functions = rng.sample((
        "rank() OVER (PARTITION BY %s ORDER BY %s)" % (parts, order),
        "dense_rank() OVER (ORDER BY %s)" % order,
        "row_number() OVER (PARTITION BY %s ORDER BY %s, id)" % (parts, order),
        "lag(id, 2) OVER (ORDER BY %s, id DESC)" % order,
        "sum(id) OVER (ORDER BY %s)" % order,
        "count(*) OVER (PARTITION BY %s)" % parts,
        "first_value(id) OVER (ORDER BY %s, id ROWS 3 PRECEDING)" % order,
        "cume_dist() OVER (ORDER BY %s)" % order), rng.randint(1, 3))
    return "SELECT id, %s FROM t" % ", ".join(functions), False


def groups(rng, keys):
    """GROUP BY with several aggregates, some of which sort their input."""
    by = ", ".join(keys.whats())
    having = rng.choice(("", "", " HAVING count(*) > 1"))
    order = rng.choice((("", False), (" ORDER BY min(id)", True)))
    return ("SELECT count(*), sum(id), min(id)%s FROM t GROUP BY %s%s%s" % (
        rng.choice(("", ", string_agg(id::text, ',' ORDER BY id)",
                    ", count(DISTINCT id % 10)")),
        by, having, order[0]), order[1])


def aggregates(rng, keys):
    """Aggregates of all rows or of groups; the calls contain ORDER BY or
    DISTINCT.  The aggregates may have several orders; for at most one of these
    orders, the planner puts a Sort node below the aggregates."""
    order = keys.order()
    calls = rng.sample((
        "count(DISTINCT %s)" % rng.choice(keys.whats()),
        "array_agg(id ORDER BY %s, id)" % order,
        "string_agg(id::text, ',' ORDER BY %s, id DESC)" % order,
        "json_agg(id ORDER BY %s, id)" % keys.order(1),
        "sum(DISTINCT id %% %d)" % rng.choice((2, 7, 100)),
        "percentile_disc(0.4) WITHIN GROUP (ORDER BY id)"), rng.randint(1, 3))
    calls = [call + " FILTER (WHERE id % 3 > 0)" if rng.random() < 0.2 else call
             for call in calls]
    by = rng.choice(("", "", " GROUP BY id % 5", " GROUP BY " + ", ".join(
        c.name for c in keys.plain())))
    return "SELECT %s FROM t%s" % (", ".join(calls), by), False


def grouping_sets(rng, keys):
    """GROUP BY several sets of columns."""
    by = ", ".join(c.name for c in keys.plain())
    other = keys.plain()[0].name
    return "SELECT count(*), sum(id), max(id) FROM t GROUP BY " + rng.choice((
        "ROLLUP (%s, %s)" % (other, by), "CUBE (%s, %s)" % (by, other),
        "GROUPING SETS ((%s), (%s), ())" % (by, other))), False


def distinct(rng, keys):
    """SELECT DISTINCT.  DISTINCT may return any of several equal values, so the
    query does not return the values themselves."""
    columns = keys.plain()
    names = ", ".join("%s AS d%d" % (c.name, i) for i, c in enumerate(columns))
    return "SELECT %s FROM (SELECT DISTINCT %s FROM t) s" % (
        ", ".join(canon(c, "d%d" % i) for i, c in enumerate(columns)),
        names), False


def merge_join(rng, keys):
    """A join of rows and groups, or of two ranges of rows."""
    columns = keys.plain()[:2]
    kind = rng.choice(("", "LEFT ", "RIGHT ", "FULL "))
    on = " AND ".join("a.%s = b.%s" % (c.name, c.name) for c in columns)
    names = ", ".join(c.name for c in columns)
    if rng.random() < 0.5:
        return ("SELECT a.id, b.n, b.low FROM t a %sJOIN (SELECT %s, count(*) "
                "n, min(id) low FROM t WHERE id %% 3 > 0 GROUP BY %s) b ON %s"
                % (kind, names, names, on)), False
    return ("SELECT a.id, b.id FROM (SELECT * FROM t WHERE id < 120) a %sJOIN "
            "(SELECT * FROM t WHERE id BETWEEN 40 AND 180) b ON %s" % (
                kind, on)), False


def set_operation(rng, keys):
    """UNION, INTERSECT, EXCEPT."""
    columns = keys.plain()[:2]
    names = ", ".join("%s AS d%d" % (c.name, i) for i, c in enumerate(columns))
    sides = ["SELECT %s FROM t WHERE id %% %d < %d" % (
        names, rng.choice((2, 3, 7)), rng.choice((1, 2))) for _ in range(3)]
    text = sides[0]
    for side in sides[1:rng.randint(2, 3)]:
        text = "(%s) %s (%s)" % (text, rng.choice((
            "UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT",
            "EXCEPT ALL")), side)
    return "SELECT %s FROM (%s) s" % (
        ", ".join(canon(c, "d%d" % i) for i, c in enumerate(columns)),
        text), False


def common_table(rng, keys):
    """A sorted CTE that the query reads twice."""
    return ("WITH w AS MATERIALIZED (SELECT id, row_number() OVER () AS r FROM "
            "(SELECT id FROM t ORDER BY %s, id LIMIT %d) s) "
            "SELECT a.id, a.r, b.id FROM w a LEFT JOIN w b ON b.r = a.r + 1 "
            "ORDER BY a.r" % (keys.order(), rng.choice((3, 50, 100000)))), True


def correlated(rng, keys):
    """A subquery that sorts once for each outer row; LIMIT and OFFSET may depend
    on the outer row."""
    parts = rng.choice((2, 5, 20))
    inner = ("SELECT t.id FROM t WHERE t.id %% %d = a.id %% %d "
             "ORDER BY %s, t.id" % (parts, parts, keys.order()))
    return "SELECT a.id, %s FROM t a WHERE a.id < 60" % rng.choice((
        "(%s LIMIT 1)" % inner,
        "(%s OFFSET a.id %% 4 LIMIT 1)" % inner,
        "ARRAY(%s LIMIT a.id %% 6)" % inner,
        "ARRAY(%s)" % inner)), False


def lateral(rng, keys):
    """A LATERAL subquery in FROM, which sorts once for each outer row."""
    order = keys.order()
    return ("SELECT a.id, l.id, l.r FROM t a LEFT JOIN LATERAL (SELECT t.id, "
            "%s AS r FROM t WHERE t.id %% %d = a.id %% 7 ORDER BY %s, t.id "
            "LIMIT a.id %% 4 + 1) l ON true WHERE a.id < 40" % (
                rng.choice(("t.id", "rank() OVER (ORDER BY %s)" % order)),
                rng.choice((7, 11)), order)), False


def stacked(rng, keys):
    """Sorts whose input is another sort."""
    other = Keys(rng, keys.table, keys.world, 2)
    return ("SELECT id FROM (SELECT DISTINCT ON (r) * FROM (SELECT t.*, "
            "rank() OVER (ORDER BY %s) AS r FROM t) s ORDER BY r, id) t "
            "ORDER BY %s, id" % (keys.order(), other.order())), True


def recursive(rng, keys):
    """A query whose sort key runs another query, which sorts as well."""
    inner = ("SELECT id FROM t WHERE id %% %d = $1 %% 5 "
             "ORDER BY %s, id LIMIT 1" % (rng.choice((5, 8)), keys.order()))
    return ("SELECT id FROM t WHERE id < 60 "
            "ORDER BY fz_asked($a$%s$a$, id) %s, %s, id" % (
                inner, rng.choice(("", "DESC", "NULLS FIRST")),
                keys.order())), True


DEFINITE = (distinct_on, total_order, windows, groups, aggregates,
            grouping_sets, distinct, merge_join, set_operation, common_table,
            correlated, lateral, stacked, recursive)
# queries that sort again for each of several rows
QUADRATIC = {correlated, lateral, recursive}


class Definite:
    """A query whose result does not depend on the order of ties."""

    def __init__(self, rng, keys):
        self.kind = rng.choice(DEFINITE)
        self.text, self.ordered = self.kind(rng, keys)
        self.single = rng.random() < 0.6
        if self.single:
            self.text = "SELECT s::text AS line FROM (%s) s" % self.text
