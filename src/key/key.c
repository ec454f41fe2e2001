/*-------------------------------------------------------------------------
 *
 * key.c
 *	  The words of sort keys, made from key columns.
 *
 * Equal words imply nothing, so nulls may share the smallest or the largest
 * word with values.  A column whose order is unknown gets no word.
 *
 * Sources of the words:
 *
 * 0. The key packs the leading columns that can be packed (key_pack.c), and a
 *	  word of the next column.  If the pack has all columns, the key is exact.
 *
 * For a column that is not packed, the first rule that matches applies:
 *
 * 1. For text, if the caller can make words again: a code learned from the
 *	  first strings (text_code.h).  The collation must be bytewise ("C"), or
 *	  its tables must prove its order (text_rank.h).  If there are too few
 *	  strings to learn from, rule 2 applies.
 * 2. The word that the operator class offers (key_column.c).
 *
 * All participants of a sort must make the same word from the same value.  So
 * words may not depend on values that a process saw before, and abbreviation
 * never ends midway: ptsort does not call abbrev_abort.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

#include "debug.h"
#include "key/key.h"

/* Returns a collation's order, or NULL if ptsort must not use its tables. */
static TextRanks *
find_ranks(Oid collation)
{
	return ptsort_use_collation_tables ? text_rank_find(collation) : NULL;
}

/* Determine how to make a column's word, or up to 'nwords' words of text. */
static void
init_word(PtSortKey *key, const KeyColumn *column, int nwords)
{
	SortKeyWord *word = &key->word;
	bool		bytewise;

	memset(word, 0, sizeof(SortKeyWord));

	/* no words: 32-bit abbreviated keys differ in format from 64-bit keys */
	if (sizeof(Datum) < sizeof(uint64))
		return;

	/* the server does not abbreviate values that are passed by value */
	if (column->typbyval)
		word->ssup = key->support[column->attno - 1];
	else
		key_column_support(column, true, &word->ssup);
	word->make = key_column_maker(column, &word->ssup, &word->kind);
	word->nwords = 1;
	word->column = column->attno - 1;
	word->reverse = word->ssup.ssup_reverse;
	word->null_word = word->ssup.ssup_nulls_first ? 0 : PG_UINT64_MAX;
	if (ptsort_debug.key_class == KEY_CLASS_COMPARED ||
		!key_column_is_text(column, &word->form, &bytewise))
		return;
	word->ranks = bytewise ? NULL : find_ranks(column->collation);
	word->text = bytewise || word->ranks != NULL;
	word->nwords = word->ranks ? nwords : 1;
}

/*
 * Prepare the comparison of a column.  ptsort compares text, varchar and
 * char(n) by the tables of the collation, except in "C", where comparisons are
 * fast already.
 */
static void
init_support(PtSortKey *key, SortSupport ssup, const KeyColumn *column)
{
	bool		padded = column->sortsupport == F_BPCHAR_SORTSUPPORT;
	TextRanks  *ranks = NULL;

	/* raises an error if the column needs a collation and has none */
	key_column_support(column, false, ssup);
	if ((padded || column->sortsupport == F_BTTEXTSORTSUPPORT) &&
		!text_rank_bytewise(column->collation))
		ranks = find_ranks(column->collation);
	if (ranks)
		text_compare_wrap(ssup, ranks, padded, &key->failure);
}

static bool
has_word(const PtSortKey *key)
{
	return key->word.make != NULL || key->word.text ||
		key->word.kind != FIELD_NONE;
}

/*
 * Pack the leading columns that can be packed, and a word of the next column if
 * that column has one.  If the result is one column of 64 bits or more, use an
 * unpacked word instead, which carries as much information without a null bit.
 * With a null bit, equal words mean equal values, so ties need no comparison.
 */
static void
pack_columns(PtSortKey *key, const KeyColumn *columns, bool is_all)
{
	int			n = 0;

	while (n < key->ncolumns &&
		   key_pack_add(&key->pack,
						key_pack_kind(columns[n].comparison,
									  columns[n].typlen, columns[n].typbyval),
						n, key->support[n].ssup_nulls_first,
						key->support[n].ssup_reverse))
		n++;
	key->exact = is_all && n == key->ncolumns &&
		key->pack.bits <= PTSORT_MAX_WORDS * 64 + KEY_TAIL_BITS &&
		ptsort_debug.key_class == KEY_CLASS_AUTO;
	if (key->exact)
		return;

	if (n < key->ncolumns && key->pack.bits < PTSORT_MAX_WORDS * 64)
	{
		init_word(key, &columns[n], n > 0 ? 1 : PTSORT_MAX_WORDS);
		if (n > 0 && has_word(key) &&
			key_pack_add(&key->pack, FIELD_WORD, n,
						 key->support[n].ssup_nulls_first, false))
			n++;
		else if (n > 0)
			memset(&key->word, 0, sizeof(SortKeyWord)); /* not in the pack */
	}
	if (n == 0 || (n == 1 && key->pack.bits > 64))
	{
		memset(&key->pack, 0, sizeof(KeyPack));
		if (!has_word(key) || key->word.column != 0)
			init_word(key, &columns[0], PTSORT_MAX_WORDS);
	}
	key->learning = key->word.text;
}

