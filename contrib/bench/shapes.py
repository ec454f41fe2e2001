"""The tables and the shapes of index keys to measure.

Every value is a hash of the row's number, so that a table has the same contents
each time, on every machine and every server version.  The cost of a scan
depends on the width of rows, so a filler column makes all rows about 150 bytes
wide.  Tables of text found on the machine (corpus.py) have neither property.
"""

import hashlib
import os
from collections import namedtuple

# A table.  share is its number of rows, as a share of ROWS.  columns are for
# SELECT ... FROM generate_series(1, rows) AS i; {rows} is the number of rows.
# Instead of columns, corpus can name the kind of text in the table's only
# column; see corpus.py.  With corpus, share is a maximum.
Table = namedtuple("Table", "name share columns corpus", defaults=(None,))

# A shape.  name selects the shape on the command line, label appears in the
# report, and keys are the columns for CREATE INDEX, or "USING gist (columns)".  {en} is the collation
# en_US.UTF-8, and {icu} is en-x-icu.  The benchmark skips a shape if the server
# lacks the shape's collation.  kind is the kind of collation, for real text
# only.
Shape = namedtuple("Shape", "name label table keys kind", defaults=(None,))

COLLATIONS = {
    "en": "en_US.UTF-8", "icu": "en-x-icu",
    **{language: "%s.UTF-8" % locale for language, locale in (
        ("de", "de_DE"), ("fr", "fr_FR"), ("es", "es_ES"), ("cs", "cs_CZ"),
        ("pl", "pl_PL"), ("ru", "ru_RU"), ("zh", "zh_CN"), ("ja", "ja_JP"),
        ("ar", "ar_SA"), ("ko", "ko_KR"))},
    **{language + "_icu": language + "-x-icu"
       for language in ("de", "fr", "es", "cs", "pl", "ru", "zh", "ja", "ar", "ko")}}

FIRST_NAMES = """
    Adaeze Aïcha Alejandro Amélie Anders Anneliese Björn Carmen Charlotte
    Chinonso Christopher Dmitri Edward Eleanor Émile Farida Fatima Ferdinand
    Françoise Gabriela Giovanni Gudrun Guillermo Hannah Hiroshi Ingeborg Isabella
    Jean-Luc João Jürgen Katarzyna Konstantin Lakshmi Lars Liesbeth Lourdes
    Magdalena Małgorzata Margaret Matthias Mehmet Mercedes Michaela Mohammed
    Nadezhda Nicolás Olumide Oskar Patricia Penelope Priscilla Rafael Rosalind
    Sébastien Siobhán Søren Stanislav Stephanie Sven Theodora Valentina Vladimir
    Wilhelmina Zoë""".split()

LAST_NAMES = """
    Abernathy Acosta Adeyemi Åkesson Álvarez Andersson Bartholomew Beauchamp
    Bergström Blackwood Božić Brzezinski Castellanos Chowdhury Christensen
    d'Angelo Dąbrowski de_Vries Delacroix Drăgulescu Eriksen Fairweather
    Fitzgerald Fontaine García Goldschmidt Greenwood Grünwald Gutiérrez
    Hadžić Hernández Hollingsworth Ibrahimović Iwanowska Jankowski Johansson
    Kowalczyk Krishnamurthy Lindqvist MacDonald McAllister Montgomery Müller
    Nakamura O'Brien O'Sullivan Okonkwo Østergaard Papadopoulos Peña
    Petrović Pfeiffer Quackenbush Rasmussen Rodríguez Schönberg Șerban
    Silverstein Thistlethwaite Vandenberg von_Hagen Wójcik Yamaguchi Zimmermann
    """.split()

WORDS = """
    account advice archive article autumn balance bicycle bridge camera canvas
    chapter city coffee copper corner country crystal daily desert distant
    editor engine evening export fabric factory feature festival forest garden
    gallery harbour history holiday hotel island journal kitchen lantern leather
    library market meadow message mineral modern monitor mountain museum network
    notebook orchard package pattern picture platform printer railway reading
    reports science summer travel window""".split()


