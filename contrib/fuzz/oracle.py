"""Compare two builds of one index, and check that the server did one of them
and ptsort the other."""

import re

from tree import BadTree, Tree, first_difference

LOG_LINE = re.compile(r"ptsort: (building|built|leaving) index \"(.+?)\"")
PARTICIPANTS = re.compile(r": (\d+) participants?,")
KEYS = re.compile(r", keys (\w+)")
RUNS = re.compile(r"runs: (\d+)")

UNIQUE_VIOLATION = "23505"
ROW_TOO_LARGE = "54000"
DUPLICATE = re.compile(r"^Key \((.*)\)=\((.*)\) is duplicated\.$")
CUT_OFF = re.compile(r"^Key \(.*\)=\((?!.* is duplicated\.$)")


class Failure(Exception):
    """A mistake of ptsort."""


class Leaf:
    """One index, read from its pages."""

    def __init__(self, session, row):
        self.name, blocks, table_blocks, self.state = row.split("|")
        self.table_blocks = int(table_blocks)
        answer = session.quiet(
            "SELECT encode(get_raw_page('%s', b), 'hex') "
            "FROM generate_series(0::int8, %d) b" % (
                self.name, int(blocks) - 1))
        if answer.error:
            raise Failure("%s cannot be read: %s" % (self.name, answer.error))
        try:
            self.tree = Tree(answer.rows)
        except BadTree as error:
            raise Failure("%s is no btree: %s" % (self.name, error)) from error


class Outcome:
    """The outcome of a statement that builds the index "i"."""

    LEAF = Leaf

    def __init__(self, session, answer):
        self.error = answer.error
        self.lines = answer.lines
        self.leaves = []
        if not self.error:
            rows = session.quiet("SELECT * FROM fz_built('i')").rows
            self.leaves = [self.LEAF(session, row) for row in rows]
            if not self.leaves:
                raise Failure("the statement built no index")

    def lines_of(self, verb):
        """ptsort's lines that have the verb `verb` and name an index, except an
        index of a TOAST table."""
        found = []
        for line in self.lines:
            match = LOG_LINE.match(line)
            if match and match.group(1) == verb \
                    and not match.group(2).startswith("pg_toast"):
                found.append(line)
        return found

    @property
    def participants(self):
        """The number of participants of each completed build."""
        return [int(PARTICIPANTS.search(line).group(1))
                for line in self.lines_of("built")]

    @property
    def planned(self):
        return [int(PARTICIPANTS.search(line).group(1))
                for line in self.lines_of("building")]


def check_server_built(outcome):
    """Check that the server, not ptsort, did the build."""
    if outcome.lines_of("building") or outcome.lines_of("built"):
        raise Failure("ptsort.enable is off, but: " + outcome.lines[0])


def check_ptsort_built(outcome, participants):
    """Check that ptsort built every index, unless its table is empty.  If the
    statement failed, check only the builds that ptsort began or left to the
    server."""
    for line in outcome.lines_of("leaving"):
        if not line.endswith("empty table"):
            raise Failure("not built: " + line)
    for planned in outcome.planned:
        if planned != participants:
            raise Failure("%d participants planned, not %d" % (
                planned, participants))
    if outcome.error:
        return
    full = sum(leaf.table_blocks > 0 for leaf in outcome.leaves)
    if len(outcome.participants) != full:
        raise Failure("%d of %d indexes built by ptsort: %s" % (
            len(outcome.participants), full, outcome.lines))
    for built in outcome.participants:
        if built != participants:
            raise Failure("%d participants, not %d" % (built, participants))


def compare_leaves(servers, ours, slices, same_statement, amcheck):
    """Compare the indexes of two successful builds.  Returns the number of
    entries.  slices: the setting ptsort_test.slices of a parallel build; None
    for a serial build."""
    names = [[leaf.name for leaf in them.leaves] for them in (servers, ours)]
    if names[0] != names[1]:
        raise Failure("indexes %s, not %s" % (names[1], names[0]))
    entries = 0
    for server, our in zip(servers.leaves, ours.leaves):
        if same_statement and server.state != our.state:
            raise Failure("%s: in the catalogs %s, not %s" % (
                our.name, our.state, server.state))
        if not compare_trees(our.name, server.tree, our.tree, slices):
            amcheck(our.name)       # checks whether the stored values are right
        entries += our.tree.count()
    return entries