/* Set the number of words and the number of columns in the words. */
static void
count_words(PtSortKey *key)
{
	int			nfields = key->pack.nfields;

	if (ptsort_debug.key_class == KEY_CLASS_COMPARED)
		key->nwords = 0;
	else if (key->exact)
		key->nwords = key->pack.bits <= 64 + KEY_TAIL_BITS ? 1 : 2;
	else if (nfields > 0)
		key->nwords = key->pack.bits <= 64 ? 1 : 2;
	else
		key->nwords = has_word(key) ? key->word.nwords : 0;
	if (key->nwords > 0)
		key->word_columns = nfields > 0 ?
			key->pack.fields[nfields - 1].column + 1 : 1;
}

/* Determine whether the first column that words do not decide is a string. */
static void
find_string(PtSortKey *key, const KeyColumn *columns)
{
	int			column = key_decided_columns(key);
	bool		bytewise;

	if (key->nwords > 0 && !key->exact && column < key->ncolumns &&
		key_column_is_text(&columns[column], &key->string_form, &bytewise) &&
		bytewise && key->string_form != TEXT_LOWERED)
	{
		key->string_column = column;
		/* only bytea values can contain zero bytes */
		key->string_decides = column == key->ncolumns - 1 &&
			columns[column].sortsupport != F_BYTEA_SORTSUPPORT;
	}
}

/* Make a key of 'columns'; 'is_all' if tuples have only these columns. */
static PtSortKey *
make_key(int ncolumns, KeyColumn *columns, bool is_all)
{
	PtSortKey  *key = palloc0(offsetof(PtSortKey, support) +
							  ncolumns * sizeof(SortSupportData));

	key->context = CurrentMemoryContext;
	key->limit = MaxAllocSize;
	key->ncolumns = ncolumns;
	key->string_column = -1;
	for (int i = 0; i < ncolumns; i++)
	{
		key_column_look_up(&columns[i]);
		init_support(key, &key->support[i], &columns[i]);
	}
	pack_columns(key, columns, is_all);
	count_words(key);
	key->failure.words = key->word.ssup.ssup_collation;
	find_string(key, columns);
	return key;
}

PtSortKey *
key_index(Relation index)
{
	TupleDesc	desc = RelationGetDescr(index);
	int			ncolumns = IndexRelationGetNumberOfKeyAttributes(index);
	bool		all = IndexRelationGetNumberOfAttributes(index) == ncolumns;
	KeyColumn	columns[INDEX_MAX_KEYS];
	PtSortKey  *key;

	for (int i = 0; i < ncolumns; i++)
	{
		int16		option = index->rd_indoption[i];

		columns[i] = (KeyColumn)
		{
			.index = index,
				.attno = i + 1,
				.opfamily = index->rd_opfamily[i],
				.opcintype = index->rd_opcintype[i],
				.collation = index->rd_indcollation[i],
				.nulls_first = (option & INDOPTION_NULLS_FIRST) != 0,
				.reverse = (option & INDOPTION_DESC) != 0,
				.typlen = TupleDescAttr(desc, i)->attlen,
				.typbyval = TupleDescAttr(desc, i)->attbyval,
		};
	}
	key = make_key(ncolumns, columns, all);
	if (key->exact)
		key_pack_set_desc(&key->pack, desc, key->nwords);
	return key;
}

PtSortKey *
key_operators(int ncolumns, const Oid *lt_operators, const Oid *collations,
			  const bool *nulls_first)
{
	KeyColumn  *columns;
	PtSortKey  *key;

	if (ncolumns < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a sort needs at least one key column")));
	if (ncolumns > MaxTupleAttributeNumber)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a sort cannot have %d key columns", ncolumns),
				 errdetail("The maximum is %d.", MaxTupleAttributeNumber)));
	columns = palloc(ncolumns * sizeof(KeyColumn));
	for (int i = 0; i < ncolumns; i++)
		key_column_of_operator(&columns[i], i + 1, InvalidOid, lt_operators[i],
							   collations[i], nulls_first[i]);
	key = make_key(ncolumns, columns, false);
	pfree(columns);
	return key;
}

PtSortKey *
key_datum(Oid type, Oid lt_operator, Oid collation, bool nulls_first)
{
	KeyColumn	column;
	PtSortKey  *key;
	TupleDesc	desc;

	key_column_of_operator(&column, 1, type, lt_operator, collation,
						   nulls_first);
	key = make_key(1, &column, true);
	if (key->exact)
	{
		desc = CreateTemplateTupleDesc(1);
		TupleDescInitEntry(desc, 1, "value", type, -1, 0);
		TupleDescFinalize(desc);
		key_pack_set_desc(&key->pack, desc, key->nwords);
	}
	return key;
}