def pick(words, seed):
    """SQL that chooses one of 64 words by row number."""
    quoted = ", ".join("'%s'" % word.replace("'", "''").replace("_", " ")
                       for word in words)
    return "(ARRAY[%s])[1 + (hashint8extended(i, %d) & 63)]" % (quoted, seed)


def number(seed, limit):
    """SQL that computes an int8 from 0 to limit - 1 from the row number; limit
    is a power of two."""
    return "(hashint8extended(i, %d) & %d)" % (seed, limit - 1)


def fraction(seed):
    """SQL that computes a float8 from 0 to less than 1 from the row number."""
    return "(%s / %d.0::float8)" % (number(seed, 1 << 30), 1 << 30)


def case_of(percent, seed, then, otherwise):
    """SQL that yields "then" in the given percentage of the rows, and
    "otherwise" in the other rows."""
    return "CASE WHEN %s < %s THEN %s ELSE %s END" % (
        fraction(seed), percent / 100.0, then, otherwise)


# Values of the tables of several benchmarks
AT = "timestamptz '2026-01-01 00:00:00+00' + %s * interval '24 milliseconds'" % (
    number(2, 1 << 30))
AMOUNT = "(%s::numeric / 100)::numeric(12, 2)" % number(3, 1 << 30)
URL = """'https://www.' || %s || '.example.com/' || %s || '/' || %s || '-' || %s
    || '-' || %s || '/' || %s || '?r=' || %s""" % (
    pick(WORDS, 6), pick(WORDS, 7), pick(WORDS, 8), pick(WORDS, 9),
    pick(WORDS, 10), "lpad(%s::text, 8, '0')" % number(11, 1 << 26),
    "lpad(to_hex(%s), 6, '0')" % number(12, 1 << 24))

# A kind of real text: the name and label of its shapes, its table and the
# table's maximum share of ROWS, the kind of text in corpus.py, and the text's
# language in COLLATIONS.
Text = namedtuple("Text", "name label table share corpus language")
TEXTS = (
    Text("path", "paths of files", "paths", 0.5, "paths", None),
    Text("find", "paths as find finds them", "found", 0.083, "find", None),
    Text("word", "words", "vocabulary", 0.5, "words", "cs"),
    Text("few", "12,000 words", "few", 0.006, "words", "cs"),
    Text("line", "lines of documentation", "lines", 0.5, "lines", None),
    Text("manual", "lines of manuals", "manuals", 0.15, "manuals", "de"),
    Text("long", "texts of 2 kB", "long", 0.05, "long_texts", None),
    Text("mark", "punctuation", "marks", 0.15, "punctuation", None),
    Text("address", "mail addresses", "addresses", 0.5, "addresses", None),
    Text("web", "URLs", "webs", 0.5, "urls", None),
    Text("number", "version numbers", "numbers", 0.5, "numbers", None),
    Text("log", "lines of logs", "logs", 0.5, "logs", None),
    Text("source", "lines of programs", "source", 0.3, "source", None),
    Text("json", "lines of JSON", "json", 0.15, "json_lines", None),
    Text("sum", "checksums and paths", "sums", 0.5, "checksums", None),
    Text("package", "names of packages", "packages", 0.5, "packages_package", None),
    Text("version", "versions of packages", "versions", 0.5, "packages_version", None),
    Text("person", "maintainers", "persons", 0.5, "packages_maintainer", "cs"),
    Text("description", "descriptions", "descriptions", 0.5,
         "packages_description", "de"),
    Text("depends", "dependences", "depends", 0.5, "packages_depends", None),
    Text("tag", "tags of packages", "tags", 0.5, "packages_tag", None),
    Text("file", "files of packages", "packed", 0.5, "packages_filename", None),
    *(Text("dict_" + language, "dictionary: " + name, "dict_" + language, 0.15,
           "dictionary_" + language, own)
      for language, name, own in (
          ("en", "American", None), ("de", "German", "de"), ("fr", "French", "fr"),
          ("es", "Spanish", "es"), ("pl", "Polish", "pl"), ("cs", "Czech", "cs"))),
    Text("message", "messages", "messages", 0.5, "messages", None),
    *(Text("message_" + language, "messages: " + name, "messages_" + language, 0.5,
           "messages_" + language, language)
      for language, name in (
          ("de", "German"), ("ru", "Russian"), ("zh", "Chinese"), ("ja", "Japanese"),
          ("ar", "Arabic"), ("ko", "Korean"))),
    Text("phrase", "Chinese and Japanese phrases", "phrases", 0.5, "phrases", "zh"),
)

