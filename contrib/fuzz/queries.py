"""Random queries whose Sort nodes ptsort replaces (ptsort.sort).  The test
runs each query with ptsort's sorts and with the server's sorts, and compares the
results.

There are two kinds of queries.  In an *ordered* query rows may tie.  The
server computes the rank (by dense_rank()) and the contents of each row once.
Then each execution of the query, with or without LIMIT and OFFSET, must return
rows in the order of their ranks, each row once and unchanged.  A *definite*
query has the same result for every order of ties: it returns sums, counts and
ids, and its last key is id.  ptsort and the server must return the same rows,
in the same order if the query has an order.
"""

import collections
import json
import re

import oracle
import sorts
from case import Case
from definite import QUADRATIC, Definite, Keys
from totals import Totals

SLOW_ROWS = 1500
# Maximum number of rows for queries whose time is quadratic in the number of rows
FEW_ROWS = 400
# A limit that ends no query early.  The test uses this limit for a query if a row
# raised an error when the server sorted the rows.  With a smaller limit, an
# incremental sort over an index may end before it reads that row, with ptsort and
# without ptsort.
ALL_ROWS = 100000

# ptsort's line about a sort, at level DEBUG1.  (With ptsort.log_sort = on, only
# the server's log would have the line.)
SORTED = re.compile(r"ptsort: sorted (\d+) rows by (\d+) keys?, sorts: (\d+), "
                    r"(.+?), (?:Memory|Disk): ")

# Functions for the schema of a case.  fz_loop and fz_pieces read a query's rows
# between subtransactions, some of which abort.  fz_asked returns one value of a
# query.
SETUP = """
CREATE FUNCTION fz_loop(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	i int := 0;
	x int;
BEGIN
	FOR line IN EXECUTE query LOOP
		BEGIN
			x := 1 / (i % 5);
		EXCEPTION WHEN division_by_zero THEN
			i := i + 10;
		END;
		i := i + 1;
		RETURN NEXT line;
	END LOOP;
END $$;
CREATE FUNCTION fz_pieces(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	line text;
	i int := 0;
BEGIN
	BEGIN
		OPEN c NO SCROLL FOR EXECUTE query;
		RAISE SQLSTATE 'FZ001';
	EXCEPTION WHEN SQLSTATE 'FZ001' THEN
		OPEN c NO SCROLL FOR EXECUTE query;
	END;
	LOOP
		BEGIN
			FETCH c INTO line;
			EXIT WHEN NOT FOUND;
			RETURN NEXT line;
			i := i + 1;
			IF i % 7 = 0 THEN
				RAISE SQLSTATE 'FZ001';
			END IF;
		EXCEPTION WHEN SQLSTATE 'FZ001' THEN
			NULL;
		END;
	END LOOP;
	CLOSE c;
END $$;
CREATE FUNCTION fz_asked(query text, x int8) RETURNS text
STABLE LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	EXECUTE query INTO line USING x;
	RETURN line;
END $$;
"""


class Ordered:
    """SELECT ... ORDER BY: ties may come in any order."""

    def __init__(self, keys):
        rng = keys.rng
        self.rng = rng
        self.keys = keys
        names = [c.name for c in keys.table.columns]
        roll = rng.random()
        self.shown = keys.whats() if rng.random() < 0.5 else []
        if roll < 0.3:
            self.shown += ["t"]
        elif roll < 0.7:
            self.shown += [rng.choice(names) for _ in range(rng.randint(1, 5))]
        self.source = rng.choice(("t",) * 3 + ("(SELECT * FROM t OFFSET 0) t",))
        self.where = rng.choice(("",) * 4 + (
            " WHERE id % 3 <> 0", " WHERE id > 5", " WHERE id < 0"))
        # if true, each row is one text: its id and a hash of the row
        self.single = (keys.table.n > 300 or rng.random() < 0.5
                       or any(c.type == '"char"' for c in keys.table.columns))

    def _select(self, tail):
        """The query.  The names of its output columns differ from the names of
        all table columns, because ORDER BY would otherwise refer to the
        output."""
        columns = ", ".join(["id"] + [
            "%s AS x%d" % (what, i) for i, what in enumerate(self.shown)])
        select = "SELECT %s FROM %s%s%s" % (
            columns, self.source, self.where, tail)
        if self.single:
            select = ("SELECT id || '|' || hashtextextended(s::text, 0) AS "
                      "line FROM (%s) s" % select)
        return select

    def test(self, tail=""):
        """The query under test."""
        return self._select(" ORDER BY %s%s" % (self.keys.order(), tail))

    def reference(self):
        """A query for all rows in any order, and a query for the ranks of the rows."""
        return (self._select(""),
                "SELECT id, dense_rank() OVER (ORDER BY %s) FROM %s%s" % (
                    self.keys.order(), self.source, self.where))