/* Make the words of a non-null value for ascending order. */
static inline void
ascending_words(PtSortKey *key, Datum value, uint64 *words)
{
	SortKeyWord *word = &key->word;

	if (word->code && !key->learning)
	{
		text_code_words(word->code, value, words);
		return;
	}
	if (word->code)
		text_code_show(word->code, value);
	for (int i = 0; i < word->nwords; i++)
		words[i] = 0;
	if (word->ranks)
		return;
	if (word->make)
		words[0] = word->make(value, &word->ssup);
	else if (word->kind != FIELD_NONE)
		words[0] = key_pack_word(word->kind, value);
}

/* Make the words of a key that is not packed, or the packed word. */
static void
value_words(PtSortKey *key, Datum value, bool isnull, uint64 *words)
{
	const SortKeyWord *word = &key->word;
	uint64		reverse = word->reverse ? PG_UINT64_MAX : 0;

	if (isnull || (word->ranks && word->code == NULL))
	{
		/* text without a code: callers make words later, or use none */
		words[0] = words[word->nwords - 1] =
			isnull ? word->null_word : reverse;
		return;
	}
	ascending_words(key, value, words);
	for (int i = 0; i < word->nwords; i++)
		words[i] ^= reverse;
}

void
key_words(PtSortKey *key, const Datum *values, const bool *isnull,
		  uint64 *words)
{
	const int	column = key->word.column;

	if (key->nwords == 0)
		return;
	if (key->pack.nfields > 0)
	{
		uint64		word[PTSORT_MAX_WORDS] = {0};

		/* make a packed word even if it carries no information */
		if (key->word.nwords > 0)
			value_words(key, values[column], isnull[column], word);
		key_pack_encode(&key->pack, values, isnull, word[0], key->nwords,
						words);
	}
	else
		value_words(key, values[column], isnull[column], words);
}

bool
key_words_are_quick(const PtSortKey *key)
{
	return key->pack.nfields > 0 ||
		(key->nwords > 0 && key->word.code == NULL &&
		 (key->word.make != NULL || key->word.kind != FIELD_NONE));
}

int
key_decided_columns(const PtSortKey *key)
{
	int			end = 0;
	int			column = 0;

	/* spot checks compare tuples whose words are not equal */
	if (key->nwords == 0 || key->word.ranks)
		return 0;
	for (int i = 0; i < key->pack.nfields; i++)
	{
		const KeyField *field = &key->pack.fields[i];

		end += field->bits + (key_pack_has_null_bit(field) ? 1 : 0);
		if (field->kind == FIELD_WORD || end > key->nwords * 64)
			break;
		if (key_pack_has_null_bit(field))
			column = field->column + 1;
	}
	return column;
}

bool
key_words_decide(const PtSortKey *key, uint64 *unless)
{
	*unless = key->word.null_word;
	return key_decided_columns(key) == key->ncolumns ||
		(key->nwords > 0 && key->pack.nfields == 0 && key->ncolumns == 1 &&
		 key_maker_decides(key->word.make));
}

bool
key_string(const PtSortKey *key, Datum value, KeyString *string)
{
	if (!text_is_plain(key->string_form, value))
		return false;
	string->bytes = text_string(key->string_form, value, &string->length);
	return true;
}

Size
key_memory(const PtSortKey *key)
{
	return key->word.code ? text_code_memory(key->word.code) : 0;
}

bool
key_can_learn(PtSortKey *key, bool many)
{
	return key->word.ranks == NULL ||
		text_rank_is_ready(key->word.ranks, many);
}

int
key_reading_cost(const PtSortKey *key)
{
	return key->word.ranks ? text_rank_reading_cost(key->word.ranks) : 1;
}

void
key_begin_learning(PtSortKey *key)
{
	SortKeyWord *word = &key->word;
	MemoryContext old = MemoryContextSwitchTo(key->context);

	word->code = text_code_create(word->form, word->ranks,
								  word->ranks ? word->nwords : 1, key->limit);
	MemoryContextSwitchTo(old);
}

void
key_learn(PtSortKey *key)
{
	key->word.nwords = text_code_learn(key->word.code);
	key->learning = false;
	if (key->pack.nfields == 0)
		key->nwords = key->word.nwords;
}

void
key_adopt(PtSortKey *key, const char *sample, Size length)
{
	if (!key_can_learn(key, true))
		elog(ERROR, "the tables of a collation prove its order in one process only");
	key_begin_learning(key);
	text_code_import(key->word.code, sample, length);
}

bool
key_forgo_learning(PtSortKey *key, bool compare)
{
	SortKeyWord *word = &key->word;
	bool		collated = word->ranks != NULL;

	if (collated && compare)
		word->make = NULL;
	key->learning = false;
	word->text = false;
	word->ranks = NULL;
	word->nwords = 1;
	if (key->pack.nfields == 0)
		key->nwords = 1;
	return collated && word->make != NULL;
}
