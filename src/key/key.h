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

#include "key/key_form.h"
#include "lib/stringinfo.h"
#include "ptsort_variant.h"
#include "text/text_rank.h"

typedef struct PtSortKey PtSortKey;

/* key_index makes the key of a btree index from all its key columns. */
extern PtSortKey *key_index(Relation index);

/* key_operators makes the key of columns that operators order. */
extern PtSortKey *key_operators(int ncolumns, const Oid *lt_operators,
								const Oid *collations,
								const bool *nulls_first);

/* key_datum makes the key of single values of a type. */
extern PtSortKey *key_datum(Oid type, Oid lt_operator, Oid collation,
							bool nulls_first);

/* key_ncolumns returns how many columns the key has. */
extern int	key_ncolumns(const PtSortKey *key);
extern int	key_nwords(const PtSortKey *key);
extern SortSupport key_support(PtSortKey *key);

/*
 * key_words makes the part of an entry that depends on the key columns: the
 * words and, for an exact key, the tail; the other bits of the tail's word
 * become 0.  'words' has KEY_ENTRY_WORDS elements.
 */
extern void key_words(PtSortKey *key, const Datum *values,
					  const bool *isnull, uint64 *words);

/*
 * key_word_column returns the index of the column that alone makes all words,
 * or -1 if several columns contribute.  key_value_words makes the words from
 * its value.
 */
extern int	key_word_column(const PtSortKey *key);
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

/* key_is_exact returns true if the key is exact. */
extern bool key_is_exact(const PtSortKey *key);

/*
 * key_tuple makes the index tuple of an entry of an exact key, without its
 * heap TID.  Returns its size.  'tuple' has room for KEY_TUPLE_SIZE bytes.
 */
extern Size key_tuple(const PtSortKey *key, const uint64 *entry,
					  IndexTuple tuple);

/*
 * key_value returns the value of an entry of an exact key made by key_datum.
 * A value by reference is stored in 'space', which has KEY_VALUE_SIZE bytes
 * and maximum alignment.
 */
#define KEY_VALUE_SIZE	16
extern Datum key_value(const PtSortKey *key, const uint64 *entry, char *space,
					   bool *isnull);

/*
 * key_single returns true if the key is exact and has one column, passed by
 * value; it then fills in how values become entries.
 */
extern bool key_single(const PtSortKey *key, KeySingle *single);

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
 * key_has_string returns true if tuples with equal words are ordered first by
 * the bytes of one column.  key_string_column returns the column's index.
 * key_string returns the column's string from a value that is not null, or
 * false if the value must be detoasted first.  key_string_decides returns true
 * if equal strings, even if one is padded with zeros, mean that all columns are
 * equal.
 */
extern bool key_has_string(const PtSortKey *key, bool *descending);
extern int	key_string_column(const PtSortKey *key);
extern bool key_string_decides(const PtSortKey *key);
extern bool key_string(const PtSortKey *key, Datum value, KeyString *string);

/*
 * key_words_are_quick returns true if making the words of a tuple costs less
 * than comparing it with another tuple.  False if a code makes the words, or
 * if they carry no information; then they decide no columns
 * (key_decided_columns).
 */
extern bool key_words_are_quick(const PtSortKey *key);

/*
 * key_is_by_tables returns true if words are made by a code over the weights
 * in a collation's tables.
 */
extern bool key_is_by_tables(const PtSortKey *key);

/*
 * key_is_learning returns true until the key has learned, or has given up
 * learning.  Until then words decide less, but do not contradict the order.
 */
extern bool key_is_learning(const PtSortKey *key);

/*
 * key_failure returns what the key does if a collation contradicts its tables.
 * The caller may set restartable; it may also set full temporarily, to verify
 * the order of words by a source other than the tables that they are made
 * from.
 */
extern CompareFailure *key_failure(PtSortKey *key);

/*
 * key_form returns how tuples are made from an exact key, or NULL if the key
 * is not exact.
 */
extern const KeyForm *key_form(const PtSortKey *key);

/*
 * The following functions are for keys that are created learning
 * (key_is_learning).
 *
 * key_can_learn returns true if words can be learned.  Those of bytewise
 * strings always can.  Those of other strings need the tables of the
 * collation.  ICU's are slow to load: then it returns false, unless this
 * process has loaded them already or there are 'many' values.
 *
 * key_begin_learning makes the key collect a sample of the values whose words
 * are made from then on.  Before, learning costs nothing.
 *
 * key_export appends the sample to 'target', before learning.  key_adopt makes
 * it the sample of another process's key, which then learns the same.
 *
 * key_learn learns from the sample.  That may reduce the number of words.
 *
 * key_forgo_learning ends learning without a result: from then on words are
 * those made without a code.  If 'compare', text that is not ordered by its
 * bytes has none, because comparing is cheaper than making them.  Returns true
 * if the words made before carry less information than they could, and should
 * be made again.
 */
extern bool key_can_learn(PtSortKey *key, bool many);
extern void key_begin_learning(PtSortKey *key);
extern void key_export(const PtSortKey *key, StringInfo target);
extern void key_learn(PtSortKey *key);
extern void key_adopt(PtSortKey *key, const char *sample, Size length);
extern bool key_forgo_learning(PtSortKey *key, bool compare);

/* key_has_learned returns true if the key makes words by what was learned. */
extern bool key_has_learned(const PtSortKey *key);

/*
 * key_limit sets how many bytes the key may use while it learns; what it has
 * learned needs less.  Returns how many of these bytes are used at most.
 */
extern Size key_limit(PtSortKey *key, Size limit);

/* key_memory returns the bytes that the key uses now. */
extern Size key_memory(const PtSortKey *key);

/*
 * key_peak_memory returns the maximum memory used during learning, in bytes.
 */
extern Size key_peak_memory(const PtSortKey *key);

#endif							/* PTSORT_KEY_H */