TABLES = {t.name: t for t in (
    Table("plain", 1.0, """
        i AS id,
        hashint8extended(i, 1) AS account,
        md5('u' || i)::uuid AS session,
        %s AS at, %s AS amount, %s::int4 AS shop,
        md5(i::text) AS token,
        repeat('.', 30) AS filler""" % (AT, AMOUNT, number(4, 1024))),
    # The narrowest rows, with only a key, so that a disk holds as many rows as
    # possible
    Table("narrow", 1.0, """
        hashint8extended(i, 1) AS account"""),
    # Rows with long text; the table has ROWS / 2 rows
    Table("words", 0.5, """
        %s || ' ' || %s || ' ' || %s || ' ' || %s || ' ' || %s AS name,
        %s AS url""" % (
            pick(FIRST_NAMES, 1), pick(FIRST_NAMES, 2), pick(LAST_NAMES, 3),
            pick(LAST_NAMES, 4), "lpad(%s::text, 4, '0')" % number(5, 1 << 13), URL)),
    Table("skewed", 1.0, """
        lpad(i::text, 16, '0') AS sorted,
        {rows} - i AS reversed,
        %s AS equal90,
        %s AS sparse,
        exp(%s * ln(1000000))::int4 AS zipf,
        %s::int4 AS a, %s::int4 AS b, %s::int4 AS c, %s::int4 AS d,
        %s::int4 AS e, hashint8extended(i, 9) AS f,
        repeat('.', 32) AS filler""" % (
            case_of(90, 1, "42", "hashint8extended(i, 2)"),
            case_of(80, 3, "NULL", "hashint8extended(i, 2)"),
            fraction(10),
            number(4, 8), number(5, 8), number(6, 8), number(7, 8),
            number(8, 8))),
    Table("prefixed", 1.0, """
        repeat('tenant-0001/', 7) || lpad(to_hex(hashint8extended(i, 1)), 16, '0')
            AS path,
        repeat('.', 20) AS filler"""),
    # Points around 64 centres, which are as dense as cities and as empty as seas
    Table("places", 1.0, """
        i AS id,
        point(%s * 5.6 + %s * %s * 3, %s * 2.8 + %s * %s * 3) AS place,
        repeat('.', 90) AS filler""" % (
            number(1, 64), fraction(2), fraction(3), number(4, 64),
            fraction(5), fraction(6))),
    *(Table(text.table, text.share, "", text.corpus) for text in TEXTS),
)}

def text_shapes(text):
    """The shapes of a kind of real text.  The collations are "C", and those of
    the C library and of ICU for English and for the text's own language."""
    shapes = [("c", '"C"', "C"), ("en", "{en}", "libc"), ("icu", "{icu}", "ICU")]
    if text.language:
        shapes += [("own", "{%s}" % text.language, "libc"),
                   ("own_icu", "{%s_icu}" % text.language, "ICU")]
    return [Shape("%s_%s" % (text.name, suffix), "%s, %s" % (
                      text.label, collation.format_map(COLLATIONS)),
                  text.table, "v COLLATE " + collation, kind)
            for suffix, collation, kind in shapes]


# The program that prints real text
CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus.py")


