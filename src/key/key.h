/*-------------------------------------------------------------------------
 *
 * key.h
 *	  Key columns become sort key words.
 *
 * The functions behind ptsort_variant.h's PtSortKey; see the contracts there.
 * Words come in classes:
 *
 * exact	the words order just as the columns do, and these can be rebuilt
 * prefix	words never contradict the order; equal words decide nothing
 * hint		words are a good guess of the order
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_H
#define PTSORT_KEY_H

#include "key/key_form.h"
#include "lib/stringinfo.h"
#include "ptsort_variant.h"

/* Developer GUC: which class of key to use. */
typedef enum KeyClass
{
	KEY_CLASS_AUTO,				/* the best that the columns allow */
	KEY_CLASS_PREFIX,			/* not exact */
	KEY_CLASS_COMPARED			/* no words: comparison decides everything */
} KeyClass;

extern int	ptsort_debug_key_class;

/* Developer GUC: one of so many hints is wrong; 0 is off. */
extern int	ptsort_debug_wrong_hints;

extern PtSortKey *key_index(Relation index);
extern PtSortKey *key_columns(int ncolumns, const Oid *lt_operators,
							  const Oid *collations,
							  const bool *nulls_first);
extern int	key_nwords(const PtSortKey *key);
extern void key_words(PtSortKey *key, const Datum *values,
					  const bool *isnull, uint64 *words);
extern bool key_is_exact(const PtSortKey *key);
extern void key_values(PtSortKey *key, const uint64 *words,
					   Datum *values, bool *isnull);
extern Size key_tuple(const PtSortKey *key, const uint64 *words,
					  IndexTuple tuple);
extern bool key_is_hint(const PtSortKey *key);
extern bool key_is_learning(const PtSortKey *key);
extern bool key_learn(PtSortKey *key, StringInfo result);
extern bool key_adopt(PtSortKey *key, const char *learned, Size length);

/* These of a key that learns only. */
extern Size key_limit(PtSortKey *key, Size limit);
extern Size key_memory(const PtSortKey *key);
extern Size key_peak_memory(const PtSortKey *key);
extern SortSupport key_support(PtSortKey *key);

/*
 * key_allow_restart tells the key that its user can begin again with
 * another key.  Returns where the OID of a collation will be if its comparison
 * contradicts itself, which otherwise is an error (see text_prefix.h).
 */
extern const Oid *key_allow_restart(PtSortKey *key);

/* key_form returns how an exact key's tuples are made, else NULL. */
extern const KeyForm *key_form(const PtSortKey *key);

#endif							/* PTSORT_KEY_H */
