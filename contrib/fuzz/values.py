"""The values of columns: for each type, an SQL expression that makes a value from a number.

One of the distributions below (random, few, skewed, presorted, ...) turns a row's
number g into a *rank*, a bigint that is not negative; a kind of column turns the
rank into a value of the column's type.  Nothing depends on random() or on the
time, so a case has the same rows on every machine.
"""

RANK = "{r}"


class Kind:
    """A way to fill a column of a type.

    value       SQL expression with {r} for the rank
    special     values for a few of the rows, as SQL literals
    classes     operator classes besides the default one
    expressions index expressions with {c} for the column
    width       approximate size of a value in bytes
    text        true if the type has a collation
    key         true if the type has a default btree operator class
    """

    def __init__(self, name, type_, value, special=(), classes=(),
                 expressions=(), width=8, text=False, key=True, slow=False):
        self.name = name
        self.type = type_
        self.value = value
        self.special = special
        self.classes = classes
        self.expressions = expressions
        self.width = width
        self.text = text
        self.key = key
        self.slow = slow        # slow to compare


INT = ("({c} % 10)", "({c}::text)", "(-({c}::numeric))", "({c} + 1)",
       "fz_nested_call({c}::int8)", "fz_guarded({c}::int8)",
       "fz_picky({c}::int8, 17)",
       "(100 / ({c} % 1000))", "coalesce({c}, 0)")
STRING = ("lower({c})", "({c} || 'x')", "length({c})", "md5({c})",
          "substr({c}, 1, 3)", "fz_unsafe({c})", "reverse({c})",
          "({c} = '')")

