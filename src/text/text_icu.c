/*-------------------------------------------------------------------------
 *
 * text_icu.c
 *	  Information from ICU about its collations.
 *
 * ICU's comparison (ucol_strcollUTF8) reads the collation elements of two
 * strings and first compares their primary weights of 32 bits each
 * (i18n/collationcompare.cpp).  The comparison skips weights of 0.  ucol_next()
 * returns the elements of a string, some of them in two halves.  Two settings
 * of a collation affect primary weights:
 *
 * alternate handling	if it is "shifted", weights of blanks and punctuation
 *						(weights up to a variable top) count as 0
 * reordering			ICU moves scripts: the weights of a script get
 *						new leading bytes.  U+FDD1 followed by a letter of
 *						the script has the script's first weight, and the sort
 *						key of these two characters begins with the new
 *						leading byte of this weight.
 *
 * The elements of a character may depend on its neighbours:
 *
 * contractions			several characters have elements of their own, as "ch"
 *						has in Czech, or a letter depends on characters before
 *						it; ucol_getContractionsAndExpansions() returns both
 * marks				characters with a combining class may be between the
 *						parts of a contraction, or change places if the
 *						collation normalizes
 * numbers				in a numeric collation, several digits form a number
 *
 * A collation contradicts itself if it normalizes and has letters composed of a
 * Latin letter and a mark, as Vietnamese has.  ICU compares strings that are
 * all Latin by a fast path that does not normalize, and does not see that a
 * mark turns a letter into another one.  ptsort does not use these collations.
 *
 * ptsort links only against the server, and ICU renames its functions with
 * every release.  So ptsort looks the functions up by name.  If the process
 * contains several releases of ICU, ptsort cannot tell which one the server
 * calls, and uses none.  Should it still use the wrong one, text_rank.c, which
 * tests the ranks, notices.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <ctype.h>
#include <dlfcn.h>

#include "miscadmin.h"
#include "text/text_icu.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/* Types of ICU, defined here because ICU's headers need not be installed. */
typedef struct UCollator UCollator;
typedef struct UCollationElements UCollationElements;
typedef struct USet USet;
typedef uint16 UChar;

/* Constants of ICU. */
enum
{
	UCOL_ALTERNATE_HANDLING = 1,
	UCOL_NORMALIZATION_MODE = 4,
	UCOL_NUMERIC_COLLATION = 7,
	UCOL_ON = 17,
	UCOL_SHIFTED = 20,
	UCOL_NON_IGNORABLE = 21,
	UCOL_NULLORDER = -1,
	UCHAR_LEAD_CLASS = 0x1010,
	UCHAR_TRAIL_CLASS = 0x1011
};

/* Bits that are set in the second half of an element, but not in the first. */
#define SECOND_HALF		0xC0

/* The releases of ICU that ptsort looks for. */
#define FIRST_RELEASE	60
#define LAST_RELEASE	99

/* Limits: UTF-16 units of a contraction, bytes of two characters' sort key */
#define MAX_CONTRACTION 64
#define MAX_SORT_KEY	(4 * MAX_CONTRACTION)

/* Weight of U+FFFE; "shifted" handling ignores only weights above this one. */
#define SEPARATOR_WEIGHT	0x02000000

/* ICU's fast path for Latin covers code points below this one. */
#define LATIN_END		0x180

/* SCRIPT_MARK, one of a range of marks, precedes a letter of a script. */
enum
{
	FIRST_MARK = 0xFDD0,
	SCRIPT_MARK = 0xFDD1,
	LAST_MARK = 0xFDEF
};

