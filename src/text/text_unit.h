/*-------------------------------------------------------------------------
 *
 * text_unit.h
 *	  The order of characters and strings by what ICU tells.
 *
 * These are the functions of text_rank.h for collations that ICU provides.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_TEXT_UNIT_H
#define PTSORT_TEXT_UNIT_H

#include "compat.h"

/* UnitTable: what this process knows of a collation, as long as it lives. */
typedef struct UnitTable
{
	struct UnitTable *next;
	Oid			collation;
	bool		opened;			/* ICU has been asked */
	struct UnitCache *cache;	/* what it tells; NULL: nothing */

	/* what text_rank.c has found out by comparing */
	bool		agrees;

	/* pairs that text_compare.c has compared both ways */
	int			compared;

	/* for tests: take all characters for units, whatever follows them */
	bool		single;
} UnitTable;

/*
 * text_unit_table returns a collation's table, which is valid until the process
 * ends.  text_unit_open asks ICU, unless it has been asked, which takes 3 to
 * 15 ms, and returns whether it tells what the other functions need.
 */
extern UnitTable *text_unit_table(Oid collation);
extern bool text_unit_open(UnitTable *table);

extern bool text_unit_compare(UnitTable *table, int shared,
							  const char *a, int a_length,
							  const char *b, int b_length, int *cmp);
extern uint32 text_unit_next(UnitTable *table, const char **string,
							 const char *end, int *taken);

/*
 * text_unit_character tells the rank of a character that is the only one of a
 * unit, and whether that may be longer.  False if it has several ranks.
 */
extern bool text_unit_character(UnitTable *table, const char *character, int n,
								uint32 *rank, bool *begins);
extern bool text_unit_ends(UnitTable *table, const char *string, int n,
						   const char *end);
extern bool text_unit_is_alone(const UnitTable *table, char byte);
extern bool text_unit_continues(const UnitTable *table, char byte, char next);

#endif							/* PTSORT_TEXT_UNIT_H */
