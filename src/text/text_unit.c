/*-------------------------------------------------------------------------
 *
 * text_unit.c
 *	  The order of characters and strings by the data of ICU.
 *
 * ptsort divides a string into *units*, whose weights do not depend on the
 * characters around them.  A unit is nearly always one character.  Otherwise
 * it consists of consecutive characters that could form a contraction or
 * change places (text_icu.c), even if they do not.  The ranks of a string are
 * the concatenated ranks of its units.
 *
 * A cache, for all sorts of the process, holds ICU's data about characters and
 * short units.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/hashfn.h"
#include "debug.h"
#include "text/text_icu.h"
#include "text/text_table.h"
#include "utils/memutils.h"

/* Maximum size of a cached unit: three Hangul letters, or "ddzs". */
#define MAX_UNIT_BYTES	14
#define MAX_UNIT_RANKS	4

typedef struct Unit
{
	char		bytes[MAX_UNIT_BYTES];
	uint8		length;			/* 0: unused */
	uint8		nranks;
	uint32		ranks[MAX_UNIT_RANKS];
} Unit;

struct UnitTable
{
	IcuCollation *icu;
	IcuCharacter ascii[128];
	IcuCharacter characters[KEPT_CHARACTERS];
	Unit		units[KEPT_CHARACTERS / 2];

	/* the unit whose ranks text_unit_next is returning */
	const Unit *unit;			/* NULL: not cached, ranks come from ICU */
	const char *unit_end;
	uint32		next_rank;		/* next rank from ICU */
};

UnitTable *
text_unit_open(Oid collation)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	IcuCollation *icu = text_icu_open(collation);
	UnitTable  *table = NULL;

	if (icu)
	{
		table = palloc0(sizeof(UnitTable));
		table->icu = icu;
		for (int c = 1; c < lengthof(table->ascii); c++)
			table->ascii[c] = text_icu_character(icu, c);
	}
	MemoryContextSwitchTo(old);
	return table;
}


/*
 * Characters
 */

static const IcuCharacter *
find_character(UnitTable *table, pg_wchar code_point)
{
	IcuCharacter *character =
		&table->characters[code_point % KEPT_CHARACTERS];

	if (character->code_point != code_point)
		*character = text_icu_character(table->icu, code_point);
	return character;
}

/* Returns the character at *string and advances *string past it. */
static inline IcuCharacter
next_character(UnitTable *table, const char **string, const char *end)
{
	if (likely(!IS_HIGHBIT_SET(**string)))
		return table->ascii[(int) *(*string)++];
	return *find_character(table, text_icu_code_point(string, end));
}

/* True if two consecutive characters may have weights of their own. */
static bool
joins(const UnitTable *table, const IcuCharacter *character,
	  const IcuCharacter *next)
{
	if (ptsort_debug.trust_collations)
		return false;
	if (character->flags & CHARACTER_JOINS)
		return true;
	if (!(character->flags & CHARACTER_BEGINS) ||
		!(next->flags & CHARACTER_CONTINUES))
		return false;
	return character->code_point >= 0x80 || next->code_point >= 0x80 ||
		text_icu_joined(table->icu, character->code_point,
						next->code_point);
}

/* True if a unit ends after 'character'.  'string' is the rest of the text. */
static inline bool
ends(UnitTable *table, const IcuCharacter *character, const char *string,
	 const char *end)
{
	IcuCharacter next;

	if (likely(!(character->flags & (CHARACTER_BEGINS | CHARACTER_JOINS))) ||
		string == end)
		return true;
	next = next_character(table, &string, end);
	return !joins(table, character, &next);
}

bool
text_unit_is_character(UnitTable *table, const char *string, const char *end)
{
	IcuCharacter character = next_character(table, &string, end);

	return ends(table, &character, string, end);
}

bool
text_unit_begins(UnitTable *table, const char *character, int n)
{
	IcuCharacter found = next_character(table, &character, character + n);

	return (found.flags & (CHARACTER_BEGINS | CHARACTER_JOINS)) != 0;
}

bool
text_unit_continues(const UnitTable *table, char byte, char next)
{
	const IcuCharacter *ascii = table->ascii;

	return IS_HIGHBIT_SET(next) ||
		joins(table, &ascii[(int) byte], &ascii[(int) next]);
}


/*
 * Units
 */

/* Returns the end of a unit whose first character ends at 'string'. */
static const char *
unit_end(UnitTable *table, IcuCharacter character, const char *string,
		 const char *end)
{
	while (!ends(table, &character, string, end))
		character = next_character(table, &string, end);
	return string;
}