PLAIN_KINDS = [
    Kind("bool", "bool", "({r} % 2 = 0)", expressions=("(NOT {c})",), width=1),
    Kind("int2", "int2", "({r} % 65536 - 32768)::int2", ("32767", "-32768"),
         expressions=INT, width=2),
    Kind("int4", "int4", "({r} % 4294967296 - 2147483648)::int4",
         ("2147483647", "0", "-1"), ("fz_backward_ops",), INT, 4),
    Kind("int4 small", "int4", "({r} % 2147483648)::int4", ("0",),
         ("fz_backward_ops",), INT, 4),
    Kind("int8", "int8", "({r} * 2 - 4611686018427387904)",
         ("9223372036854775807", "-9223372036854775808"),
         ("fz_digit_ops",), INT),
    Kind("int8 small", "int8", "({r} % 1000000007)", ("-1",),
         ("fz_digit_ops",), INT),
    Kind("oid", "oid", "({r} % 4294967296)::oid", ("0", "4294967295"), width=4),
    Kind("internal char", '"char"', "(({r} % 256 - 128)::int4)::\"char\"",
         width=1),
    Kind("float4", "float4", "(({r} % 100000) / 7.0 - 5000)::float4",
         ("'NaN'", "'-0'", "'0'", "'Infinity'", "'-Infinity'", "1e-40"),
         width=4),
    Kind("float8", "float8", "(({r} % 1000000007) / 7.0 - 5e7)::float8",
         ("'NaN'", "'-0'", "'0'", "'Infinity'", "'-Infinity'", "1e-310",
          "-1e300"),
         ("fz_float_ops",), ("({c} * 0)", "abs({c})")),
    Kind("numeric", "numeric", "({r}::numeric / 1000 - 100000)",
         ("'NaN'", "'Infinity'", "'-Infinity'", "0", "0.000", "1.0", "1.00",
          "1e-30", "1e100"),
         expressions=("round({c})", "({c} * 2)"), width=12),
    Kind("numeric scaled", "numeric(12,2)", "({r} % 1000000007)::numeric / 100",
         ("'NaN'", "0", "-5.5"), width=10),
    Kind("numeric long", "numeric",
         "(({r} % 1000)::numeric || repeat(({r} % 97)::text, ({r} % 40)::int4)"
         " || '.' || ({r})::text || '00')::numeric",
         ("'NaN'", "'Infinity'", "1e-500", "-1e500"), width=60),
    Kind("money", "money", "(({r} % 1000000007)::numeric / 100)::money"),
    Kind("date", "date", "('1970-01-01'::date + ({r} % 200000)::int4)",
         ("'infinity'", "'-infinity'", "'0044-03-15 BC'"), width=4),
    Kind("time", "time", "('00:00'::time + {r} % 86400000 * '1 ms'::interval)",
         ("'24:00'",)),
    Kind("timetz", "timetz",
         "(('00:00'::time + {r} % 86400 * '1 s'::interval)::text ||"
         " '+0' || ({r} % 7)::text)::timetz", width=12),
    Kind("timestamp", "timestamp",
         "('2000-01-01'::timestamp + {r} % 1000000007 * '1 ms'::interval)",
         ("'infinity'", "'-infinity'", "'4713-01-01 BC'"),
         expressions=("date_trunc('day', {c})",)),
    Kind("timestamptz", "timestamptz",
         "('2020-01-01 00:00+00'::timestamptz +"
         " {r} % 100000000 * '1 s'::interval)",
         ("'infinity'", "'-infinity'"),
         expressions=("({c} AT TIME ZONE 'UTC')",)),
    Kind("interval", "interval",
         "({r} % 1000 * '1 day'::interval + {r} % 86400 * '1 s'::interval)",
         ("'1 mon'", "'30 days'", "'720:00'", "'-1 year'"), width=16),
    Kind("uuid", "uuid", "md5(({r})::text)::uuid", width=16),
    Kind("uuid counted", "uuid", "lpad(to_hex({r}), 32, '0')::uuid", width=16),
    Kind("inet", "inet",
         "('10.0.0.0/8'::inet + {r} % 16777216)",
         ("'::1'", "'10.0.0.0/24'", "'10.0.0.0'", "'fe80::1/10'"),
         expressions=("host({c})", "masklen({c})"), width=10),
    Kind("inet 6", "inet", "('2001:db8::'::inet + {r})", ("'0.0.0.0'",),
         width=22),
    Kind("cidr", "cidr",
         "set_masklen(('10.0.0.0'::inet + {r} % 65536 * 256)::cidr,"
         " 24)", ("'::/0'", "'0.0.0.0/0'"), width=10),
    Kind("macaddr", "macaddr",
         "lpad(to_hex({r} % 281474976710656), 12, '0')::macaddr", width=6),
    Kind("macaddr8", "macaddr8", "lpad(to_hex({r}), 16, '0')::macaddr8"),
    Kind("tid", "tid", "format('(%s,%s)', {r} % 100000, 1 + {r} % 60)::tid",
         width=6),
    Kind("xid8", "xid8", "({r})::text::xid8"),
    Kind("pg_lsn", "pg_lsn", "('0/0'::pg_lsn + {r}::numeric)",
         ("'FFFFFFFF/FFFFFFFF'",)),
    Kind("bit", "bit(13)", "({r} % 8192)::int4::bit(13)", width=12),
    Kind("varbit", "varbit",
         "substring(({r})::bit(64) FROM 1 FOR ({r} % 64)::int4)::varbit",
         ("''", "B'0'", "B'00'"), width=14),
    Kind("bytea", "bytea", "decode(md5(({r})::text), 'hex')",
         ("''", "'\\x00'", "'\\x0000'"),
         expressions=("length({c})", "substr({c}, 1, 1)"), width=17),
    Kind("bytea counted", "bytea", "decode(lpad(to_hex({r}), 24, '0'), 'hex')",
         width=13),
    Kind("tsvector", "tsvector",
         "to_tsvector('simple',"
         " ({r} % 100)::text || ' fat cat ' || ({r})::text)",
         ("''",), width=50),
    Kind("tsquery", "tsquery",
         "(({r} % 50)::text || ' & !' || ({r})::text)::tsquery", ("''",),
         width=50),
    Kind("jsonb", "jsonb",
         "CASE {r} % 4 WHEN 0 THEN to_jsonb({r})"
         " WHEN 1 THEN to_jsonb(({r})::text)"
         " WHEN 2 THEN jsonb_build_object('k', {r},"
         " 'list', jsonb_build_array({r} % 3, null, true))"
         " ELSE jsonb_build_array({r}, ({r})::text) END",
         ("'null'", "'{}'", "'[]'", "'1.0'", "'1.00'", "'\"\"'"),
         expressions=("({c} -> 'k')", "({c} ->> 'k')"), width=40),
    Kind("oidvector", "oidvector",
         "format('%s %s', {r} % 100, {r} % 7)::oidvector", width=32),
    Kind("int4 array", "int4[]",
         "CASE WHEN {r} % 5 = 0 THEN ARRAY[({r} % 100)::int4, NULL]"
         " ELSE ARRAY[({r} % 1000)::int4, ({r} % 7)::int4,"
         " ({r} % 2147483647)::int4] END",
         ("'{}'", "'{{1,2},{3,4}}'", "'[0:1]={1,2}'"),
         expressions=("({c}[1])", "cardinality({c})"), width=40),
    Kind("text array", "text[]", "ARRAY[({r} % 10)::text, md5(({r})::text)]",
         ("'{}'", "'{NULL}'"), width=60),
    Kind("numeric array", "numeric[]", "ARRAY[{r}::numeric / 100]",
         ("'{NaN}'", "'{1.0}'", "'{1.00}'"), width=32),
    Kind("int4range", "int4range",
         "int4range(({r} % 1000)::int4, ({r} % 1000 + {r} % 5)::int4)",
         ("'empty'", "'(,)'", "'(,5)'", "'[5,)'"),
         expressions=("lower({c})",), width=16),
    Kind("numrange", "numrange",
         "numrange(({r} % 1000000)::numeric, NULL, '()')", ("'[1.0,1.00]'",),
         width=24),
    Kind("textrange", "fz_textrange",
         "fz_textrange(md5(({r})::text), md5(({r})::text) || 'z')", width=90),
    Kind("tstzrange", "tstzrange",
         "tstzrange('2020-01-01 00:00+00', '2020-01-01 00:00+00'::timestamptz +"
         " {r} % 100000000 * '1 s'::interval)", width=26),
    Kind("multirange", "int4multirange",
         "int4multirange("
         "int4range(({r} % 50)::int4, ({r} % 50 + 1 + {r} % 3)::int4),"
         " int4range(100, 101 + ({r} % 9)::int4))", ("'{}'",), width=40),
    Kind("enum", "fz_color",
         "(enum_range(NULL::fz_color))[1 + {r} % 9]", width=4),
    Kind("domain of int4", "fz_small", "({r} % 100000)::int4::fz_small",
         width=4),
    Kind("composite", "fz_pair",
         "ROW(({r} % 100)::int4,"
         " CASE WHEN {r} % 9 > 0 THEN ({r})::text END)::fz_pair",
         classes=("record_image_ops",), expressions=("(({c}).a)", "(({c}).b)"),
         width=50, slow=True),
    Kind("nested composite", "fz_nested",
         "ROW(ROW(({r} % 10)::int4, 'x'), 'red', {r}::numeric / 10)::fz_nested",
         classes=("record_image_ops",), width=90, slow=True),
    Kind("ltree", "ltree",
         "('top.' || ({r} % 20)::text || '.' || md5(({r})::text))::ltree",
         width=60),
    Kind("hstore", "hstore", "hstore(({r} % 10)::text, ({r})::text)", width=30),
    # types that cannot be keys
    Kind("point", "point", "point({r} % 100, 1)", key=False, width=16),
    Kind("json", "json", "to_json({r})", key=False, width=20),
    Kind("box", "box", "box(point(0, {r} % 100), point(1, 1))", key=False,
         width=32),
]

