/*-------------------------------------------------------------------------
 *
 * key.c
 *	  Key columns become sort key words.
 *
 * A word is a 64-bit unsigned integer whose order never contradicts the order
 * of the column that it is made from: word(a) < word(b) implies a before b.
 * Equal words imply nothing, so nulls may share the smallest or the largest
 * word with values, and a column whose order is not known gets no word.
 *
 * Hints are the exception: words that are nearly always right.  A sort has to
 * verify what it makes of them.
 *
 * Where the words come from:
 *
 * 0. Leading columns that can be packed are (key_pack.c), with a word of the
 *	  next column after them.  If these are all columns, the key is exact.
 *
 * The word of another column, first match wins:
 *
 * 1. The column is text: a code learned from the first strings (text_code.h).
 *	  It is a hint unless the collation is bytewise ("C").
 * 2. The sort support function offers an abbreviated key that its comparator
 *	  compares as an integer.  What the server requires of abbreviated keys is
 *	  just what is required of words.  (uuid, inet, macaddr: unsigned; numeric:
 *	  see word_numeric.)
 * 3. The comparator compares datums as integers: int4, int8, date, timestamp,
 *	  and whatever else uses one of the server's three.
 * 4. The sort support function, or the comparison function of an operator
 *	  class without one, is a function of the server that we know.
 *
 * All participants of a sort must make the same word of the same value.  So
 * nothing here may depend on what a process saw before, and abbreviation is
 * never given up half-way: the server's abbrev_abort is not called.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/nbtree.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "key/key.h"
#include "key/key_form.h"
#include "key/key_pack.h"
#include "key/text_code.h"
#include "key/text_prefix.h"

int			ptsort_debug_key_class = KEY_CLASS_AUTO;
int			ptsort_debug_wrong_hints = 0;

#define SIGN_BIT	(UINT64CONST(1) << 63)

/*
 * WordMaker makes the word of a value that is not null, in ascending order.
 * ssup holds the state of abbreviation, if the maker abbreviates.
 */
typedef uint64 (*WordMaker) (Datum value, SortSupport ssup);

/*
 * SortKeyWord: one word and the column it is made from.
 */
typedef struct SortKeyWord
{
	int			column;			/* index into values, isnull */
	WordMaker	make;			/* NULL: there is a kind, a code or nothing */
	FieldKind	kind;			/* of values that could be packed */
	TextCode   *code;			/* for text, in one or two words */
	int			nwords;
	bool		hint;
	bool		reverse;		/* descending */
	uint64		null_word;		/* smallest or largest */
	SortSupportData ssup;		/* with abbreviation and its own state */
} SortKeyWord;

struct PtSortKey
{
	int			nwords;
	bool		exact;			/* all columns are in the pack */
	bool		learning;		/* the code has yet to be learned */
	KeyPack		pack;			/* exact, or several columns; else empty */
	SortKeyWord word;			/* a word on its own or the end of the pack */
	KeyForm    *form;			/* exact: how to make tuples */
	PrefixSkipFailure failure;	/* of a comparison that skips prefixes */
	int			ncolumns;
	SortSupportData support[FLEXIBLE_ARRAY_MEMBER]; /* one per column */
};

/* KnownOrder: a server function and the words that agree with it. */
typedef struct KnownOrder
{
	Oid			function;
	WordMaker	make;
} KnownOrder;

static inline uint64
word_from_signed(int64 value)
{
	return (uint64) value ^ SIGN_BIT;
}

/*
 * Flip a float's bits into integer order.  As in the operator class, the two
 * zeros are equal, and all NaNs are equal and greater than everything else.
 */
static inline uint64
word_from_float(float8 value)
{
	union
	{
		float8		value;
		uint64		bits;
	}			u;

	if (isnan(value))
		return PG_UINT64_MAX;
	u.value = (value == 0.0) ? 0.0 : value;
	return (u.bits & SIGN_BIT) ? ~u.bits : u.bits | SIGN_BIT;
}

static uint64
word_abbreviated(Datum value, SortSupport ssup)
{
	return (uint64) ssup->abbrev_converter(value, ssup);
}

/*
 * numeric's abbreviated key is a signed integer that grows as the value
 * shrinks, with -INT64_MAX for infinity and INT64_MIN for NaN.
 */
static uint64
word_numeric(Datum value, SortSupport ssup)
{
	Datum		abbreviated = ssup->abbrev_converter(value, ssup);

	return ~word_from_signed(DatumGetInt64(abbreviated));
}

