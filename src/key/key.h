/*-------------------------------------------------------------------------
 *
 * key.h
 *	  Key columns become sort key words.
 *
 * PtSortKey: how key columns become words and how they compare.  It lives in
 * the memory context that is current when it is made.  The words of a key are
 *
 * exact	if their order is that of the columns, whose values can be rebuilt
 *		from them
 * prefix	if they never contradict the order; equal words decide nothing
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_H
#define PTSORT_KEY_H

#include "key/key_column.h"
#include "key/key_pack.h"
#include "ptsort_variant.h"
#include "text/text_rank.h"

/* SortKeyWord: the word or words of one column. */
typedef struct SortKeyWord
{
	int			column;			/* index into values, isnull */
	WordMaker	make;			/* NULL: 'kind' or a code makes the word, or
								 * nothing does */
	FieldKind	kind;			/* kind of a value that could be packed */
	bool		text;			/* true if a code can be learned */
	TextForm	form;			/* form of the values for that code */
	TextRanks  *ranks;			/* order of these values; NULL: bytewise */
	TextCode   *code;			/* makes one or two words; NULL until learning
								 * begins; until then words are 0 if there are
								 * ranks */
	int			nwords;
	bool		reverse;		/* descending */
	uint64		null_word;		/* smallest or largest */
	SortSupportData ssup;		/* abbreviates, with its own state */
} SortKeyWord;

/* PtSortKey: only key.c sets its fields, except those of 'failure'. */
typedef struct PtSortKey
{
	MemoryContext context;		/* context of the key's memory */
	int			nwords;
	int			word_columns;	/* leading columns that words are made from */
	bool		exact;			/* true if all columns are in the pack */
	bool		learning;		/* true until the key learned, or ended
								 * learning without a result; until then words
								 * decide less, but do not contradict the
								 * order */
	Size		limit;			/* bytes that learning may use; what is
								 * learned needs less */
	KeyPack		pack;			/* used if exact, or for several columns; else
								 * empty */
	SortKeyWord word;			/* a word of its own, or the last field of the
								 * pack */
	int			string_column;	/* index of the column by whose bytes tuples
								 * with equal words are ordered first (see
								 * key_string); -1: no such column */
	TextForm	string_form;	/* form of its values */
	bool		string_decides; /* equal strings, even if one is padded with
								 * zeros, mean that all columns are equal */
	CompareFailure failure;		/* what the key does if a collation
								 * contradicts its tables.  Callers may set
								 * restartable; they may set full temporarily,
								 * to verify the order of words by a source
								 * other than the tables they are made from */
	int			ncolumns;
	SortSupportData support[FLEXIBLE_ARRAY_MEMBER]; /* one per column */
} PtSortKey;

/* key_index makes the key of a btree index from all its key columns. */
extern PtSortKey *key_index(Relation index);

/* key_operators makes the key of columns that operators order. */
extern PtSortKey *key_operators(int ncolumns, const Oid *lt_operators,
								const Oid *collations,
								const bool *nulls_first);

/* key_datum makes the key of single values of a type. */
extern PtSortKey *key_datum(Oid type, Oid lt_operator, Oid collation,
							bool nulls_first);

/*
 * key_words makes the part of an entry that depends on the key columns: the
 * words and, for an exact key, the tail; the other bits of the tail's word
 * become 0.  It reads the values of the key's word_columns.  'words' has
 * KEY_ENTRY_WORDS elements.
 */
extern void key_words(PtSortKey *key, const Datum *values,
					  const bool *isnull, uint64 *words);

/*
 * key_value_words is key_words for a key whose words only the first column
 * makes, if it is not packed.
 */
extern void key_value_words(PtSortKey *key, Datum value, bool isnull,
							uint64 *words);

/*
 * key_decided_columns returns how many leading columns are certainly equal in
 * tuples with equal words, so that comparing these tuples can skip the
 * columns.
 */
extern int	key_decided_columns(const PtSortKey *key);

/*
 * key_words_decide returns true if all columns are equal in any two tuples
 * with equal words, unless their first word is *unless: that is the smallest
 * or the largest word, which nulls may share with a value.
 */
extern bool key_words_decide(const PtSortKey *key, uint64 *unless);

/*
 * KeyString: bytes that order tuples with equal words like memcmp(), a string
 * before longer ones that it begins; or in exactly the reverse order
 * (descending).
 */
typedef struct KeyString
{
	const char *bytes;			/* points into the value */
	int			length;
} KeyString;

/*
 * key_string sets *string to the string of a non-null value of the key's
 * string_column; returns false if the value must be detoasted first.
 */
extern bool key_string(const PtSortKey *key, Datum value, KeyString *string);

/*
 * key_words_are_quick returns true if making the words of a tuple costs less
 * than comparing it with another tuple.  False if a code makes the words, or
 * if they carry no information; then they decide no columns
 * (key_decided_columns).
 */
extern bool key_words_are_quick(const PtSortKey *key);

/*
 * The following functions are for keys that are created learning.
 *
 * key_can_learn returns true if words can be learned.  Words of bytewise
 * strings always can.  Those of other strings need the tables of the collation.
 * ICU's are slow to load: then it returns false, unless this process already
 * loaded them or there are 'many' values.
 *
 * key_begin_learning makes the key collect a sample of the values whose words
 * are made from then on.  Before, learning costs nothing.
 *
 * key_adopt makes a sample that text_code_export made in another process the
 * key's, which then learns the same.
 *
 * key_learn learns from the sample.  That may reduce the number of words.
 *
 * key_forgo_learning ends learning without a result: from then on words are
 * those made without a code.  If 'compare', text that is not ordered by its
 * bytes has none, because comparing is cheaper than making them.  Returns true
 * if the caller should make earlier words again, because they carry less
 * information than they could.
 */
extern bool key_can_learn(PtSortKey *key, bool many);
extern void key_begin_learning(PtSortKey *key);
extern void key_learn(PtSortKey *key);
extern void key_adopt(PtSortKey *key, const char *sample, Size length);
extern bool key_forgo_learning(PtSortKey *key, bool compare);

/* key_memory returns the bytes that the key uses now. */
extern Size key_memory(const PtSortKey *key);

#endif							/* PTSORT_KEY_H */