class Reference:
    """The expected result of an ordered query."""

    def __init__(self, rows, ranks):
        self.rank = {}
        for line in ranks:
            row, rank = line.split("|")
            self.rank[row] = int(rank)
        self.rest = collections.Counter(rows)
        self.ranks = sorted(self.rank.values())

    def check(self, rows, first=0, limit=None, ties=False):
        """Check the rows that a query returned.  ties: true for WITH TIES."""
        end = len(self.ranks) if limit is None else first + limit
        expected = self.ranks[first:end]
        if ties and expected:
            while end < len(self.ranks) and self.ranks[end] == expected[-1]:
                expected.append(self.ranks[end])
                end += 1
        if len(rows) != len(expected):
            raise oracle.Failure("%d rows, not %d" % (
                len(rows), len(expected)))
        for i, (row, rank) in enumerate(zip(rows, expected)):
            mine = self.rank.get(row.split("|")[0])
            if mine != rank:
                raise oracle.Failure("row %d has rank %s, not %d: %s" % (
                    i, mine, rank, row[:200]))
        wrong = collections.Counter(rows) - self.rest
        if wrong:
            raise oracle.Failure("unexpected row: %s" %
                                 next(iter(wrong))[:200])


# Ways to execute a query.  Each function returns the statements for a query.

def plainly(rng, text):
    return text


def by_cursor(rng, text):
    """Fetch a few rows at a time, some in subtransactions that roll back."""
    kind = rng.choice(("NO SCROLL ", "NO SCROLL ", ""))
    fetches = ["FETCH %s FROM c" % rng.choice((1, 2, 10, 100))
               for _ in range(rng.randint(0, 4))] + ["FETCH ALL FROM c"]
    fetches = ["SAVEPOINT a; %s; ROLLBACK TO a" % fetch
               if rng.random() < 0.3 else fetch for fetch in fetches]
    return "BEGIN; DECLARE c %sCURSOR FOR %s; %s; FETCH 1 FROM c; COMMIT" % (
        kind, text, "; ".join(fetches))


def by_scrolling(rng, text):
    return ("BEGIN; DECLARE c SCROLL CURSOR FOR %s; MOVE %d IN c; "
            "MOVE ABSOLUTE 0 IN c; FETCH ALL FROM c; COMMIT" % (
                text, rng.choice((1, 20, 1000))))


def by_holding(rng, text):
    # COMMIT reads the rest of a holdable cursor, and the server does not allow
    # fz_guarded() to end its subtransaction during COMMIT: a server with
    # assertions crashes
    if "fz_guarded" in text:
        return by_cursor(rng, text)
    return ("BEGIN; DECLARE c %sCURSOR WITH HOLD FOR %s; FETCH %d FROM c; "
            "COMMIT; FETCH ALL FROM c; CLOSE c" % (
                rng.choice(("NO SCROLL ", "SCROLL ", "")), text,
                rng.choice((1, 5, 100))))


def into_table(rng, text):
    return ("CREATE TEMPORARY TABLE r AS %s; SELECT line FROM r ORDER BY ctid; "
            "DROP TABLE r" % text)


def by_loop(rng, text):
    return "SELECT * FROM fz_loop($q$%s$q$)" % text


def by_pieces(rng, text):
    return "SELECT * FROM fz_pieces($q$%s$q$)" % text


ANY_STYLE = (plainly,) * 4 + (by_cursor, by_cursor, by_scrolling, by_holding)
SINGLE_STYLE = ANY_STYLE + (into_table, by_loop, by_pieces)


# Settings

def plan_settings(rng, parallel):
    """Settings of the planner, for the server's sorts and for ptsort's sorts."""
    result = {
        "enable_hashagg": rng.choice(("off", "off", "off", "on")),
        "enable_hashjoin": rng.choice(("off", "off", "off", "on")),
        "enable_nestloop": rng.choice(("off", "on")),
        "enable_material": rng.choice(("off", "on")),
        "enable_memoize": rng.choice(("off", "on")),
        "enable_incremental_sort": rng.choice(("off", "off", "on")),
        "enable_presorted_aggregate": rng.choice(("off", "on", "on", "on")),
        "enable_partitionwise_aggregate": rng.choice(("off", "on")),
        "enable_partitionwise_join": rng.choice(("off", "on")),
        "plan_cache_mode": rng.choice(
            ("auto", "force_generic_plan", "force_custom_plan")),
        "cursor_tuple_fraction": rng.choice((0.01, 1)),
        "jit": "on" if rng.random() < 0.02 else "off",
        "jit_above_cost": 0,
        "parallel_setup_cost": 0,
        "parallel_tuple_cost": 0,
        "min_parallel_table_scan_size": 0,
        "max_parallel_workers_per_gather": 2 if parallel else 0,
        "parallel_leader_participation": rng.choice(("off", "on", "on")),
    }
    return result


