/*-------------------------------------------------------------------------
 *
 * key_column.h
 *	  Properties of a key column that follow from its operator class.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_KEY_COLUMN_H
#define PTSORT_KEY_COLUMN_H

#include "compat.h"

#include "key/key_pack.h"
#include "text/text_code.h"
#include "utils/rel.h"

/* KeyColumn: a key column of an index, or a column ordered by an operator. */
typedef struct KeyColumn
{
	Relation	index;			/* NULL: an operator orders the column */
	Oid			lt_operator;
	AttrNumber	attno;			/* from 1 */
	Oid			opfamily;
	Oid			opcintype;
	Oid			comparison;		/* of the operator class */
	Oid			sortsupport;	/* of the operator class, or InvalidOid */
	Oid			collation;
	bool		nulls_first;
	bool		reverse;		/* true for a descending column of an index */
	int16		typlen;			/* length of the column's type */
	bool		typbyval;
} KeyColumn;

/*
 * WordMaker makes the word of a non-null value for ascending order.  If the
 * maker abbreviates, 'ssup' holds the state of abbreviation.
 */
typedef uint64 (*WordMaker) (Datum value, SortSupport ssup);

/*
 * key_column_of_operator describes a column that an operator orders.  If 'type'
 * is InvalidOid, the values have the operator's input type.
 */
extern void key_column_of_operator(KeyColumn *column, AttrNumber attno,
								   Oid type, Oid lt_operator, Oid collation,
								   bool nulls_first);

/* Prepares a column's comparison in the current memory context. */
extern void key_column_support(const KeyColumn *column, bool abbreviate,
							   SortSupport ssup);

/* key_column_look_up sets 'comparison' and 'sortsupport'. */
extern void key_column_look_up(KeyColumn *column);

/*
 * key_column_maker returns the maker of a column's words; 'ssup' is prepared
 * with abbreviation.  If the result is NULL, packing values as '*kind' makes
 * the words, unless '*kind' is FIELD_NONE.
 */
extern WordMaker key_column_maker(const KeyColumn *column, SortSupport ssup,
								  FieldKind *kind);

/* True if a maker's equal words mean equal values. */
extern bool key_maker_decides(WordMaker make);

/*
 * key_column_is_text returns true if the column is text for which ptsort can
 * learn a code, and sets *bytewise to true if its order is that of bytes.
 * (Not for other types that are stored as text: their comparison may raise an
 * error about its arguments.)
 */
extern bool key_column_is_text(const KeyColumn *column, TextForm *form,
							   bool *bytewise);

#endif							/* PTSORT_KEY_COLUMN_H */