static uint64
word_unsigned(Datum value, SortSupport ssup)
{
	return (uint64) value;
}

static uint64
word_int64(Datum value, SortSupport ssup)
{
	return word_from_signed(DatumGetInt64(value));
}

/* The upper half of an int4's datum is undefined; DatumGetInt32 drops it. */
static uint64
word_int32(Datum value, SortSupport ssup)
{
	return word_from_signed(DatumGetInt32(value));
}

static uint64
word_int16(Datum value, SortSupport ssup)
{
	return word_from_signed(DatumGetInt16(value));
}

static uint64
word_oid(Datum value, SortSupport ssup)
{
	return DatumGetObjectId(value);
}

static uint64
word_float4(Datum value, SortSupport ssup)
{
	return word_from_float(DatumGetFloat4(value));
}

static uint64
word_float8(Datum value, SortSupport ssup)
{
	return word_from_float(DatumGetFloat8(value));
}

/* timetz orders by the time in UTC; the zone breaks ties. */
static uint64
word_timetz(Datum value, SortSupport ssup)
{
	TimeTzADT  *time = DatumGetTimeTzADTP(value);

	return word_from_signed(time->time + time->zone * USECS_PER_SEC);
}

/*
 * Sort support functions with comparators of their own.  An operator class of
 * a user that names one of them gets the same comparator, so the type does not
 * matter.
 */
static const KnownOrder known_sortsupport[] = {
	{F_BTINT2SORTSUPPORT, word_int16},
	{F_BTOIDSORTSUPPORT, word_oid},
	{F_BTFLOAT4SORTSUPPORT, word_float4},
	{F_BTFLOAT8SORTSUPPORT, word_float8},
	{InvalidOid, NULL}
};

/*
 * Comparison functions, for operator classes without sort support: those that
 * key_pack.c does not know, because equal values may have different images.
 */
static const KnownOrder known_comparison[] = {
	{F_BTFLOAT4CMP, word_float4},
	{F_BTFLOAT8CMP, word_float8},
	{F_TIMETZ_CMP, word_timetz},
	{InvalidOid, NULL}
};

/* KnownText: a type of characters and how its values are stored. */
typedef struct KnownText
{
	Oid			sortsupport;
	TextForm	form;
	bool		bytewise;		/* whatever the collation */
} KnownText;

static const KnownText known_text[] = {
	{F_BTTEXTSORTSUPPORT, TEXT_VARLENA, false},
	{F_BPCHAR_SORTSUPPORT, TEXT_PADDED, false},
	{F_BTNAMESORTSUPPORT, TEXT_NAME, false},
	{F_BYTEA_SORTSUPPORT, TEXT_VARLENA, true},
	{F_BTTEXT_PATTERN_SORTSUPPORT, TEXT_VARLENA, true},
	{F_BTBPCHAR_PATTERN_SORTSUPPORT, TEXT_PADDED, true},
};

static WordMaker
find_known(const KnownOrder *known, Oid function)
{
	for (; OidIsValid(known->function); known++)
	{
		if (known->function == function)
			return known->make;
	}
	return NULL;
}

/* Rule 2: the maker for an abbreviated key, NULL if it is no integer. */
static WordMaker
maker_of_abbreviation(SortSupport ssup, Oid sortsupport)
{
	if (ssup->abbrev_converter == NULL)
		return NULL;
	if (ssup->comparator == ssup_datum_unsigned_cmp)
		return word_abbreviated;
	if (sortsupport == F_NUMERIC_SORTSUPPORT)
		return word_numeric;
	return NULL;
}

/* Rule 3: the maker for values that are compared as integers, or NULL. */
static WordMaker
maker_of_comparator(int (*comparator) (Datum, Datum, SortSupport))
{
	if (comparator == ssup_datum_signed_cmp)
		return word_int64;
	if (comparator == ssup_datum_int32_cmp)
		return word_int32;
	if (comparator == ssup_datum_unsigned_cmp)
		return word_unsigned;
	return NULL;
}

/*
 * Choose how to make a word of a column of this operator family and input
 * type, if there is a way.  word->ssup has been prepared with abbreviation.
 */