# Styles of strings.  Styles with characters beyond ASCII are for UTF-8.
STYLES = [
    ("number", "({r})::text", 20),
    ("padded", "lpad(({r})::text, 20, '0')", 20),
    ("hex", "md5(({r})::text)", 32),
    ("short", "substr(md5(({r})::text), 1, ({r} % 5)::int4)", 4),
    ("url", "'https://www.example.com/' || (ARRAY['shop','news','a','user/x'])"
     "[1 + {r} % 4] || '/' || ({r} % 1000)::text || '-' ||"
     " ({r})::text || '.html'",
     60),
    ("name",
     "(ARRAY['Anna','anna','Bob','Cem','DAVE','Eve','O''Brien','van der Berg',"
     "'McX','St. John'])[1 + {r} % 10] || ' ' ||"
     " (ARRAY['Smith','smith','Li','Jones-Lee','Ng','Kim','de Vries'])"
     "[1 + {r} % 7] || ' ' || ({r} % 100000)::text", 25),
    ("blanks", "repeat(' ', ({r} % 3)::int4) || ({r} % 1000)::text ||"
     " repeat(' ', ({r} % 4)::int4)", 8),
    ("mixed", "translate(md5(({r})::text), '0123456789abcdef',"
     " 'aAbB zZ09-_.,!xX')", 32),
    ("path", "'/usr/share/doc/' || ({r} % 13)::text || '/' ||"
     " ({r} % 1777)::text || '/changelog.' || ({r})::text", 50),
    ("middle", "rpad(md5(({r})::text), (60 + {r} % 66)::int4, 'xyz')", 95),
    ("middle 2", "rpad(md5(({r})::text), 120, md5(({r} % 7)::text))", 120),
    ("compressible", "repeat(md5(({r})::text), (4 + {r} % 30)::int4)", 200),
    ("noise", "fz_noise({r}, (200 + {r} % 1200)::int4)", 800),
    ("mostly short", "CASE WHEN {r} % 50 = 0 THEN fz_noise({r}, 1500)"
     " ELSE ({r})::text END", 50),
]
STYLES_UTF8 = [
    ("letters", "translate(md5(({r})::text), '0123456789abcdef',"
     " 'aàäAÀßsSœoéeEñž ')", 32),
    ("scripts", "translate(substr(md5(({r})::text), 1, (4 + {r} % 28)::int4),"
     " '0123456789abcdef', 'aбЯωאب中文ก日ㄱ가😀ἀ1.')", 60),
    ("combining", "translate(substr(md5(({r})::text), 1, 12), '0123456789',"
     " U&'a\\0301e\\0308o\\0327\\200D-c') || 'h'", 22),
]

