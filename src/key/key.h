/*-------------------------------------------------------------------------
 *
 * key.h
 *	  Key columns become sort key words.
 *
 * These functions implement PtSortKey; where ptsort_variant.h has a function
 * of the same name, its contract is there.  The words of a key are
 *
 * exact	if they order just as the columns do, which can be rebuilt from them
 * prefix	if they never contradict the order; equal words decide nothing
 *
 * Exact keys, and keys that must learn before their words mean anything, are
 * only for ptsort's own variants; so they are no part of the public interface.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_H
#define PTSORT_KEY_H

#include "key/key_form.h"
#include "lib/stringinfo.h"
#include "ptsort_variant.h"
#include "text/text_compare.h"

/* key_index makes the key of a btree index: all its key columns. */
extern PtSortKey *key_index(Relation index);

/*
 * key_operators is key_columns, for a sort that can make words anew once the
 * key has learned.  key_that_learns makes such a key of one by key_columns, in
 * the current context, and returns one by key_supports as it is.
 */
extern PtSortKey *key_operators(int ncolumns, const Oid *lt_operators,
								const Oid *collations,
								const bool *nulls_first);
extern PtSortKey *key_that_learns(PtSortKey *key);

/* key_datum makes the key of single values of a type. */
extern PtSortKey *key_datum(Oid type, Oid lt_operator, Oid collation,
							bool nulls_first);

extern PtSortKey *key_columns(int ncolumns, const Oid *lt_operators,
							  const Oid *collations,
							  const bool *nulls_first);
extern PtSortKey *key_supports(int ncolumns, const SortSupportData *supports);

/* key_ncolumns returns how many columns the key has. */
extern int	key_ncolumns(const PtSortKey *key);
extern int	key_nwords(const PtSortKey *key);
extern SortSupport key_support(PtSortKey *key);

/*
 * key_words makes an entry as far as it depends on the key columns: the words
 * and, of an exact key, the tail; the rest of that word becomes 0.  'words' has
 * KEY_ENTRY_WORDS elements.
 */
extern void key_words(PtSortKey *key, const Datum *values,
					  const bool *isnull, uint64 *words);

/*
 * key_word_column returns the index of the column that makes all words, -1 if
 * others have a part in them; key_value_words makes them of its value.
 */
extern int	key_word_column(const PtSortKey *key);
extern void key_value_words(PtSortKey *key, Datum value, bool isnull,
							uint64 *words);

/* key_columns_words is ptsort_key_words: as key_words, but for the tail. */
extern void key_columns_words(PtSortKey *key, const Datum *values,
							  const bool *isnull, uint64 *words);

/*
 * key_decided_columns returns how many leading columns are equal in any two
 * tuples whose words are, so that comparing these need not look at them.
 */
extern int	key_decided_columns(const PtSortKey *key);

/*
 * key_words_decide tells whether all columns are equal in any two tuples whose
 * words are equal, unless the first word is *unless, the smallest or the
 * largest one: nulls may share it with a value.
 */
extern bool key_words_decide(const PtSortKey *key, uint64 *unless);

/* key_is_exact tells whether the key is exact. */
extern bool key_is_exact(const PtSortKey *key);

/*
 * key_tuple makes the index tuple, but for its heap TID, of an entry of an
 * exact key.  Returns its size.  'tuple' has room for KEY_TUPLE_SIZE bytes.
 */
extern Size key_tuple(const PtSortKey *key, const uint64 *entry,
					  IndexTuple tuple);

/*
 * key_value returns the value of an entry of an exact key that key_datum has
 * made.  One by reference is put into 'space', of KEY_VALUE_SIZE bytes, which
 * is aligned as any type.
 */
#define KEY_VALUE_SIZE	16
extern Datum key_value(const PtSortKey *key, const uint64 *entry, char *space,
					   bool *isnull);

/*
 * key_single tells whether the key is exact and of one column whose values are
 * not by reference, and how these become entries.
 */
extern bool key_single(const PtSortKey *key, KeySingle *single);

/*
 * KeyString: bytes that order tuples with equal words, a string before those
 * that it begins, or just the other way round (descending).
 */
typedef struct KeyString
{
	const char *bytes;			/* where the value is */
	int			length;
} KeyString;