static void
choose_maker(SortKeyWord *word, Oid opfamily, Oid opcintype)
{
	SortSupport ssup = &word->ssup;
	Oid			sortsupport = get_opfamily_proc(opfamily, opcintype, opcintype,
												BTSORTSUPPORT_PROC);

	word->make = maker_of_abbreviation(ssup, sortsupport);
	if (word->make == NULL)
		word->make = maker_of_comparator(ssup->abbrev_converter != NULL ?
										 ssup->abbrev_full_comparator :
										 ssup->comparator);
	if (word->make == NULL && OidIsValid(sortsupport))
		word->make = find_known(known_sortsupport, sortsupport);
	if (word->make == NULL && !OidIsValid(sortsupport))
	{
		Oid			comparison = get_opfamily_proc(opfamily, opcintype,
												   opcintype, BTORDER_PROC);
		int16		typlen;
		bool		typbyval;

		get_typlenbyval(opcintype, &typlen, &typbyval);
		word->kind = key_pack_kind(comparison, typlen, typbyval);
		word->make = find_known(known_comparison, comparison);
	}
}

/* Is this the comparison of citext, text whose case does not matter? */
static bool
is_citext(Oid comparison)
{
	Oid			extension = get_extension_oid("citext", true);

	return OidIsValid(extension) &&
		getExtensionOfObject(ProcedureRelationId, comparison) == extension &&
		strcmp(get_func_name(comparison), "citext_cmp") == 0;
}

/*
 * Rule 1: give the column a code if it is text.  'plain' is its sort support
 * without abbreviation.  (Other types that are stored as text are not tried:
 * their comparison may raise an error about the strings that we show it.)
 */
static void
init_code(SortKeyWord *word, Oid opfamily, Oid opcintype, SortSupport plain,
		  int nwords)
{
	Oid			sortsupport = get_opfamily_proc(opfamily, opcintype, opcintype,
												BTSORTSUPPORT_PROC);
	Oid			comparison = get_opfamily_proc(opfamily, opcintype, opcintype,
											   BTORDER_PROC);
	KnownText	citext = {InvalidOid, TEXT_VARLENA, false};
	const KnownText *text = NULL;

	for (int i = 0; i < lengthof(known_text) && OidIsValid(sortsupport); i++)
	{
		if (known_text[i].sortsupport == sortsupport)
			text = &known_text[i];
	}
	if (!OidIsValid(sortsupport) && is_citext(comparison))
		text = &citext;
	if (text == NULL || ptsort_debug_key_class == KEY_CLASS_COMPARED)
		return;

	word->hint = !text->bytewise &&
		(text == &citext || !pt_collate_is_c(plain->ssup_collation));
	word->nwords = word->hint ? nwords : 1;
	word->code = text_code_create(plain, text->form, !word->hint, word->nwords);
}

/*
 * Find out how to make a word of a column.  'ssup' is the column's, prepared
 * with abbreviation.
 */
static void
init_word(SortKeyWord *word, int column, Oid opfamily, Oid opcintype,
		  const SortSupportData *ssup)
{
	/* abbreviated keys of half a word have other formats: not worth it */
	if (sizeof(Datum) < sizeof(uint64))
		return;

	word->ssup = *ssup;
	choose_maker(word, opfamily, opcintype);
	word->nwords = 1;
	word->column = column;
	word->reverse = ssup->ssup_reverse;
	word->null_word = ssup->ssup_nulls_first ? 0 : PG_UINT64_MAX;
}

static PtSortKey *
make_key(int ncolumns)
{
	PtSortKey  *key;

	key = palloc0(add_size(offsetof(PtSortKey, support),
						   mul_size(ncolumns, sizeof(SortSupportData))));
	key->ncolumns = ncolumns;
	return key;
}

/*
 * Let the comparison of a column of this operator family and input type skip
 * shared prefixes, if it is text in a collation of the C library.  Comparisons
 * in "C" and by ICU do that by themselves.
 */
static void
skip_prefixes(PtSortKey *key, SortSupport ssup, Oid opfamily, Oid opcintype)
{
	Oid			sortsupport = get_opfamily_proc(opfamily, opcintype, opcintype,
												BTSORTSUPPORT_PROC);

	if (ptsort_skip_prefixes &&
		(sortsupport == F_BTTEXTSORTSUPPORT ||
		 sortsupport == F_BPCHAR_SORTSUPPORT) &&
		!pt_collate_is_c(ssup->ssup_collation) &&
		pt_collate_is_libc(ssup->ssup_collation))
		text_prefix_wrap(ssup, &key->failure);
}

