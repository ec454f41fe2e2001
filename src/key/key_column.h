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
#include "text/text_code.h"
#include "utils/rel.h"

/* KeyColumn: a key column, compared as in an index or by an operator. */
typedef struct KeyColumn
{
	Relation	index;			/* NULL: the column is ordered by an operator */
	Oid			lt_operator;
	AttrNumber	attno;			/* from 1 */
	Oid			opfamily;
	Oid			opcintype;
	Oid			comparison;		/* comparison function of the operator class,
								 * see key_column_look_up */
	Oid			sortsupport;	/* sort support function or InvalidOid, see
								 * key_column_look_up */
	Oid			collation;
	bool		nulls_first;
	bool		reverse;		/* descending; set for an index only */
	int16		typlen;			/* length of the column's type */
	bool		typbyval;
} KeyColumn;

/*
 * WordMaker makes the word of a value that is not null, in ascending order.
 * 'ssup' holds the state of abbreviation, if the maker abbreviates.
 */
typedef uint64 (*WordMaker) (Datum value, SortSupport ssup);

/*
 * key_column_of_operator describes a column that an operator orders.  Its
 * values have this type or, if that is InvalidOid, the operator's input type.
 */
extern void key_column_of_operator(KeyColumn *column, AttrNumber attno,
								   Oid type, Oid lt_operator, Oid collation,
								   bool nulls_first);

/*
 * key_column_check_count raises an error if a key cannot have 'ncolumns'
 * columns.
 */
extern void key_column_check_count(int ncolumns);

/*
 * key_column_support prepares a column's comparison, with or without
 * abbreviation, in the current memory context.
 */
extern void key_column_support(const KeyColumn *column, bool abbreviate,
							   SortSupport ssup);

/*
 * key_column_look_up finds the comparison and sort support functions of a
 * column.
 */
extern void key_column_look_up(KeyColumn *column);

/*
 * key_column_maker returns the maker of a column's words, given its
 * SortSupport with abbreviation.  If it returns NULL, words can only be made
 * by packing values as '*kind', or not at all if that is FIELD_NONE.
 */
extern WordMaker key_column_maker(const KeyColumn *column, SortSupport ssup,
								  FieldKind *kind);

/* key_maker_decides returns true if equal words mean equal values. */
extern bool key_maker_decides(WordMaker make);

/*
 * key_column_is_bytewise returns true if the collation orders text by its
 * bytes: "C", and collations of the C library without rules, such as C.UTF-8.
 */
extern bool key_column_is_bytewise(Oid collation);

/*
 * key_column_is_text returns true if the column is text for which a code can
 * be learned; it also returns how its values are stored, and whether they are
 * ordered by their bytes.  (Other types that are stored as text are not
 * supported: their comparison may raise an error about the strings passed to
 * it.)
 */
extern bool key_column_is_text(const KeyColumn *column, TextForm *form,
							   bool *bytewise);

#endif							/* PTSORT_KEY_COLUMN_H */