/*
 * key_has_string tells whether the order of tuples with equal words begins like
 * that, by the bytes of one column, and if so whether these are all bytes of a
 * varlena.  key_string_column returns the column's index, and key_string its
 * string from a value that is not null; false if it cannot be read where it is.
 * key_string_decides tells whether equal strings, even if one is filled up with
 * zeros, mean that all columns are equal.
 */
extern bool key_has_string(const PtSortKey *key, bool *descending,
						   bool *is_whole);
extern int	key_string_column(const PtSortKey *key);
extern bool key_string_decides(const PtSortKey *key);
extern bool key_string(const PtSortKey *key, Datum value, KeyString *string);

/*
 * key_words_are_quick: does it take less to make the words of a tuple than to
 * compare it with another one?  Not if a code makes them, or if they say
 * nothing.  Then no columns are decided by them (key_decided_columns).
 */
extern bool key_words_are_quick(const PtSortKey *key);

/*
 * key_is_by_tables returns true if a code over the weights in a collation's
 * tables makes the words.
 */
extern bool key_is_by_tables(const PtSortKey *key);

/*
 * key_is_learning: is there more to be had by learning?  Until then words
 * decide less, but do not contradict the order.
 */
extern bool key_is_learning(const PtSortKey *key);

/*
 * key_failure returns what the key does if a collation contradicts its tables.
 * Its user may set restartable, and full for a while, to verify what words say
 * by another source than the tables that they are made from.
 */
extern CompareFailure *key_failure(PtSortKey *key);

/* key_form returns how tuples are made from an exact key, NULL of others. */
extern const KeyForm *key_form(const PtSortKey *key);

/*
 * What follows is for keys that are created learning (key_is_learning).
 *
 * key_can_learn returns true if words can be learned, as those of bytewise
 * strings always can.  Those of other strings need the tables of the collation,
 * which take up to 15 ms if it is one of ICU's: then it returns false, unless
 * this process has used them before or there are 'many' values.
 *
 * key_begin_learning has the key remember, from then on, the values that words
 * are asked for: until then learning costs nothing.
 *
 * key_learn learns from these values, and appends to 'result', unless that is
 * NULL, what key_adopt of another process takes.  Then there may be fewer
 * words.
 *
 * key_forgo_learning ends it instead: the words are true then, and do not
 * change any more.  Returns whether those made before are worth less than they
 * could be, and are better made anew, if 'serial' on the same terms as
 * key_expect_few; else all participants make the same ones.
 *
 * key_learning_pays tells, between key_begin_learning and key_learn, whether it
 * is worth while to learn if there are no more than so many tuples.  Before, it
 * tells whether it might be.
 */
extern bool key_can_learn(PtSortKey *key, bool many);
extern void key_begin_learning(PtSortKey *key);
extern void key_learn(PtSortKey *key, StringInfo result);
extern void key_adopt(PtSortKey *key, const char *learned, Size length);
extern bool key_learning_pays(const PtSortKey *key, int64 tuples);
extern bool key_forgo_learning(PtSortKey *key, bool serial);

/* key_has_learned tells whether the key makes words by what was learned. */
extern bool key_has_learned(const PtSortKey *key);

/*
 * key_expect_few tells the key, before words are asked for, that it will
 * probably not learn.  It then makes no more words once they have been the same
 * for the first tuples.
 */
extern void key_expect_few(PtSortKey *key);

/*
 * key_compare_text tells the key, before words are asked for, to make words of
 * text by nothing but a code, unless they are its bytes: comparing two strings
 * once takes less.
 */
extern void key_compare_text(PtSortKey *key);

/*
 * key_limit says how many bytes the key may use while it learns; what it has
 * learned takes less.  Returns how many of these it will use at most.
 */
extern Size key_limit(PtSortKey *key, Size limit);

/*
 * key_drop_word has the key make one word from now on, the first of two; false
 * if it makes no words of which the first alone says what it said before.
 */
extern bool key_drop_word(PtSortKey *key);

/*
 * key_memory returns the bytes that the key uses now, key_growth how many more
 * one that has learned may come to use.
 */
extern Size key_memory(const PtSortKey *key);
extern Size key_growth(const PtSortKey *key);

/* key_peak_memory returns the most that it used while it learned. */
extern Size key_peak_memory(const PtSortKey *key);

#endif							/* PTSORT_KEY_H */