def compare_trees(name, server, our, slices):
    """ptsort's serial build must have the same pages as the server's build.
    ptsort's parallel build must have the same entries as the server's build, on
    about the same number of pages.  Returns False if only amcheck can tell
    whether the entries are right."""
    exact = True
    if slices is not None or our.pages() != server.pages():
        found = our.entries()
        expected = server.entries()
        exact = found == expected
        if not exact and (slices is None
                          or not same_by_others(found, expected)):
            raise Failure("%s: %s" % (name, first_difference(found, expected)))
        if slices is None:
            raise Failure("%s: other pages, %s of %d blocks, not %s of %d" % (
                name, our.shape, our.blocks, server.shape, server.blocks))
        compare_sizes(name, server, our, slices)
    if our.shape[0] != server.shape[0] or our.shape[4] != server.shape[4]:
        raise Failure("%s: metapage %s, not %s" % (
            name, our.shape, server.shape))
    left_over = our.blocks - our.reached
    if left_over > (0 if slices is None else our.blocks / 100 + 4):
        raise Failure("%s: %d of %d blocks in the tree" % (
            name, our.reached, our.blocks))
    return exact


def compare_sizes(name, server, our, slices):
    """The number of leaves may differ from the server's by one percent plus
    four, and by one leaf for each slice.  On each upper level, a third of the
    space may be unused, because a key may take a third of a page; in addition,
    four pages, and one page for each slice, may be empty.  The number of upper
    pages varies: if a leaf begins amid equal keys, the leaf's key in the upper
    page is as long as an entry."""
    found, expected = len(our.leaves), len(server.leaves)
    if abs(found - expected) > expected / 100 + 4 + slices:
        raise Failure("%s: %d leaves, not %d" % (name, found, expected))
    for level in our.levels[:-1]:
        unused = sum(page.free for page in level)
        allowed = level[0].size * (len(level) / 3 + 4 + slices)
        if unused > allowed:
            raise Failure("%s: %d bytes unused in %d pages of level %d" % (
                name, unused, len(level), level[0].level))


def same_by_others(found, expected):
    """True if the entries of the two builds differ only in which row's value
    each posting list stores.  Equal values may be stored in two ways, compressed
    or not.  A posting list has the value of its first row.  Serial and parallel
    builds may begin posting lists at different rows."""
    if [tid for _, tid in found] != [tid for _, tid in expected]:
        return False
    ours = {key for key, _ in found}
    servers = {key for key, _ in expected}
    return all(a == b or a in servers or b in ours
               for (a, _), (b, _) in zip(found, expected))


def words_of(error):
    """The error that a user reads, without numbers, because the errors of the
    two builds may name different rows."""
    return re.sub(r"\d+", "N", "%s %s %s" % (
        error.code, error.text, error.fields.get("HINT", "")))


def compare_errors(session, index, servers, ours, orderly):
    """Compare the errors of two builds, of which at least one failed.  Both must
    fail with the same message.  orderly: true if ptsort's build works in the
    server's order: one process scans all rows, sorts all rows, then loads
    the index."""
    server, our = servers.error, ours.error
    if server is None or our is None:
        raise Failure("the server: %s, ptsort: %s" % (server, our))
    if str(server) == str(our):
        return
    if server.code == our.code == UNIQUE_VIOLATION:
        if server.text == our.text and names_a_duplicate(session, index, our):
            return
    elif not orderly and words_of(server) == words_of(our):
        return
    elif not orderly and server.code != our.code \
            and all(is_about_a_row(error) for error in (server, our)):
        return
    raise Failure("the server: %s, ptsort: %s" % (server, our))


def is_about_a_row(error):
    """True if a row causes the error: the reason is a value, an expression, the
    row's size or a duplicate.  If several rows cause errors, any of the errors
    may come first."""
    return error.code in (UNIQUE_VIOLATION, ROW_TOO_LARGE) \
        or error.code.startswith(("22", "PT"))


def names_a_duplicate(session, index, error):
    """True if the key that the error names has duplicates."""
    detail = error.fields.get("DETAIL", "")
    match = DUPLICATE.match(detail)
    if not match:
        # the detail ends at a line break within the value
        return CUT_OFF.match(detail) is not None
    if index.own_equality:
        return True
    keys = [what for what, how in index.keys]
    # the arguments of one call must have the same collation, but the keys may
    # have different collations
    shown = ", ".join("(CASE WHEN %s IS NOT DISTINCT FROM NULL THEN 'null' "
                      "ELSE format('%%s', %s) END) COLLATE \"C\"" % (key, key)
                      for key in keys)
    answer = session.quiet(
        "SELECT count(*) FROM (SELECT concat_ws(', ', %s) AS said, "
        "count(*) OVER (PARTITION BY %s) AS copies FROM t WHERE %s) s "
        "WHERE copies > 1 AND said = '%s'" % (
            shown, ", ".join(keys), index.predicate or "true",
            match.group(2).replace("'", "''")))
    if answer.error:
        if is_about_a_row(answer.error):
            return True
        raise Failure("cannot look for the duplicate: %s" % answer.error)
    return int(answer.value) > 0