def sort_settings(rng, n):
    """Settings of ptsort's sorts."""
    result = sorts.settings(rng, n)
    result["work_mem"] = rng.choice(
        ("1MB",) * 4 + ("4MB",) * 4 + ("64MB",) * 4 + ("64kB",))
    result["ptsort.sort"] = "text" if rng.random() < 0.05 else "on"
    result["ptsort.min_sort_rows"] = 100 if rng.random() < 0.05 else 0
    return result


class QueryTotals(Totals):
    """Counters of queries."""

    def __init__(self):
        super().__init__()
        self.queries = self.taken = self.sorts = 0
        self.types = set()

    def note_query(self, names, answer):
        """Count the properties of a query and of its sorts."""
        self.queries += 1
        for name in names:
            self.kinds[name] += 1
        lines = lines_of(answer)
        if lines:
            self.taken += 1
            self.kinds[names[0] + " by ptsort"] += 1
        for tuples, _, times, method in lines:
            self.rows += int(tuples)
            self.sorts += int(times)
            self.kinds[method] += 1

    def done(self):
        return self.queries

    def counted(self):
        return "%d queries (%d with sorts of ptsort), %d sorts (%s), %d types" % (
            self.queries, self.taken, self.sorts, self.kinds_text(),
            len(self.types))


def lines_of(answer):
    """The fields of ptsort's lines about its sorts."""
    found = map(SORTED.match, answer.lines)
    return [match.groups() for match in found if match]