/* ICU's functions; *error is > 0 after an error and < 0 after a warning. */
#define ICU_FUNCTIONS(FUNCTION) \
	FUNCTION(UCollator *, ucol_open, (const char *locale, int *error)) \
	FUNCTION(void, ucol_close, (UCollator *collator)) \
	FUNCTION(void, ucol_getVersion, \
			 (const UCollator *collator, uint8 *version)) \
	FUNCTION(int, ucol_getAttribute, \
			 (const UCollator *collator, int attribute, int *error)) \
	FUNCTION(void, ucol_setAttribute, \
			 (UCollator *collator, int attribute, int value, int *error)) \
	FUNCTION(uint32, ucol_getVariableTop, \
			 (const UCollator *collator, int *error)) \
	FUNCTION(int32, ucol_getReorderCodes, \
			 (const UCollator *collator, int32 *codes, int32 room, \
			  int *error)) \
	FUNCTION(void, ucol_getContractionsAndExpansions, \
			 (const UCollator *collator, USet *contractions, \
			  USet *expansions, int8 prefixes, int *error)) \
	FUNCTION(int32, ucol_getSortKey, \
			 (const UCollator *collator, const UChar *string, int32 length, \
			  uint8 *key, int32 room)) \
	FUNCTION(UCollationElements *, ucol_openElements, \
			 (const UCollator *collator, const UChar *string, int32 length, \
			  int *error)) \
	FUNCTION(void, ucol_closeElements, (UCollationElements *elements)) \
	FUNCTION(void, ucol_setText, \
			 (UCollationElements *elements, const UChar *string, \
			  int32 length, int *error)) \
	FUNCTION(int32, ucol_next, (UCollationElements *elements, int *error)) \
	FUNCTION(USet *, uset_openEmpty, (void)) \
	FUNCTION(void, uset_close, (USet *set)) \
	FUNCTION(void, uset_add, (USet *set, int32 code_point)) \
	FUNCTION(int8, uset_contains, (const USet *set, int32 code_point)) \
	FUNCTION(int32, uset_getItemCount, (const USet *set)) \
	FUNCTION(int32, uset_getItem, \
			 (const USet *set, int32 item, int32 *first, int32 *last, \
			  UChar *string, int32 room, int *error)) \
	FUNCTION(int32, u_getIntPropertyValue, (int32 code_point, int property)) \
	FUNCTION(int8, u_isdigit, (int32 code_point)) \
	FUNCTION(void, u_versionToString, (const uint8 *version, char *string))

#define POINTER(result, name, arguments)	result (*name) arguments;
#define PLACE(result, name, arguments)	{#name, offsetof(IcuFunctions, name)},

typedef struct IcuFunctions
{
	ICU_FUNCTIONS(POINTER)
} IcuFunctions;

static const struct
{
	const char *name;
	Size		place;
}			function_places[] = {ICU_FUNCTIONS(PLACE)};

/* Script: rank_of() adds 'shift' to the first byte of weights >= 'weight'. */
typedef struct Script
{
	uint32		weight;
	uint8		shift;
} Script;

struct IcuCollation
{
	UCollator  *collator;
	UCollationElements *elements;
	bool		normalizes;
	bool		numeric;
	bool		contradicts;	/* see the file comment */
	uint32		variable_top;	/* 0: blanks and punctuation have weights */
	USet	   *begins;			/* characters before a contraction's last */
	USet	   *continues;		/* characters after a contraction's first */
	uint64		joined[128][2]; /* bit b of joined[a]: ASCII character b may
								 * follow a in a contraction */
	int			nscripts;		/* 0: no script is reordered */
	Script	   *scripts;
	UChar	   *text;			/* the text that 'elements' reads */
	int			room;
	int32		next;			/* the next element */
};

static IcuFunctions icu_functions;


/*
 * Finding ICU
 */

static void *
find_function(const char *name, int release)
{
	char		symbol[NAMEDATALEN];

	if (release == 0)
		return dlsym(RTLD_DEFAULT, name);
	snprintf(symbol, sizeof(symbol), "%s_%d", name, release);
	return dlsym(RTLD_DEFAULT, symbol);
}

/*
 * Returns the only release of ICU in this process, or 0 if its function names
 * have no suffix; -1 if the process has no ICU or several releases.
 */
static int
find_release(void)
{
	int			found = -1;

	for (int release = 0; release <= LAST_RELEASE;
		 release = Max(release + 1, FIRST_RELEASE))
	{
		if (find_function("ucol_strcollUTF8", release) == NULL)
			continue;
		if (found >= 0)
			return -1;
		found = release;
	}
	return found;
}

/* Once per process; NULL on failure */
static const IcuFunctions *
find_functions(void)
{
	static bool looked = false;
	static bool found = false;
	int			release;

	if (looked)
		return found ? &icu_functions : NULL;
	looked = true;
	release = find_release();
	if (release < 0)
		return NULL;
	for (int i = 0; i < lengthof(function_places); i++)
	{
		void	   *function = find_function(function_places[i].name, release);

		if (function == NULL)
			return NULL;
		memcpy((char *) &icu_functions + function_places[i].place, &function,
			   sizeof(function));
	}
	found = true;
	return &icu_functions;
}

