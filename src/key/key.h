/*-------------------------------------------------------------------------
 *
 * key.h
 *	  The words of sort keys, made from key columns.
 *
 * A PtSortKey describes how to make words from key columns and how to compare
 * the columns.  It lives in the memory context where the caller made it.  Words
 * are
 *
 * exact	if words have the order of the columns, and ptsort can rebuild the
 *		columns' values from the words
 * prefix	if words never contradict the order, but equal words decide nothing
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
								 * there is no word */
	FieldKind	kind;			/* kind of the values if they can be packed */
	bool		text;			/* true if the key can learn a code */
	TextForm	form;			/* form of the values for a code */
	TextRanks  *ranks;			/* order of the values; NULL: bytewise */
	TextCode   *code;			/* makes one or two words; NULL before
								 * learning.  If 'ranks' is set, words without
								 * a code are 0 */
	int			nwords;
	bool		reverse;		/* descending */
	uint64		null_word;		/* smallest or largest */
	SortSupportData ssup;		/* for abbreviation, with its own state */
} SortKeyWord;

/* PtSortKey: only key.c sets its fields, except those of 'failure'. */
typedef struct PtSortKey
{
	MemoryContext context;		/* context of the key's memory */
	int			nwords;
	int			word_columns;	/* number of leading columns in the words */
	bool		exact;			/* true if all columns are in the pack */
	bool		learning;		/* true until learning ends; until then words
								 * decide less */
	Size		limit;			/* number of bytes that learning may use; the
								 * result needs fewer */
	KeyPack		pack;			/* used if 'exact', or to pack several
								 * columns; otherwise empty */
	SortKeyWord word;			/* word of a key that is not packed, or the
								 * last field of the pack */
	int			string_column;	/* index of the column whose bytes are the
								 * first to order tuples with equal words (see
								 * key_string); -1: no column */
	TextForm	string_form;	/* form of string_column's values */
	bool		string_decides; /* true if equal zero-padded strings mean that
								 * all columns are equal */
	CompareFailure failure;		/* what the key does if a collation
								 * contradicts its tables.  Callers may set
								 * 'restartable'.  They may set 'full'
								 * temporarily; comparisons without the tables
								 * then verify words that the tables made */
	int			ncolumns;
	SortSupportData support[FLEXIBLE_ARRAY_MEMBER]; /* one per column */
} PtSortKey;

/* key_index makes the key of a btree index from all its key columns. */
extern PtSortKey *key_index(Relation index);

/* key_operators makes a key of columns with an ordering operator each. */
extern PtSortKey *key_operators(int ncolumns, const Oid *lt_operators,
								const Oid *collations,
								const bool *nulls_first);

/* key_datum makes the key of single values of a type. */
extern PtSortKey *key_datum(Oid type, Oid lt_operator, Oid collation,
							bool nulls_first);

/*
 * key_words makes the part of an entry that depends on the key columns: the
 * words and, for an exact key, the tail.  It sets the bits below the tail to 0.
 * It reads the values of the first word_columns columns.  'words' has
 * KEY_ENTRY_WORDS elements.
 */
extern void key_words(PtSortKey *key, const Datum *values,
					  const bool *isnull, uint64 *words);

/* Returns the number of leading columns that equal words prove to be equal. */
extern int	key_decided_columns(const PtSortKey *key);

/*
 * key_words_decide returns true if equal words prove all columns to be equal,
 * unless the first word is *unless: that of nulls, and perhaps of a value.
 */
extern bool key_words_decide(const PtSortKey *key, uint64 *unless);

/*
 * KeyString: bytes that order tuples with equal words.  The order is that of
 * memcmp(), and a prefix comes before longer strings.  If the column is
 * descending, the order is exactly the reverse.
 */
typedef struct KeyString
{
	const char *bytes;			/* points into the value */
	int			length;
} KeyString;

/*
 * key_string sets *string from a non-null value of the key's string_column.
 * Returns false if the caller must detoast the value first.
 */
extern bool key_string(const PtSortKey *key, Datum value, KeyString *string);

/*
 * True if making the words of a tuple costs less than comparing it with another
 * tuple.  If not, the words decide no columns (key_decided_columns).
 */
extern bool key_words_are_quick(const PtSortKey *key);

/*
 * The following functions are for keys whose 'learning' is true at creation.
 *
 * key_can_learn returns true if the key can learn.  ICU's tables are slow to
 * load, so the key can learn with them only if this process already loaded them
 * or there are 'many' values: enough for key_reading_cost (see
 * text_rank_reading_cost).
 *
 * After key_begin_learning, the key samples the values for which it makes
 * words.
 *
 * key_adopt gives the key a sample that text_code_export made in another
 * process.  The key then learns the same code as that process.
 *
 * key_learn learns from the sample.  Learning may reduce the number of words.
 *
 * key_forgo_learning ends learning without a result: from then on the key makes
 * words without a code.  If 'compare' is true, the key makes no words of text
 * that is not bytewise, because comparing is cheaper than making words.
 * Returns true if the caller should make earlier words again because new words
 * carry more information.
 */
extern bool key_can_learn(PtSortKey *key, bool many);
extern int	key_reading_cost(const PtSortKey *key);
extern void key_begin_learning(PtSortKey *key);
extern void key_learn(PtSortKey *key);
extern void key_adopt(PtSortKey *key, const char *sample, Size length);
extern bool key_forgo_learning(PtSortKey *key, bool compare);

/* Bytes that the key uses now */
extern Size key_memory(const PtSortKey *key);

#endif							/* PTSORT_KEY_H */
