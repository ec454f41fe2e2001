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
 * hints	if they are a good guess of the order, to be verified
 *
 * Exact keys, hints, and keys that must learn before their words mean anything
 * are those of indexes only; so they are no part of the public interface.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_H
#define PTSORT_KEY_H

#include "key/key_form.h"
#include "lib/stringinfo.h"
#include "ptsort_variant.h"

/* Developer GUC: the best class of key that may be used. */
typedef enum KeyClass
{
	KEY_CLASS_AUTO,				/* the best that the columns allow */
	KEY_CLASS_PREFIX,			/* not exact */
	KEY_CLASS_COMPARED			/* no words: comparison decides everything */
} KeyClass;

extern int	ptsort_debug_key_class;

/* Developer GUC: one in this many hints is wrong; 0 is off. */
extern int	ptsort_debug_wrong_hints;

/* key_index makes the key of a btree index: all its key columns. */
extern PtSortKey *key_index(Relation index);

extern PtSortKey *key_columns(int ncolumns, const Oid *lt_operators,
							  const Oid *collations,
							  const bool *nulls_first);
extern int	key_nwords(const PtSortKey *key);
extern SortSupport key_support(PtSortKey *key);

/*
 * key_words makes an entry as far as it depends on the key columns: the words
 * and, of an exact key, the tail; the rest of that word becomes 0.  'words' has
 * KEY_ENTRY_WORDS elements.
 */
extern void key_words(PtSortKey *key, const Datum *values,
					  const bool *isnull, uint64 *words);

/* key_is_exact tells whether the key is exact. */
extern bool key_is_exact(const PtSortKey *key);

/*
 * key_tuple makes the index tuple, but for its heap TID, of an entry of an
 * exact key.  Returns its size.  'tuple' has room for KEY_TUPLE_SIZE bytes.
 */
extern Size key_tuple(const PtSortKey *key, const uint64 *entry,
					  IndexTuple tuple);

/* key_is_hint: may the words contradict the columns' order? */
extern bool key_is_hint(const PtSortKey *key);

/*
 * key_is_learning: must the key learn before its words are worth anything?
 * Until then they are 0, and key_words remembers what it is shown.
 */
extern bool key_is_learning(const PtSortKey *key);
extern SortSupport key_support(PtSortKey *key);

/*
 * key_allow_restart tells the key that its user can start over with another
 * key.  Returns where the key stores the OID of a collation whose comparison
 * is found to contradict itself; otherwise that is an error (text_prefix.h).
 */
extern const Oid *key_allow_restart(PtSortKey *key);

/* key_form returns how tuples are made from an exact key, NULL of others. */
extern const KeyForm *key_form(const PtSortKey *key);

/*
 * What follows is for keys that are created learning (key_is_learning).
 *
 * key_learn learns from the values that words have been asked for, and appends
 * to 'result', unless that is NULL, what key_adopt of another process takes.
 * Both return whether the words put all of these values in order.
 */
extern bool key_learn(PtSortKey *key, StringInfo result);
extern bool key_adopt(PtSortKey *key, const char *learned, Size length);

/*
 * key_limit says how many bytes the key may use while it learns; what it has
 * learned takes less.  Returns how many of these it will use at most.
 */
extern Size key_limit(PtSortKey *key, Size limit);

/* key_memory returns the bytes that the key uses now. */
extern Size key_memory(const PtSortKey *key);

/* key_peak_memory returns the most that it used while it learned. */
extern Size key_peak_memory(const PtSortKey *key);

#endif							/* PTSORT_KEY_H */