/* True if the collator has the version that the server reports for 'locale'. */
static bool
same_version(const UCollator *collator, const char *locale)
{
	const IcuFunctions *f = &icu_functions;
	char	   *servers;
	uint8		version[4];		/* U_MAX_VERSION_LENGTH */
	char		string[32];		/* U_MAX_VERSION_STRING_LENGTH is 20 */

	servers = get_collation_actual_version(COLLPROVIDER_ICU, locale);
	if (servers == NULL)
		return false;
	f->ucol_getVersion(collator, version);
	f->u_versionToString(version, string);
	return strcmp(string, servers) == 0;
}


/*
 * Weights
 */

/* Returns the text's next nonzero primary weight, 0 at the end. */
static uint32
next_weight(IcuCollation *icu)
{
	while (icu->next != UCOL_NULLORDER)
	{
		uint32		weight = (uint32) icu->next & 0xFFFF0000;
		int			error = 0;

		icu->next = icu_functions.ucol_next(icu->elements, &error);
		if (icu->next != UCOL_NULLORDER &&
			(icu->next & SECOND_HALF) == SECOND_HALF)
		{
			weight |= (uint32) icu->next >> 16;
			icu->next = icu_functions.ucol_next(icu->elements, &error);
		}
		if (error > 0)
			elog(ERROR, "ICU could not read a string: error %d", error);
		if (weight != 0)
			return weight;
	}
	return 0;
}

static void
begin_text(IcuCollation *icu, const UChar *text, int length)
{
	int			error = 0;

	icu_functions.ucol_setText(icu->elements, text, length, &error);
	icu->next = icu_functions.ucol_next(icu->elements, &error);
	if (error > 0)
		elog(ERROR, "ICU could not read a string: error %d", error);
}

/* Returns the rank of a weight; 0: ignored. */
static uint32
rank_of(const IcuCollation *icu, uint32 weight)
{
	int			low = 0;
	int			high = icu->nscripts;

	if (weight <= icu->variable_top && weight > SEPARATOR_WEIGHT)
		return 0;
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (icu->scripts[middle].weight <= weight)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? weight :
		weight + ((uint32) icu->scripts[low - 1].shift << 24);
}

void
text_icu_begin(IcuCollation *icu, const char *string, const char *end)
{
	int			n = 0;

	/* no character has more UTF-16 units than bytes */
	if (icu->room < end - string)
	{
		int			room = Max(end - string, 2 * icu->room);
		UChar	   *text = MemoryContextAllocHuge(TopMemoryContext,
												  room * sizeof(UChar));

		pfree(icu->text);
		icu->text = text;
		icu->room = room;
	}
	while (string < end)
	{
		pg_wchar	c = text_icu_code_point(&string, end);

		if (c >= 0x10000)
		{
			icu->text[n++] = 0xD7C0 + (c >> 10);
			c = 0xDC00 | (c & 0x3FF);
		}
		icu->text[n++] = (UChar) c;
	}
	begin_text(icu, icu->text, n);
}

uint32
text_icu_next(IcuCollation *icu)
{
	uint32		weight;

	while ((weight = next_weight(icu)) != 0)
	{
		uint32		rank = rank_of(icu, weight);

		if (rank != 0)
			return rank;
	}
	return 0;
}

static bool
is_mark(int32 code_point)
{
	return code_point >= FIRST_MARK && code_point <= LAST_MARK;
}

IcuCharacter
text_icu_character(IcuCollation *icu, pg_wchar code_point)
{
	const IcuFunctions *f = &icu_functions;
	IcuCharacter result = {.code_point = code_point};
	char		bytes[MAX_MULTIBYTE_CHAR_LEN + 1];

	unicode_to_utf8(code_point, (unsigned char *) bytes);
	text_icu_begin(icu, bytes,
				   bytes + pg_utf_mblen((unsigned char *) bytes));
	result.rank = text_icu_next(icu);
	if (result.rank != 0 && text_icu_next(icu) != 0)
		result.flags |= CHARACTER_SEVERAL;
	if (is_mark(code_point))
		result.flags |= CHARACTER_JOINS;
	if (f->uset_contains(icu->begins, code_point))
		result.flags |= CHARACTER_BEGINS;
	if (f->uset_contains(icu->continues, code_point))
		result.flags |= CHARACTER_CONTINUES;
	if (f->u_getIntPropertyValue(code_point, UCHAR_LEAD_CLASS) != 0 ||
		(icu->numeric && f->u_isdigit(code_point)))
		result.flags |= CHARACTER_BEGINS | CHARACTER_CONTINUES;
	if (icu->normalizes &&
		f->u_getIntPropertyValue(code_point, UCHAR_TRAIL_CLASS) != 0)
		result.flags |= CHARACTER_BEGINS;
	return result;
}