class QueryCase(Case):
    """A table, its history, and many queries that read the table."""

    MAX_ROWS = 5000

    def _play_in_schema(self):
        self.must(SETUP)
        table = self._make_table()
        if table.partitioned and self.rng.random() < 0.7:
            # with this index, a plan may read t_0 in order, sort the other
            # partitions, and merge all of them
            column = self.rng.choice([c for c in table.columns if c.kind.key])
            self.must("CREATE INDEX ON t_0 (%s)" % column.name)
        if self.rng.random() < 0.7:
            self.must("ANALYZE t")
        self.version = int(self.main.quiet("SHOW server_version_num").value)
        for _ in range(self.rng.choice((10, 20, 40)) if table.n > 1000 else 60):
            self._one_query(table)
        self._nothing_left()

    def _one_query(self, table):
        keys = Keys(self.rng, table, self.world)
        if keys.slow and table.n > SLOW_ROWS:
            return
        definite = self.rng.random() < 0.5
        query = Definite(self.rng, keys) if definite else Ordered(keys)
        text = query.text if definite else query.test()
        # fz_guarded() begins a subtransaction, which a parallel query must
        # not do
        parallel = (not table.temporary and "fz_guarded" not in text
                    and self.rng.random() < 0.15)
        self.plan = plan_settings(self.rng, parallel)
        self.forced = parallel and self.rng.random() < 0.4
        (self._definite if definite else self._ordered)(table, keys, query)

    # executing

    def _set(self, values):
        """Change settings of the session, in one statement."""
        values = dict(values)
        force = "on" if self.forced else "off"
        if self.version >= 160000:
            values["debug_parallel_query"] = force
        else:
            values["force_parallel_mode"] = force
            values.pop("enable_presorted_aggregate")
        self.run("SELECT count(set_config(key, value, false)) FROM "
                 "json_each_text('%s')" % json.dumps(
                     {name: str(value) for name, value in values.items()}))

    def _server_runs(self, text):
        """Run a query; the server sorts, not ptsort."""
        self._set(dict(self.plan, **{"ptsort.sort": "off",
                                     "work_mem": "64MB"}))
        answer = self._checked(text)
        if lines_of(answer):
            raise oracle.Failure("ptsort.sort is off, but: %s after: %s" % (
                lines_of(answer), text))
        return answer

    def _ptsort_runs(self, table, text):
        self._set(dict(self.plan, **sort_settings(self.rng, table.n)))
        return self._checked(text)

    def _checked(self, text):
        answer = self.must(text)
        if answer.error:
            self.run("ROLLBACK; DROP TABLE IF EXISTS r; DEALLOCATE ALL; "
                     "CLOSE ALL")
        return answer

    def _compare_errors(self, server, our, text):
        """Compare the SQLSTATEs.  Returns True if both queries succeeded."""
        codes = [a.error.code if a.error else None for a in (server, our)]
        if codes[0] != codes[1]:
            raise oracle.Failure("the server: %s, ptsort: %s after: %s" % (
                server.error, our.error, text))
        self.totals.errors += codes[0] is not None
        return codes[0] is None

    def _check(self, text, check, *args, **kwargs):
        """Run a check.  If the check fails, the failure names the query."""
        try:
            check(*args, **kwargs)
        except oracle.Failure as failure:
            raise oracle.Failure("%s after: %s" % (failure, text)) from failure

    # kinds of queries

    def _ordered(self, table, keys, query):
        rows, ranks = (self._server_runs(text) for text in query.reference())
        if ranks.error or rows.error:
            # ptsort must raise the server's error, but any row may raise it
            # first
            rows = ranks if ranks.error else rows
            reference = None
        else:
            reference = Reference(rows.rows, ranks.rows)
        for _ in range(self.rng.choice((1, 2, 3, 5))):
            style = self.rng.choice(
                (self._whole,) * 3 + (self._part, self._prepared))
            style(table, query, keys, reference, rows)

    def _note(self, keys, names, answer):
        self.totals.types.update(key.kind.type for key in keys.keys)
        self.totals.note_query(names, answer)

    def _whole(self, table, query, keys, reference, server):
        """Read all rows in a random style (SINGLE_STYLE or ANY_STYLE)."""
        style = self.rng.choice(SINGLE_STYLE if query.single else ANY_STYLE)
        text = style(self.rng, query.test())
        ours = self._ptsort_runs(table, text)
        self._note(keys, ("ordered", style.__name__), ours)
        if self._compare_errors(server, ours, text) and reference:
            self._check(text, reference.check, ours.rows)

    def _part(self, table, query, keys, reference, server):
        """Read a part of the rows: LIMIT, OFFSET, WITH TIES, row locks."""
        rng = self.rng
        limit = rng.choice((1, 2, 10, 100, 1000)) if reference else ALL_ROWS
        offset = rng.choice((0, 0, 1, 20))
        ties = rng.random() < 0.2
        lock = ""
        if query.source == "t" and not ties:
            lock = rng.choice(("", "", " FOR UPDATE", " FOR SHARE"))
        tail = " OFFSET %d FETCH FIRST %d ROWS %s%s" % (
            offset, limit, "WITH TIES" if ties else "ONLY", lock)
        text = query.test(tail)
        ours = self._ptsort_runs(table, text)
        self._note(keys, ("ordered", "ties" if ties else "limit"), ours)
        if self._compare_errors(server, ours, text) and reference:
            self._check(text, reference.check, ours.rows, offset, limit, ties)

    def _prepared(self, table, query, keys, reference, server):
        """Prepare the query, and execute it several times."""
        text = "PREPARE q(int8, int8) AS " + query.test(" LIMIT $1 OFFSET $2")
        if self._checked(text).error:
            return
        for _ in range(self.rng.randint(1, 6)):
            limit = (self.rng.choice((1, 3, 50, ALL_ROWS)) if reference
                     else ALL_ROWS)
            offset = self.rng.choice((0, 0, 5))
            execute = "EXECUTE q(%d, %d)" % (limit, offset)
            ours = self._ptsort_runs(table, execute)
            self._note(keys, ("ordered", "prepared"), ours)
            if not self._compare_errors(server, ours, text):
                return
            if reference:
                self._check(text, reference.check, ours.rows, offset, limit)
        self.must("DEALLOCATE q")

    def _definite(self, table, keys, query):
        if query.kind in QUADRATIC and table.n > FEW_ROWS:
            return
        style = self.rng.choice(SINGLE_STYLE if query.single else ANY_STYLE)
        text = style(self.rng, query.text)
        server = self._server_runs(text)
        ours = self._ptsort_runs(table, text)
        self._note(keys, (query.kind.__name__, style.__name__), ours)
        if self._compare_errors(server, ours, text):
            expected, found = server.rows, ours.rows
            if not query.ordered:
                expected, found = sorted(expected), sorted(found)
            if expected != found:
                self._check(text, differ, expected, found)

    def _nothing_left(self):
        """Check that ptsort left neither files nor memory."""
        left = self.run(
            "SELECT name FROM pg_ls_tmpdir() UNION ALL SELECT name FROM "
            "pg_backend_memory_contexts WHERE name LIKE 'ptsort%'").rows
        if left:
            raise oracle.Failure("left over: %s" % left)


def differ(expected, found):
    """Raise a failure that names the first difference."""
    for i, (a, b) in enumerate(zip(expected, found)):
        if a != b:
            raise oracle.Failure("row %d is %s, not %s" % (
                i, b[:200], a[:200]))
    raise oracle.Failure("%d rows, not %d" % (len(found), len(expected)))