/* Read a unit's ranks from ICU.  Returns false if there are too many ranks. */
static bool
read_unit(UnitTable *table, Unit *unit, const char *string, int length)
{
	uint32		rank;

	unit->length = 0;
	unit->nranks = 0;
	text_icu_begin(table->icu, string, string + length);
	while ((rank = text_icu_next(table->icu)) != 0)
	{
		if (unit->nranks == MAX_UNIT_RANKS)
			return false;
		unit->ranks[unit->nranks++] = rank;
	}
	unit->length = length;
	memcpy(unit->bytes, string, length);
	return true;
}

/* Returns a cached unit; NULL if the unit is too large. */
static const Unit *
find_unit(UnitTable *table, const char *string, int length)
{
	Unit	   *unit;

	if (length > MAX_UNIT_BYTES)
		return NULL;
	unit = &table->units[hash_bytes((const unsigned char *) string, length) %
						 lengthof(table->units)];
	if (unit->length == length && memcmp(unit->bytes, string, length) == 0)
		return unit;
	return read_unit(table, unit, string, length) ? unit : NULL;
}

static void
begin_unit(UnitTable *table, const char *string, const char *end)
{
	table->unit_end = end;
	table->unit = find_unit(table, string, end - string);
	if (table->unit)
		return;
	text_icu_begin(table->icu, string, end);
	table->next_rank = text_icu_next(table->icu);
}

/*
 * Returns the current unit's rank after the first 'taken' ranks; 0 if there is
 * none.  Sets *last to true if no ranks follow the returned one.
 */
static uint32
next_of_unit(UnitTable *table, int taken, bool *last)
{
	uint32		rank;

	if (table->unit)
	{
		*last = taken + 1 >= table->unit->nranks;
		return table->unit->nranks == 0 ? 0 : table->unit->ranks[taken];
	}
	rank = table->next_rank;
	table->next_rank = rank == 0 ? 0 : text_icu_next(table->icu);
	*last = table->next_rank == 0;
	return rank;
}

uint32
text_unit_next(UnitTable *table, const char **string, const char *end,
			   int *taken)
{
	uint32		rank;
	bool		last;

	if (*taken == 0)
	{
		const char *at = *string;
		IcuCharacter character = next_character(table, &at, end);

		if (!(character.flags & CHARACTER_SEVERAL) &&
			ends(table, &character, at, end))
		{
			*string = at;
			return character.rank;
		}
		begin_unit(table, *string, unit_end(table, character, at, end));
	}
	rank = next_of_unit(table, *taken, &last);
	(*taken)++;
	if (last)
	{
		*string = table->unit_end;
		*taken = 0;
	}
	return rank;
}


/*
 * Comparing
 */

/* A simple unit is a single character with at most one rank. */
#define NOT_SIMPLE	PG_UINT32_MAX

/* Returns the next rank of a string, 0 at its end, or NOT_SIMPLE. */
static inline uint32
next_simple(UnitTable *table, const char **string, const char *end)
{
	while (*string < end)
	{
		IcuCharacter character = next_character(table, string, end);

		if (unlikely(character.flags & CHARACTER_SEVERAL) ||
			!ends(table, &character, *string, end))
			return NOT_SIMPLE;
		if (likely(character.rank != 0))
			return character.rank;
	}
	return 0;
}

/*
 * text_unit_compare: see text_rank_compare.  If a unit is not simple, ICU
 * compares the strings: comparing ranks would not be faster.
 */
bool
text_unit_compare(UnitTable *table, int shared, const char *a, int a_length,
				  const char *b, int b_length, int *cmp)
{
	const char *a_end = a + a_length;
	const char *b_end = b + b_length;
	uint32		left;
	uint32		right;

	/* go back to a byte after which a unit always ends */
	while (shared > 0 && (IS_HIGHBIT_SET(a[shared - 1]) ||
						  (table->ascii[(int) a[shared - 1]].flags &
						   CHARACTER_BEGINS)))
		shared--;
	a += shared;
	b += shared;
	do
	{
		left = next_simple(table, &a, a_end);
		right = next_simple(table, &b, b_end);
	} while (left == right && left != 0 && left != NOT_SIMPLE);
	*cmp = (left > right) - (left < right);
	return left != right && left != NOT_SIMPLE && right != NOT_SIMPLE;
}