/* Fill in what a column's operator does not tell. */
static void
init_support(SortSupport ssup, Oid collation, bool nulls_first,
			 AttrNumber attno, bool abbreviate)
{
	memset(ssup, 0, sizeof(*ssup));
	ssup->ssup_cxt = CurrentMemoryContext;
	ssup->ssup_collation = collation;
	ssup->ssup_nulls_first = nulls_first;
	ssup->ssup_attno = attno;
	ssup->abbreviate = abbreviate;
}

/* Prepare a key column of an index, with or without abbreviation. */
static void
support_of_index(Relation index, int column, bool abbreviate,
				 SortSupport ssup)
{
	int16		option = index->rd_indoption[column];

	init_support(ssup, index->rd_indcollation[column],
				 (option & INDOPTION_NULLS_FIRST) != 0,
				 column + 1, abbreviate);
	pt_sortsupport_from_index(index, (option & INDOPTION_DESC) != 0, ssup);
}

/* How values of a column of an index can be packed. */
static FieldKind
kind_of_index(Relation index, int column)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), column);

	return key_pack_kind(get_opfamily_proc(index->rd_opfamily[column],
										   index->rd_opcintype[column],
										   index->rd_opcintype[column],
										   BTORDER_PROC),
						 att->attlen, att->attbyval);
}

/* Choose the word of a column of an index, or up to nwords of them. */
static void
word_of_index(PtSortKey *key, Relation index, int column, int nwords)
{
	SortSupportData ssup;
	Oid			opfamily = index->rd_opfamily[column];
	Oid			opcintype = index->rd_opcintype[column];

	memset(&key->word, 0, sizeof(SortKeyWord));
	support_of_index(index, column, true, &ssup);
	init_word(&key->word, column, opfamily, opcintype, &ssup);
	init_code(&key->word, opfamily, opcintype, &key->support[column], nwords);
}

static bool
has_word(const PtSortKey *key)
{
	return key->word.make != NULL || key->word.code != NULL ||
		key->word.kind != FIELD_NONE;
}

/*
 * Pack the leading columns that can be packed, and a word of the next one if
 * it has one.  If that is one column, its word on its own serves as well and
 * needs no null bit.
 */
static void
pack_index(PtSortKey *key, Relation index)
{
	int			column = 0;

	while (column < key->ncolumns &&
		   key_pack_add(&key->pack, kind_of_index(index, column), column,
						key->support[column].ssup_nulls_first,
						key->support[column].ssup_reverse))
		column++;
	key->exact = column == key->ncolumns &&
		IndexRelationGetNumberOfAttributes(index) == key->ncolumns &&
		key->pack.bits <= PTSORT_MAX_WORDS * 64 + KEY_TAIL_BITS &&
		ptsort_debug_key_class == KEY_CLASS_AUTO;
	if (key->exact)
		return;

	if (column < key->ncolumns && key->pack.bits < PTSORT_MAX_WORDS * 64)
	{
		word_of_index(key, index, column, column > 0 ? 1 : PTSORT_MAX_WORDS);
		if (has_word(key) && column > 0 &&
			key_pack_add(&key->pack, FIELD_WORD, column,
						 key->support[column].ssup_nulls_first, false))
			column++;
	}
	if (column < 2)
	{
		memset(&key->pack, 0, sizeof(KeyPack));
		if (!has_word(key) || key->word.column != 0)
			word_of_index(key, index, 0, PTSORT_MAX_WORDS);
	}
	key->learning = key->word.code != NULL;
}

/* Set how many words the key has. */
static void
count_words(PtSortKey *key)
{
	if (ptsort_debug_key_class == KEY_CLASS_COMPARED)
		key->nwords = 0;
	else if (key->exact)
		key->nwords = key->pack.bits <= 64 + KEY_TAIL_BITS ? 1 : 2;
	else if (key->pack.nfields > 0)
		key->nwords = key->pack.bits <= 64 ? 1 : 2;
	else
		key->nwords = has_word(key) ? key->word.nwords : 0;
}

PtSortKey *
key_index(Relation index)
{
	int			ncolumns = IndexRelationGetNumberOfKeyAttributes(index);
	PtSortKey  *key = make_key(ncolumns);

	for (int i = 0; i < ncolumns; i++)
	{
		support_of_index(index, i, false, &key->support[i]);
		skip_prefixes(key, &key->support[i], index->rd_opfamily[i],
					  index->rd_opcintype[i]);
	}
	pack_index(key, index);
	count_words(key);
	if (key->exact)
		key->form = key_form_create(&key->pack, RelationGetDescr(index),
									key->nwords);
	return key;
}

