"""The tables, keys and uses of sorts for `make bench-sort`, and the floors
(minimum ratios) of its sorts.

The first column of each table is `tag`.  In memory, sortcompare overwrites the
tag with a hash of the row's keys, and reads the tag in the sorted rows.  As in
shapes.py, the values are hashes of the row's number, or text found on this
machine.
"""

import hashlib
from collections import namedtuple

import shapes
from shapes import WORDS, number, pick

# A table: its number of rows at full scale, and either its columns for SELECT
# ... FROM generate_series(1, rows) AS i, or its kind of text in corpus.py.
Table = namedtuple("Table", "name rows columns corpus", defaults=("", None))

# A shape.  columns are the keys; for each key, collations has None, "c",
# "en" or "icu".  way is the use of the sort, from WAYS.  budgets has the names
# of the budgets to measure.  floors has two minimum ratios of the server's
# time to ptsort's, one for sorts in memory and one for sorts on disk.  A
# missing floor is None.  For the way "parallel", a floor is the minimum ratio
# of the time of one process to the time of two.
Shape = namedtuple("Shape", "name label table columns collations way budgets floors")

# The uses of a sort, as arguments of sortcompare()
WAYS = {
    "rows": "",
    "datums": ", kind => 'datum'",
    "top": ", bound => 100",
    "groups": ", group_rows => 10",
    "stable": ", stable => true",
    "access": ", random_access => true",
    "parallel": "",
}

MB = 1 << 20
BUDGETS = {"2GB": 2048 * MB, "64MB": 64 * MB, "4MB": 4 * MB}
IN_MEMORY = "2GB"
LEAST_BUDGET = MB               # PTSORT_MIN_BUDGET

COLLATIONS = dict(shapes.COLLATIONS, c="C")

URL = """'https://www.' || %s || '.example.com/' || %s || '/' || %s || '-' || %s
    || '-' || %s || '/' || %s || '?r=' || %s""" % (
    pick(WORDS, 6), pick(WORDS, 7), pick(WORDS, 8), pick(WORDS, 9),
    pick(WORDS, 10), "lpad(%s::text, 8, '0')" % number(11, 1 << 26),
    "lpad(to_hex(%s), 6, '0')" % number(12, 1 << 24))
AT = "timestamptz '2026-01-01 00:00:00+00' + %s * interval '24 milliseconds'" % (
    number(2, 1 << 30))
AMOUNT = "(%s::numeric / 100)::numeric(12, 2)" % number(3, 1 << 30)

TABLES = {t.name: t for t in (
    # rows of 290 bytes
    Table("wide", 2000000, """
        0::int8 AS tag, i AS id, {rows} - i AS reversed,
        hashint8extended(i, 1) AS account, md5('u' || i)::uuid AS session,
        %s AS at, %s AS amount, %s::int4 AS shop, md5(i::text) AS token,
        lpad(i::text, 16, '0') AS sorted, %s AS url,
        repeat('.', 84) AS filler""" % (AT, AMOUNT, number(4, 1024), URL)),
    # rows of 40 bytes
    Table("narrow", 10000000, """
        0::int8 AS tag, hashint8extended(i, 1) AS account,
        md5('u' || i)::uuid AS session, %s::int4 AS shop""" % number(4, 1024)),
    Table("short", 10000000, """
        0::int8 AS tag, %s AS at, %s AS amount, md5(i::text)::varchar(16) AS token
        """ % (AT, AMOUNT)),
    Table("paths", 1000000, corpus="paths"),
    Table("vocabulary", 1000000, corpus="words"),
    Table("lines", 1000000, corpus="lines"),
    Table("messages", 1000000, corpus="messages"),
    Table("addresses", 1000000, corpus="addresses"),
    Table("logs", 1000000, corpus="logs"),
)}

ALL = tuple(BUDGETS)
NUMBERS = (2.5, 1.8)
NEVER_SLOWER = (1.0, 1.0)

# The keys of the table of wide rows
KEYS = (
    ("int8", "int8", ("account",), (None,), NUMBERS),
    ("uuid", "uuid", ("session",), (None,), NUMBERS),
    ("timestamptz", "timestamptz", ("at",), (None,), NUMBERS),
    ("numeric", "numeric", ("amount",), (None,), NUMBERS),
    ("int4_int8", "(int4, int8)", ("shop", "account"), (None, None), NUMBERS),
    ("text_c", 'text 32, "C"', ("token",), ("c",), NUMBERS),
    ("text_en", "text 32, en_US", ("token",), ("en",), (4.0, 3.0)),
    ("text_en_int8", "(text 32 en_US, int8)", ("token", "account"), ("en", None),
     (4.0, 3.0)),
    ("url_en", "URL 79, en_US", ("url",), ("en",), (8.0, 7.0)),
    ("text_icu", "text 32, en-x-icu", ("token",), ("icu",), (2.0, 1.5)),
)