# Strings near the maximum size of an entry, 2704 bytes with its header.
EDGE = ("fz_noise({r}, (2600 + {r} % 85)::int4)", 2650)
EDGE_OVER = ("fz_noise({r}, (CASE WHEN {r} % 400 = 7 THEN 2690 + {r} % 20"
             " ELSE {r} % 200 END)::int4)", 110)

STRING_TYPES = [
    ("text", "{v}", ("text_pattern_ops", "fz_length_ops", "fz_text_ops")),
    ("text", "{v}", ()),
    ("varchar", "{v}", ("varchar_pattern_ops",)),
    ("varchar(70)", "left({v}, 70)", ("varchar_pattern_ops",)),
    ("char(40)", "left({v}, 40)", ("bpchar_pattern_ops",)),
    ("name", "left({v}, 15)", ()),
    ("citext", "({v})::citext", ()),
    ("fz_words", "{v}", ("text_pattern_ops",)),
]


def string_kind(rng, utf8):
    """A random type and style of strings."""
    type_, cast, classes = rng.choice(STRING_TYPES)
    roll = rng.random()
    if roll < 0.03 and type_ in ("text", "varchar"):
        name, (value, width) = "edge", EDGE
    elif roll < 0.07 and type_ in ("text", "varchar"):
        name, (value, width) = "edge over", EDGE_OVER
    else:
        styles = STYLES + (STYLES_UTF8 if utf8 else [])
        name, value, width = rng.choice(styles)
    special = ("''", "' '", "'a'", "'A'", "'a '", "'~'", "'0'")
    if type_ == "citext":
        expressions = ("({c}::text)",)
    elif type_ in ("name", "char(40)"):
        expressions = ("({c}::text)",)
    else:
        expressions = STRING
    return Kind(type_ + " " + name, type_, cast.replace("{v}", value), special,
                classes, expressions, min(width, 80) if "(" in type_ else width,
                text=True)