PtSortKey *
key_columns(int ncolumns, const Oid *lt_operators, const Oid *collations,
			const bool *nulls_first)
{
	PtSortKey  *key;
	SortSupportData leading;
	Oid			opfamily;
	Oid			opcintype;

	if (ncolumns < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a sort needs at least one key column")));

	key = make_key(ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		if (!pt_ordering_op_opfamily(lt_operators[i], &opfamily, &opcintype))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("operator %u is not a valid ordering operator",
							lt_operators[i])));
		init_support(&key->support[i], collations[i], nulls_first[i], 0, false);
		PrepareSortSupportFromOrderingOp(lt_operators[i], &key->support[i]);
		skip_prefixes(key, &key->support[i], opfamily, opcintype);
	}

	pt_ordering_op_opfamily(lt_operators[0], &opfamily, &opcintype);
	init_support(&leading, collations[0], nulls_first[0], 0, true);
	PrepareSortSupportFromOrderingOp(lt_operators[0], &leading);
	init_word(&key->word, 0, opfamily, opcintype, &leading);
	count_words(key);
	return key;
}

int
key_nwords(const PtSortKey *key)
{
	return key->nwords;
}

bool
key_is_exact(const PtSortKey *key)
{
	return key->exact;
}

/* For tests: make some hints wrong, the same ones in each process. */
static void
spoil_hint(uint64 *words)
{
	uint64		hash = hash_bytes_extended((unsigned char *) words,
										   sizeof(uint64), 0);

	if (hash % ptsort_debug_wrong_hints == 0)
		words[0] = hash;
}

/* The words of a column, in the order of the column. */
static void
make_words(SortKeyWord *word, const Datum *values, const bool *isnull,
		   uint64 *words)
{
	uint64		reverse = word->reverse ? PG_UINT64_MAX : 0;

	if (isnull[word->column])
	{
		for (int i = 0; i < word->nwords; i++)
			words[i] = word->null_word;
		return;
	}
	if (word->code)
		text_code_words(word->code, values[word->column], words);
	else if (word->make)
		words[0] = word->make(values[word->column], &word->ssup);
	else
		words[0] = key_pack_word(word->kind, values[word->column]);
	if (unlikely(ptsort_debug_wrong_hints > 0) && word->hint)
		spoil_hint(words);
	for (int i = 0; i < word->nwords; i++)
		words[i] ^= reverse;
}

void
key_words(PtSortKey *key, const Datum *values, const bool *isnull,
		  uint64 *words)
{
	uint64		word[PTSORT_MAX_WORDS] = {0};

	if (key->nwords == 0)
		return;
	if (key->pack.nfields > 0)
	{
		if (has_word(key))
			make_words(&key->word, values, isnull, word);
		key_pack_encode(&key->pack, values, isnull, word[0], key->nwords,
						words);
	}
	else
		make_words(&key->word, values, isnull, words);
}

bool
key_is_hint(const PtSortKey *key)
{
	return key->nwords > 0 && key->word.hint;
}

bool
key_is_learning(const PtSortKey *key)
{
	return key->nwords > 0 && key->learning;
}

Size
key_limit(PtSortKey *key, Size limit)
{
	return text_code_limit(key->word.code, limit);
}

Size
key_memory(const PtSortKey *key)
{
	return text_code_memory(key->word.code);
}

Size
key_peak_memory(const PtSortKey *key)
{
	return text_code_peak_memory(key->word.code);
}

bool
key_learn(PtSortKey *key, StringInfo result)
{
	text_code_learn(key->word.code);
	key->learning = false;
	if (result)
		text_code_export(key->word.code, result);
	return text_code_is_right(key->word.code);
}

bool
key_adopt(PtSortKey *key, const char *learned, Size length)
{
	text_code_import(key->word.code, learned, length);
	key->learning = false;
	return text_code_is_right(key->word.code);
}

const KeyForm *
key_form(const PtSortKey *key)
{
	return key->form;
}

Size
key_tuple(const PtSortKey *key, const uint64 *entry, IndexTuple tuple)
{
	return key_form_tuple(key->form, entry, tuple);
}

const Oid  *
key_allow_restart(PtSortKey *key)
{
	key->failure.restartable = true;
	return &key->failure.collation;
}

SortSupport
key_support(PtSortKey *key)
{
	return key->support;
}