def real(name, label, table):
    """The shapes of a table of real text.  They have no floors."""
    return [Shape(name + "_" + collation, "%s, %s" % (label, word), table, ("v",),
                  (collation,), "rows", ALL, (None, None))
            for collation, word in (("c", '"C"'), ("en", "en_US"), ("icu", "en-x-icu"))]


SHAPES = {s.name: s for s in (
    *[Shape(name, label, "wide", columns, collations, "rows", ALL, floors)
      for name, label, columns, collations, floors in KEYS],
    Shape("int4_few", "int4 of 1,024 values", "wide", ("shop",), (None,), "rows", ALL,
          (None, None)),
    Shape("stable_int4_few", "int4 of 1,024 values, stable", "wide", ("shop",), (None,),
          "stable", ALL, (None, None)),
    Shape("presorted", "int8, presorted", "wide", ("id",), (None,), "rows", ALL,
          NEVER_SLOWER),
    Shape("reversed", "int8, reversed", "wide", ("reversed",), (None,), "rows", ALL,
          NEVER_SLOWER),
    Shape("presorted_en", "text 16 en_US, presorted", "wide", ("sorted",), ("en",),
          "rows", ALL, NEVER_SLOWER),
    Shape("datum_int8", "values: int8", "wide", ("account",), (None,), "datums", ALL,
          (3.0, 3.0)),
    Shape("datum_en", "values: text 32 en_US", "wide", ("token",), ("en",), "datums",
          ALL, (5.0, 5.0)),
    Shape("top_int8", "top 100: int8", "wide", ("account",), (None,), "top",
          ("64MB", "4MB"), NEVER_SLOWER),
    Shape("top_presorted", "top 100: int8, presorted", "wide", ("id",), (None,), "top",
          ("4MB",), NEVER_SLOWER),
    Shape("top_reversed", "top 100: int8, reversed", "wide", ("reversed",), (None,),
          "top", ("4MB",), NEVER_SLOWER),
    Shape("top_en", "top 100: text 32 en_US", "wide", ("token",), ("en",), "top",
          ("64MB", "4MB"), (1.5, 1.5)),
    Shape("top_url", "top 100: URL 79 en_US", "wide", ("url",), ("en",), "top",
          ("64MB", "4MB"), (1.5, 1.5)),
    Shape("access_int8", "int8, random access", "wide", ("account",), (None,),
          "access", ALL, (None, None)),
    Shape("access_en", "text 32 en_US, random access", "wide", ("token",), ("en",),
          "access", ALL, (None, None)),
    *[Shape("two_" + name, label + ", 2 processes", "wide", columns, collations,
            "parallel", ALL, (1.7, 1.7))
      for name, label, columns, collations, _ in KEYS],
    Shape("narrow_int8", "40 bytes: int8", "narrow", ("account",), (None,), "rows",
          ALL, NUMBERS),
    Shape("narrow_uuid", "40 bytes: uuid", "narrow", ("session",), (None,), "rows",
          ALL, NUMBERS),
    Shape("narrow_int4_int8", "40 bytes: (int4, int8)", "narrow", ("shop", "account"),
          (None, None), "rows", ALL, NUMBERS),
    Shape("groups_int8", "groups of 10: int8", "narrow", ("account",), (None,),
          "groups", ("4MB",), NEVER_SLOWER),
    Shape("groups_int4_int8", "groups of 10: (int4, int8)", "narrow",
          ("shop", "account"), (None, None), "groups", ("4MB",), NEVER_SLOWER),
    Shape("narrow_timestamptz", "40 bytes: timestamptz", "short", ("at",), (None,),
          "rows", ALL, NUMBERS),
    Shape("narrow_numeric", "40 bytes: numeric", "short", ("amount",), (None,), "rows",
          ALL, NUMBERS),
    Shape("narrow_text_c", '40 bytes: text 16, "C"', "short", ("token",), ("c",),
          "rows", ALL, NUMBERS),
    Shape("narrow_text_en", "40 bytes: text 16, en_US", "short", ("token",), ("en",),
          "rows", ALL, (4.0, 3.0)),
    Shape("groups_en", "groups of 10: text 16 en_US", "short", ("token",), ("en",),
          "groups", ("4MB",), NEVER_SLOWER),
    *real("path", "paths of files", "paths"),
    *real("word", "words", "vocabulary"),
    *real("line", "lines of manuals", "lines"),
    *real("message", "messages", "messages"),
    *real("address", "mail addresses", "addresses"),
    *real("log", "lines of logs", "logs"),
)}

