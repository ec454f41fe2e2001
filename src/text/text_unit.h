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

/*
 * UnitTable: what this process knows about a collation; valid until it ends.
 */
typedef struct UnitTable
{
	struct UnitTable *next;
	Oid			collation;
	bool		opened;			/* true once text_unit_open was called */
	struct UnitCache *cache;	/* ICU's data; NULL if ICU provides none */

	/* true if the order passed the tests of text_rank.c */
	bool		agrees;

	/* number of pairs that text_compare.c compared both ways */
	int			compared;

	/* for tests: treat each character as a unit, whatever follows it */
	bool		single;
} UnitTable;

/*
 * text_unit_table returns a collation's table, which is valid until the
 * process ends.  text_unit_open opens the collation in ICU on its first call,
 * which can be slow.  It returns true if ICU provides what the other functions
 * need.
 */
extern UnitTable *text_unit_table(Oid collation);
extern bool text_unit_open(UnitTable *table);

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
extern bool text_unit_ends(UnitTable *table, const char *string, int n,
						   const char *end);
extern bool text_unit_is_alone(const UnitTable *table, char byte);
extern bool text_unit_continues(const UnitTable *table, char byte, char next);

#endif							/* PTSORT_TEXT_UNIT_H */
