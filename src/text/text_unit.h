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
 * other functions need.  text_unit_read_wrongly makes them take each character
 * for a unit, whatever follows it, for tests.
 */
extern UnitTable *text_unit_open(Oid collation);
extern void text_unit_read_wrongly(UnitTable *table, bool wrongly);

extern bool text_unit_compare(UnitTable *table, int shared,
							  const char *a, int a_length,
							  const char *b, int b_length, int *cmp);
extern uint32 text_unit_next(UnitTable *table, const char **string,
							 const char *end, int *taken);

/*
 * text_unit_character stores the rank of a character on its own, and in
 * *begins whether it may begin a longer unit.  Returns false if the character
 * has several ranks.
 */
extern bool text_unit_character(UnitTable *table, const char *character, int n,
								uint32 *rank, bool *begins);
extern bool text_unit_continues(const UnitTable *table, char byte, char next);

#endif							/* PTSORT_TEXT_UNIT_H */
