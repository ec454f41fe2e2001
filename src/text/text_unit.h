/*-------------------------------------------------------------------------
 *
 * text_unit.h
 *	  The order of characters and strings by the data of ICU.
 *
 * These are the functions of text_rank.h for collations that ICU provides.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_UNIT_H
#define PTSORT_TEXT_UNIT_H

#include "compat.h"

/* UnitTable: what this process knows about a collation of ICU. */
typedef struct UnitTable UnitTable;

/*
 * text_unit_open opens a collation in ICU, which can be slow.  Returns its
 * table, valid until the process ends, or NULL if ICU does not provide what the
 * other functions need.
 */
extern UnitTable *text_unit_open(Oid collation);

extern bool text_unit_compare(UnitTable *table, int shared,
							  const char *a, int a_length,
							  const char *b, int b_length, int *cmp);
extern uint32 text_unit_next(UnitTable *table, const char **string,
							 const char *end, int *taken);

extern bool text_unit_character(UnitTable *table, const char *character, int n,
								bool *begins);
extern bool text_unit_continues(const UnitTable *table, char byte, char next);

#endif							/* PTSORT_TEXT_UNIT_H */