GROUPS = {
    "all": tuple(SHAPES),
    "wide": tuple(k[0] for k in KEYS),
    "narrow": tuple(n for n in SHAPES if n.startswith("narrow_")),
    "uses": tuple(n for n, s in SHAPES.items()
                  if s.way not in ("rows", "parallel") or "sorted" in n
                  or n == "reversed"),
    "parallel": tuple(n for n in SHAPES if n.startswith("two_")),
    "real": tuple(s.name for s in SHAPES.values() if TABLES[s.table].corpus),
}

DEFAULT = ("wide", "uses", "two_int8", "two_text_en", "two_url_en", "narrow_int8",
           "narrow_text_en", "path_en", "message_en")


def chosen(words, known, default, groups):
    """The names in a list of names and groups, separated by commas or blanks,
    in the order of `known`; `default` if the list is empty.  Raises ValueError
    with a message for the user."""
    names = set()
    for name in words.replace(",", " ").split() or default:
        names.update(groups.get(name, (name,)))
    unknown = sorted(names - set(known))
    if unknown:
        raise ValueError("unknown %s; there are: %s" % (
            ", ".join(unknown), " ".join([*known, *groups])))
    return [known_name for known_name in known if known_name in names]


def choose(words):
    """The shapes that a list names; the list may also name groups (GROUPS)."""
    default = [name for word in DEFAULT for name in GROUPS.get(word, (word,))]
    return [SHAPES[name] for name in chosen(words, SHAPES, default, GROUPS)]


def choose_budgets(words):
    """The names of the budgets in a list; all if the list is empty."""
    return chosen(words, BUDGETS, ALL, {})


def budget_kb(name, scale):
    """A budget at the given scale, in kB.  Sorts of smaller tables get less
    memory."""
    return max(int(BUDGETS[name] * min(scale, 1)), LEAST_BUDGET) // 1024


def floor(shape, budget):
    """The shape's minimum ratio with the given budget, or None."""
    return shape.floors[0 if budget == IN_MEMORY else 1]


def table_rows(table, scale):
    """A table's number of rows at the given scale; a maximum for real text."""
    return max(1, int(table.rows * scale))


def table_name(table, scale):
    """A table's name, which depends on the table's contents."""
    digest = hashlib.md5((table.columns or table.corpus).encode()).hexdigest()[:6]
    return "sort_%s_%d_%s" % (table.name, table_rows(table, scale), digest)


def load_statements(table, scale):
    """The statements that make a table.  The last statement names the
    table."""
    rows = table_rows(table, scale)
    if table.corpus:
        fill = ["CREATE TABLE loading (tag int8 DEFAULT 0, v text)",
                "COPY loading (v) FROM PROGRAM 'python3 \"%s\" %s %d'"
                % (shapes.CORPUS.replace("'", "''"), table.corpus, rows)]
    else:
        fill = ["CREATE TABLE loading AS SELECT %s\nFROM generate_series(1::int8, %d) AS i"
                % (table.columns.replace("{rows}", str(rows)), rows)]
    return ["DROP TABLE IF EXISTS loading", *fill, "VACUUM (ANALYZE) loading",
            "ALTER TABLE loading RENAME TO %s" % table_name(table, scale)]


def arguments(shape, table, budget, collations, told=True):
    """The arguments of sortcompare(), except the engines.  collations maps "c",
    "en" and "icu" to the server's quoted names of collations.  Raises KeyError
    with the key of a collation that the server lacks.  If told is true,
    sortcompare() tells ptsort the number of rows in advance."""
    names = ["'%s'" % collations[c].replace("'", "''") if c else "'-'"
             for c in shape.collations]
    return ("'%s', '{%s}', collations => ARRAY[%s]::regcollation[], budget_kb => %d%s%s"
            % (table, ",".join(shape.columns), ", ".join(names), budget,
               WAYS[shape.way], "" if told else ", told => false"))