SHAPES = {s.name: s for s in (
    Shape("int8", "int8, random", "plain", "account"),
    Shape("int8_asc", "int8, ascending", "plain", "id"),
    Shape("uuid", "uuid", "plain", "session"),
    Shape("timestamptz", "timestamptz", "plain", "at"),
    Shape("numeric", "numeric", "plain", "amount"),
    Shape("text_c", 'text 32, "C"', "plain", 'token COLLATE "C"'),
    Shape("text_en", "text 32, en_US.UTF-8", "plain", "token COLLATE {en}"),
    Shape("int4_int8", "(int4 of 1,024 values, int8)", "plain", "shop, account"),
    Shape("int4_few", "int4 of 1,024 values", "plain", "shop"),
    Shape("int8_narrow", "int8, random, in one column", "narrow", "account"),
    Shape("name_c", 'name 40, "C"', "words", 'name COLLATE "C"'),
    Shape("name_en", "name 40, en_US.UTF-8", "words", "name COLLATE {en}"),
    Shape("url_c", 'URL 79, "C"', "words", 'url COLLATE "C"'),
    Shape("url_en", "URL 79, en_US.UTF-8", "words", "url COLLATE {en}"),
    Shape("url_icu", "URL 79, en-x-icu", "words", "url COLLATE {icu}"),
    Shape("presorted", 'text 16, presorted, "C"', "skewed", 'sorted COLLATE "C"'),
    Shape("reversed", "int8, reversed", "skewed", "reversed"),
    Shape("equal90", "int8, 90 % equal", "skewed", "equal90"),
    Shape("nulls", "int8, 80 % null", "skewed", "sparse"),
    Shape("zipf", "int4, Zipf", "skewed", "zipf"),
    Shape("six", "five int4 of 8 values, int8", "skewed", "a, b, c, d, e, f"),
    Shape("prefix_c", 'text 100, prefix of 84, "C"', "prefixed", 'path COLLATE "C"'),
    Shape("point", "GiST, point", "places", "USING gist (place)"),
    *(shape for text in TEXTS for shape in text_shapes(text)),
)}

DEFAULT = ("int8", "uuid", "timestamptz", "text_c", "int4_int8", "url_en")

# Names of groups of shapes.  "usual" has the shapes of the chart in README.md.
GROUPS = {
    "all": tuple(SHAPES),
    "usual": ("int8", "int8_asc", "uuid", "timestamptz", "numeric", "int4_few",
              "int4_int8", "text_c", "text_en", "name_c", "name_en", "url_c",
              "url_en", "url_icu"),
    "real": tuple(s.name for s in SHAPES.values() if TABLES[s.table].corpus),
}


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
    return [name for name in known if name in names]


def choose(words):
    """The shapes that a list names, in SHAPES' order, which keeps the shapes of
    a table together."""
    return [SHAPES[name] for name in chosen(words, SHAPES, DEFAULT, GROUPS)]


def table_rows(table, rows):
    """The number of rows of a table for a given value of ROWS; for real text,
    the maximum number."""
    return max(1, int(rows * table.share))


def table_name(table, rows):
    """A table's name, which depends on the table's definition and number of
    rows.  A later run therefore uses a kept table only if the table's contents
    are right."""
    rows = table_rows(table, rows)
    contents = table.columns or table.corpus
    digest = hashlib.md5(contents.encode()).hexdigest()[:6]
    return "%s_%d_%s" % (table.name, rows, digest)


def load_statements(table, rows):
    """The statements that make a table.  The last statement gives the table its
    name, so that a kept cluster has no partly loaded tables."""
    rows_here = table_rows(table, rows)
    if table.corpus:
        fill = ["CREATE TABLE loading (v text)",
                "COPY loading FROM PROGRAM 'python3 \"%s\" %s %d'"
                % (CORPUS.replace("'", "''"), table.corpus, rows_here)]
    else:
        # As a FROM item, generate_series() would write a temporary file.
        fill = ["CREATE TABLE loading AS SELECT %s\n"
                "FROM (SELECT generate_series(1::int8, %d)) AS s(i)"
                % (table.columns.replace("{rows}", str(rows_here)), rows_here)]
    return [
        "DROP TABLE IF EXISTS loading", *fill,
        "VACUUM (ANALYZE) loading",
        "ALTER TABLE loading RENAME TO %s" % table_name(table, rows),
    ]


def index_columns(shape, collations):
    """The shape's key columns for CREATE INDEX.  collations maps keys such as
    "en" to the server's quoted names of collations.  Raises KeyError with the
    key of a collation that the server lacks."""
    return shape.keys.format_map(dict(collations))