bool
text_icu_joined(const IcuCollation *icu, char first, char second)
{
	return (icu->joined[(int) first][second / 64] >> (second % 64)) & 1;
}


/*
 * Opening a collation
 */

/* Record that two characters follow each other in a contraction. */
static void
note_pair(IcuCollation *icu, int32 first, int32 second)
{
	icu_functions.uset_add(icu->begins, first);
	icu_functions.uset_add(icu->continues, second);
	if (first < 0x80 && second < 0x80)
		icu->joined[first][second / 64] |= UINT64CONST(1) << (second % 64);
}

/* Record a contraction, except marks, which join any character. */
static void
note_contraction(IcuCollation *icu, const UChar *string, int length)
{
	const IcuFunctions *f = &icu_functions;
	int32		before = -1;

	for (int i = 0; i < length; i++)
	{
		int32		c = string[i];

		if ((c & 0xFC00) == 0xD800 && i + 1 < length)
			c = ((c - 0xD7C0) << 10) + (string[++i] & 0x3FF);
		if (before >= 0 && !is_mark(before))
		{
			if (icu->normalizes && before < LATIN_END &&
				f->u_getIntPropertyValue(c, UCHAR_LEAD_CLASS) != 0)
				icu->contradicts = true;
			note_pair(icu, before, c);
		}
		before = c;
	}
}

/* The first byte of a sort key; -1 unless 'weight' follows, and nothing else */
static int
key_first_byte(const IcuCollation *icu, const UChar *string, int length,
			   uint32 weight)
{
	uint8		key[MAX_SORT_KEY];
	int			n = icu_functions.ucol_getSortKey(icu->collator, string,
												  length, key, sizeof(key));
	int			i = 1;

	if (n > MAX_SORT_KEY)
		return -1;
	for (uint32 rest = weight << 8; rest != 0; rest <<= 8)
	{
		if (i >= n || key[i++] != rest >> 24)
			return -1;
	}
	return i < n && key[i] <= 1 ? key[0] : -1;
}

/* Record a script.  Returns false if ICU's data do not show its first bytes. */
static bool
note_script(IcuCollation *icu, const UChar *string, int length)
{
	Script	   *script = &icu->scripts[icu->nscripts];
	int			first;

	begin_text(icu, string, length);
	script->weight = next_weight(icu);
	if (script->weight == 0 || next_weight(icu) != 0)
		return false;
	first = key_first_byte(icu, string, length, script->weight);
	script->shift = first - (script->weight >> 24);
	icu->nscripts++;
	return first >= 0;
}

static int
compare_scripts(const void *a, const void *b)
{
	uint32		left = ((const Script *) a)->weight;
	uint32		right = ((const Script *) b)->weight;

	return (left > right) - (left < right);
}

/*
 * Record contractions and, if 'reorders' is true, scripts.  Returns false if
 * ICU fails or its data do not have the expected form.
 */
static bool
note_contractions(IcuCollation *icu, USet *contractions, bool reorders)
{
	const IcuFunctions *f = &icu_functions;
	int			n = f->uset_getItemCount(contractions);
	UChar		string[MAX_CONTRACTION];
	int			error = 0;

	for (int pair = 0; icu->numeric && pair < 100; pair++)
		note_pair(icu, '0' + pair / 10, '0' + pair % 10);
	icu->scripts = palloc(n * sizeof(Script));
	for (int i = 0; i < n; i++)
	{
		int32		first;
		int32		last;
		int			length = f->uset_getItem(contractions, i, &first, &last,
											 string, MAX_CONTRACTION, &error);

		if (error > 0 || length > MAX_CONTRACTION)
			return false;
		if (length < 2)
			continue;			/* a range of characters */
		note_contraction(icu, string, length);
		if (reorders && string[0] == SCRIPT_MARK &&
			!note_script(icu, string, length))
			return false;
	}
	if (icu->contradicts)
		return false;
	qsort(icu->scripts, icu->nscripts, sizeof(Script), compare_scripts);
	return !reorders || icu->nscripts > 0;
}

static bool
has_attribute(const IcuCollation *icu, int attribute, int value)
{
	int			error = 0;

	return icu_functions.ucol_getAttribute(icu->collator, attribute,
										   &error) == value && error <= 0;
}