def broad_kind(rng):
    """Strings near the maximum length for a varlena header of one byte.  A few
    of these small values make a wide index entry."""
    size = rng.choice((100, 120, 120, 124, 126, 127))
    value = "left(repeat(md5(({r})::text), 4), %d)" % size
    if rng.random() < 0.2:
        value += " || substr('%s', 1, ({r} %% 3)::int4)" % "~~"
    return Kind("broad text", rng.choice(("text", "text", "varchar", "bytea")),
                value, width=size, text=False)


def column_kind(rng, utf8):
    """A random kind of column."""
    if rng.random() < 0.35:
        return string_kind(rng, utf8)
    return rng.choice(PLAIN_KINDS)


def hashed(g, salt):
    """A pseudo-random rank."""
    return "(hashint8extended(%s, %d) & 4611686018427387903)" % (g, salt)


class Distribution:
    """Assigns a rank to row g of n."""

    NAMES = ("random", "random", "few", "skewed", "ascending", "descending",
             "nearly sorted", "in parts", "repeated", "one duplicate",
             "constant", "shared prefix")

    def __init__(self, rng, n):
        self.name = rng.choice(self.NAMES)
        self.n = n
        self.salt = rng.randrange(1 << 30)
        self.few = rng.choice((2, 3, 7, 50, 500))
        self.twin = rng.randint(1, max(n, 1))
        self.other = rng.randint(1, max(n, 1))

    @property
    def is_unique(self):
        """True if rows almost always have different ranks."""
        return self.name in ("random", "ascending", "descending", "in parts")

    def rank(self, g):
        """The rank as an SQL expression."""
        h = hashed(g, self.salt)
        if self.name == "few":
            return "(%s %% %d)" % (h, self.few)
        if self.name == "skewed":
            return "floor(power((%s %% 1000000) / 1e6, 8) * %d)::int8" % (
                h, self.few * 20)
        if self.name == "ascending":
            return "(%s)" % g
        if self.name == "descending":
            return "(%d - (%s) %% 1000000)" % (self.n + 1000000, g)
        if self.name == "nearly sorted":
            return "(%s + %s %% 40)" % (g, h)
        if self.name == "in parts":
            return "(%s %% 7 * 100000 + %s)" % (g, g)
        if self.name == "repeated":
            return "(%s / %d)" % (g, self.few)
        if self.name == "one duplicate":
            return hashed("(CASE WHEN %s = %d THEN %d ELSE %s END)" % (
                g, self.twin, self.other, g), self.salt)
        if self.name == "constant":
            return "(%d + 0 * %s)" % (self.few, g)
        if self.name == "shared prefix":
            return "(1000000000000000000 + %s %% 1000)" % h
        return h


class Column:
    """A column: its kind, its distribution, its nulls."""

    def __init__(self, rng, name, kind, n, collation=None, plain=False):
        self.name = name
        self.kind = kind
        self.type = kind.type
        self.collation = collation if kind.text else None
        self.distribution = Distribution(rng, n)
        self.nulls = 0 if plain else rng.choice((0, 0, 0, 1, 10, 50, 99))
        self.specials = (not plain and bool(kind.special)
                         and self.distribution.name != "one duplicate"
                         and rng.random() < 0.5)
        self.salt = rng.randrange(1 << 30)

    def declaration(self):
        """The column's part of CREATE TABLE."""
        collation = " COLLATE " + self.collation if self.collation else ""
        return "%s %s%s" % (self.name, self.type, collation)

    def value(self, g):
        """The column's value in row g, as an SQL expression."""
        value = "(%s)::%s" % (
            self.kind.value.replace(RANK, self.distribution.rank(g)), self.type)
        cases = []
        if self.nulls:
            cases.append("WHEN %s %% 100 < %d THEN NULL" % (
                hashed(g, self.salt), self.nulls))
        if self.specials:
            h = hashed(g, self.salt + 1)
            for i, literal in enumerate(self.kind.special):
                if literal[0] in "-0123456789":
                    literal = "'%s'" % literal
                cases.append("WHEN %s %% 60 = %d THEN %s::%s" % (
                    h, i, literal, self.type))
        if not cases:
            return value
        return "CASE %s ELSE %s END" % (" ".join(cases), value)
