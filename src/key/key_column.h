/*-------------------------------------------------------------------------
 *
 * key_column.h
 *	  What is known of a key column from its operator class.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_COLUMN_H
#define PTSORT_KEY_COLUMN_H

#include "compat.h"

#include "key/key_pack.h"
#include "text/text_collation.h"
#include "utils/rel.h"

/* KeyColumn: a key column, whose comparison is an index's or an operator's. */
typedef struct KeyColumn
{
	Relation	index;			/* NULL: there is an operator */
	Oid			lt_operator;
	AttrNumber	attno;			/* from 1 */
	Oid			opfamily;
	Oid			opcintype;
	Oid			comparison;		/* functions of its operator class ... */
	Oid			sortsupport;	/* ... or InvalidOid, by key_column_look_up */
	Oid			collation;
	bool		nulls_first;
	bool		reverse;		/* of an index: descending */
	int16		typlen;			/* of its values */
	bool		typbyval;
} KeyColumn;

/*
 * WordMaker makes the word of a value that is not null, in ascending order.
 * ssup holds the state of abbreviation, if the maker abbreviates.
 */
typedef uint64 (*WordMaker) (Datum value, SortSupport ssup);

/*
 * key_column_of_operator describes a column that an operator orders.  Its
 * values are of this type, or if that is InvalidOid of the operator's.
 */
extern void key_column_of_operator(KeyColumn *column, AttrNumber attno,
								   Oid type, Oid lt_operator, Oid collation,
								   bool nulls_first);

/* key_column_check_count raises an error if a key cannot have that many. */
extern void key_column_check_count(int ncolumns);

/*
 * key_column_support prepares a column's comparison, with or without
 * abbreviation, in the current memory context.
 */
extern void key_column_support(const KeyColumn *column, bool abbreviate,
							   SortSupport ssup);

/* key_column_look_up finds the support functions of a column. */
extern void key_column_look_up(KeyColumn *column);

/*
 * key_column_maker returns how to make a word of a value, given the column's
 * SortSupport with abbreviation.  NULL if there is no way but to pack it, as
 * '*kind', or none at all.
 */
extern WordMaker key_column_maker(const KeyColumn *column, SortSupport ssup,
								  FieldKind *kind);

/*
 * key_maker_decides tells whether values whose words are equal are equal.
 */
extern bool key_maker_decides(WordMaker make);

/*
 * key_column_word_bytes is the maker for strings that are ordered by their
 * bytes: the first of them, filled up with zeros.  key_column_two_words makes
 * two words, of twice as many.
 */
extern uint64 key_column_word_bytes(Datum value, SortSupport ssup);
extern void key_column_two_words(Datum value, uint64 *words);

/*
 * key_support_maker does that for a column of which only the SortSupport is
 * known, with abbreviation if it can be had, and the function that has made it
 * (or InvalidOid).
 */
extern WordMaker key_support_maker(SortSupport ssup, Oid sortsupport);

/*
 * key_column_is_bytewise tells whether the collation orders text by its bytes:
 * "C", and the C library's without rules, such as C.UTF-8.
 */
extern bool key_column_is_bytewise(Oid collation);

/*
 * key_column_is_text tells whether the column is text that a code can be
 * learned for, how its values are stored, and whether its order is that of
 * the bytes.  (Other types that are stored as text are not tried: their
 * comparison may raise an error about the strings that we show it.)
 */
extern bool key_column_is_text(const KeyColumn *column, TextForm *form,
							   bool *bytewise);

#endif							/* PTSORT_KEY_COLUMN_H */
