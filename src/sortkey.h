/*-------------------------------------------------------------------------
 *
 * sortkey.h
 *	  Key columns become sort key words.
 *
 * The functions behind ptsort_variant.h's PtSortKey; see the contracts there.
 * Words come in classes.  So far there is one, *prefix*: words never
 * contradict the operator class's order, and where they are equal they decide
 * nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_SORTKEY_H
#define PTSORT_SORTKEY_H

#include "ptsort_variant.h"

/* Developer GUC: which class of key to use. */
typedef enum KeyClass
{
	KEY_CLASS_AUTO,				/* the best that the columns allow */
	KEY_CLASS_PREFIX,			/* not exact */
	KEY_CLASS_COMPARED			/* no words: comparison decides everything */
} KeyClass;

extern int	ptsort_debug_key_class;

extern PtSortKey *sortkey_index(Relation index);
extern PtSortKey *sortkey_columns(int ncolumns, const Oid *lt_operators,
								  const Oid *collations,
								  const bool *nulls_first);
extern int	sortkey_nwords(const PtSortKey *key);
extern void sortkey_words(PtSortKey *key, const Datum *values,
						  const bool *isnull, uint64 *words);
extern bool sortkey_is_exact(const PtSortKey *key);
extern void sortkey_values(PtSortKey *key, const uint64 *words,
						   Datum *values, bool *isnull);
extern SortSupport sortkey_support(PtSortKey *key);

#endif							/* PTSORT_SORTKEY_H */
