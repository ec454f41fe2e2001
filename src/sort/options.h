/*-------------------------------------------------------------------------
 *
 * options.h
 *	  Checks of the options that a caller sets for a sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_OPTIONS_H
#define PTSORT_OPTIONS_H

#include "compat.h"

#include "order/sortextras.h"

/*
 * options_check raises an error if the options do not fit together, or do not
 * fit the variant and its number of words.
 */
extern void options_check(const PtSortVariant *variant,
						  const SortOptions *options, int nwords);

#endif							/* PTSORT_OPTIONS_H */