/* Read the attributes and contractions.  Returns false on failure. */
static bool
read_collation(IcuCollation *icu)
{
	const IcuFunctions *f = &icu_functions;
	int			error = 0;
	UCollator  *collator = icu->collator;
	USet	   *contractions = f->uset_openEmpty();
	bool		reorders;
	bool		result;

	icu->normalizes = has_attribute(icu, UCOL_NORMALIZATION_MODE, UCOL_ON);
	icu->numeric = has_attribute(icu, UCOL_NUMERIC_COLLATION, UCOL_ON);
	if (has_attribute(icu, UCOL_ALTERNATE_HANDLING, UCOL_SHIFTED))
		icu->variable_top = f->ucol_getVariableTop(collator, &error);

	/* rank_of() applies the variable top; sort keys must have all weights */
	f->ucol_setAttribute(collator, UCOL_ALTERNATE_HANDLING, UCOL_NON_IGNORABLE,
						 &error);
	f->ucol_getContractionsAndExpansions(collator, contractions, NULL, true,
										 &error);
	icu->elements = f->ucol_openElements(collator, icu->text, 0, &error);
	result = error <= 0;
	/* ICU sets 'error' if there are reorder codes: the array has no room */
	reorders = result &&
		f->ucol_getReorderCodes(collator, NULL, 0, &error) > 0;
	result = result && note_contractions(icu, contractions, reorders);
	f->uset_close(contractions);
	return result;
}

char *
text_icu_locale(Oid collation, char **rules)
{
	const bool	own = collation == DEFAULT_COLLATION_OID;
	int			cache = own ? DATABASEOID : COLLOID;
	Oid			oid = own ? MyDatabaseId : collation;
	AttrNumber	column = own ? PT_DATABASE_RULES : PT_COLLATION_RULES;
	HeapTuple	tuple = SearchSysCache1(cache, ObjectIdGetDatum(oid));
	Datum		value;
	bool		isnull;
	char	   *result;

	*rules = NULL;
	if (!HeapTupleIsValid(tuple))
		return NULL;
	value = SysCacheGetAttr(cache, tuple, own ? PT_DATABASE_LOCALE :
							PT_COLLATION_LOCALE, &isnull);
	result = isnull ? NULL : TextDatumGetCString(value);
	if (column != 0)
	{
		value = SysCacheGetAttr(cache, tuple, column, &isnull);
		*rules = isnull ? NULL : TextDatumGetCString(value);
	}
	ReleaseSysCache(tuple);
	return result;
}

/*
 * The collations of Japanese and Chinese order thousands of characters by rules
 * of their own.  So opening them takes longer, and their weights save less.
 */
int
text_icu_opening_cost(Oid collation)
{
	char	   *rules;
	char	   *locale = text_icu_locale(collation, &rules);

	if (locale != NULL &&
		(pg_strncasecmp(locale, "ja", 2) == 0 ||
		 pg_strncasecmp(locale, "zh", 2) == 0) &&
		!isalpha((unsigned char) locale[2]))
		return 8;
	return 1;
}

static void
close_collation(IcuCollation *icu)
{
	const IcuFunctions *f = &icu_functions;

	if (icu->elements)
		f->ucol_closeElements(icu->elements);
	if (icu->begins)
		f->uset_close(icu->begins);
	if (icu->continues)
		f->uset_close(icu->continues);
	f->ucol_close(icu->collator);
	pfree(icu->text);
	if (icu->scripts)
		pfree(icu->scripts);
	pfree(icu);
}

IcuCollation *
text_icu_open(Oid collation)
{
	const IcuFunctions *f = find_functions();
	char	   *rules = NULL;
	char	   *locale = f ? text_icu_locale(collation, &rules) : NULL;
	IcuCollation *icu;
	UCollator  *collator;
	int			error = 0;

	/* ucol_open() does not read rules */
	if (locale == NULL || rules != NULL)
		return NULL;
	collator = f->ucol_open(locale, &error);
	if (error > 0)
		return NULL;
	icu = palloc0(sizeof(IcuCollation));
	icu->collator = collator;
	icu->room = MAX_CONTRACTION;
	icu->text = palloc(icu->room * sizeof(UChar));
	icu->begins = f->uset_openEmpty();
	icu->continues = f->uset_openEmpty();
	if (same_version(collator, locale) && read_collation(icu))
		return icu;
	close_collation(icu);
	return NULL;
}
