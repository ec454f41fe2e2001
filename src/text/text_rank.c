/*-------------------------------------------------------------------------
 *
 * text_rank.c
 *	  The order of characters and strings by the tables of their collation.
 *
 * Which tables these are depends on who provides the collation.  ICU's are in
 * text_unit.c; most of what is here is about those of the C library.
 *
 * strcoll() works its way through both strings from their start, at 20 ns a
 * character, several times, and looks up each character in a list if it is
 * none of ASCII.  What it finds is in the tables that text_table.c reads, so
 * two strings can be compared with less.  That has to be what strcoll() says,
 * always, since indexes depend on it: text_table.c refuses tables that do not
 * look as they must, and what this file makes of them, or text_unit.c of ICU's,
 * is tried before it is relied on.
 *
 * The order.  POSIX (XBD 7.3.2, LC_COLLATE) compares strings as sequences of
 * collating elements, in several passes, each by the weights that the elements
 * have in it; elements without one are skipped.  The first pass decides between
 * nearly all strings.  It goes forward and looks at nothing but weights, so it
 * can begin where the bytes of two strings begin to differ, or rather after the
 * last byte before that which is an element on its own wherever it occurs.
 *
 * Strings that the first pass leaves equal are compared in the later ones by
 * text_pass.c.  Those of ICU's collations are left to ICU.
 *
 * Words (text_code.c) are made of the primary weights as numbers, the ranks.
 * Weights are written in the manner of UTF-8, so none is the beginning of
 * another, and sequences of ranks order as the bytes of all weights do.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/parallel.h"
#include "debug.h"
#include "mb/pg_wchar.h"
#include "text/text_pass.h"
#include "text/text_rank.h"
#include "text/text_table.h"
#include "text/text_unit.h"
#include "utils/varlena.h"

struct TextRanks
{
	UnitTable  *units;			/* of ICU's collations, else NULL */
	CollateProof *proof;		/* of the C library's */
	bool		single;			/* ... all elements have one byte: for tests */
};

static inline int32
next_element(const TextRanks *ranks, const unsigned char **string,
			 const unsigned char *end)
{
	if (unlikely(ranks->single))
		return text_table_single(&ranks->proof->tables, *(*string)++);
	return text_table_element(&ranks->proof->tables, string, end);
}


/*
 * The first pass
 */

/* Go to the next primary weight of a string, unless one is left. */
static inline void
next_primary(const TextRanks *ranks, CollateWeights *weights,
			 const unsigned char **string, const unsigned char *end)
{
	while (weights->length == 0 && *string < end)
		weights->at = text_table_weight(&ranks->proof->tables,
										next_element(ranks, string, end), 0,
										&weights->length);
}

/* Compare the primary weights of two strings from byte 'begin' on. */
static int
compare_primary(const TextRanks *ranks, int begin, const char *a, int a_length,
				const char *b, int b_length)
{
	const unsigned char *left = (const unsigned char *) a + begin;
	const unsigned char *right = (const unsigned char *) b + begin;
	const unsigned char *left_end = (const unsigned char *) a + a_length;
	const unsigned char *right_end = (const unsigned char *) b + b_length;
	CollateWeights x = {0};
	CollateWeights y = {0};
	int			cmp;

	do
	{
		next_primary(ranks, &x, &left, left_end);
		next_primary(ranks, &y, &right, right_end);
		if (x.length == 0 || y.length == 0)
			return (x.length > 0) - (y.length > 0);
		cmp = text_table_compare(&x, &y);
	} while (cmp == 0);
	return cmp;
}

/* Where the first pass may begin, if so many bytes are shared. */
static inline int
find_begin(const TextRanks *ranks, const char *string, int shared)
{
	if (ranks->single)
		return shared;
	while (shared > 0 &&
		   !ranks->proof->alone[(unsigned char) string[shared - 1]])
		shared--;
	return shared;
}

/* text_rank_compare: see text_rank.h. */
bool
text_rank_compare(const TextRanks *ranks, int shared, const char *a,
				  int a_length, const char *b, int b_length, int *cmp)
{
	if (ranks->units)
		return text_unit_compare(ranks->units, shared, a, a_length, b,
								 b_length, cmp);
	*cmp = compare_primary(ranks, find_begin(ranks, a, shared), a, a_length,
						   b, b_length);
	if (*cmp != 0 || ranks->single)
		return *cmp != 0;
	return text_pass_compare(ranks->proof, shared, a, a_length, b, b_length,
							 cmp);
}


/*
 * Ranks
 */

/* A weight of n bytes as a number. */
static inline uint32
rank_of(const unsigned char *weight, int n)
{
	uint32		rank = 0;

	for (int i = 0; i < n; i++)
		rank |= (uint32) weight[i] << (24 - 8 * i);
	return rank;
}

/* text_rank_next: see text_rank.h. */
uint32
text_rank_next(const TextRanks *ranks, const char **string, const char *end,
			   int *taken)
{
	const unsigned char *at = (const unsigned char *) *string;
	const unsigned char *weights;
	int			length;
	uint32		rank = 0;

	if (ranks->units)
		return text_unit_next(ranks->units, string, end, taken);
	weights = text_table_weight(&ranks->proof->tables,
								next_element(ranks, &at,
											 (const unsigned char *) end), 0,
								&length);
	if (length > 0)
	{
		int			n = text_table_weight_length(weights[*taken]);

		rank = rank_of(weights + *taken, n);
		*taken += n;
		if (*taken < length)
			return rank;
	}
	*taken = 0;
	*string = (const char *) at;
	return rank;
}

/* What libc's tables prove of a character. */
static TextRankProof
element_proof(const TextRanks *ranks, const char *character, int n,
			  uint32 *rank)
{
	const CollateTables *tables = &ranks->proof->tables;
	const unsigned char *bytes = (const unsigned char *) character;
	const unsigned char *at = bytes;
	int32		index = next_element(ranks, &at, bytes + n);
	const unsigned char *weight;
	int			length;

	weight = text_table_weight(tables, index, 0, &length);
	if (at != bytes + n ||
		(length > 0 && length != text_table_weight_length(weight[0])))
		return RANK_UNPROVED;
	*rank = rank_of(weight, length);
	return text_table_continues(tables, bytes, n) ? RANK_BEGINS : RANK_PROVED;
}

/* text_rank_character: see text_rank.h. */
TextRankProof
text_rank_character(const TextRanks *ranks, const char *character, int n,
					uint32 *rank)
{
	bool		begins;

	if (ranks->units == NULL)
		return element_proof(ranks, character, n, rank);
	if (!text_unit_character(ranks->units, character, n, rank, &begins))
		return RANK_UNPROVED;
	return begins ? RANK_BEGINS : RANK_PROVED;
}

/* text_rank_is_alone: see text_rank.h. */
bool
text_rank_is_alone(const TextRanks *ranks, char byte)
{
	if (ranks->units)
		return text_unit_is_alone(ranks->units, byte);
	return ranks->proof->alone[(unsigned char) byte];
}

/* text_rank_tried: see text_rank.h. */
int *
text_rank_tried(const TextRanks *ranks)
{
	return ranks->units ? &ranks->units->compared : &ranks->proof->compared;
}

/* text_rank_continues: see text_rank.h. */
bool
text_rank_continues(const TextRanks *ranks, char byte, char next)
{
	if (ranks->units)
		return text_unit_continues(ranks->units, byte, next);
	return !ranks->proof->alone[(unsigned char) next];
}

/* text_rank_ends: see text_rank.h. */
bool
text_rank_ends(const TextRanks *ranks, const char *string, int n,
			   const char *end)
{
	const unsigned char *at = (const unsigned char *) string;

	if (ranks->units)
		return text_unit_ends(ranks->units, string, n, end);
	(void) next_element(ranks, &at, (const unsigned char *) end);
	return at == (const unsigned char *) string + n;
}


/*
 * Trying it
 */

/* How many pairs of strings, and their longest, in characters. */
#define TRIAL_PAIRS		400
#define TRIAL_LENGTH	12
#define TRIAL_BYTES		(TRIAL_LENGTH * MAX_MULTIBYTE_CHAR_LEN + 1)

/* The next of a sequence of numbers that look random (xorshift). */
static uint32
next_number(uint32 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* A character of some script that is not Latin, or with a mark, in UTF-8. */
static int
make_wide(char *string, uint32 number)
{
	/*
	 * where accented, combining, Greek, Cyrillic, Hebrew and Arabic, Indic,
	 * Thai, Lao, kana, Han, Hangul, Latin to be normalized begin
	 */
	static const pg_wchar scripts[] = {
		0xA0, 0x100, 0x300, 0x370, 0x410, 0x5B0, 0x620, 0x900, 0xE01, 0xE81,
		0x3041, 0x30A0, 0x4E00, 0xAC00, 0x1E00, 0x2160
	};
	pg_wchar	c = scripts[number % lengthof(scripts)] +
		number / lengthof(scripts) % 64;

	unicode_to_utf8(c, (unsigned char *) string);
	return pg_utf_mblen((unsigned char *) string);
}

/*
 * Make a string of ASCII: digits, symbols, few letters in both cases; and of
 * other characters if it may be 'wide'.
 */
static int
make_trial(char *string, bool wide, uint32 *state)
{
	static const char frequent[] = "01aAbBcChHlL -./'";
	int			n = 1 + next_number(state) % TRIAL_LENGTH;
	int			length = 0;

	for (int i = 0; i < n; i++)
	{
		uint32		number = next_number(state) >> 8;

		if (wide && number % 8 == 1)
			length += make_wide(string + length, number / 8);
		else
			string[length++] = number % 4 == 0 ?
				'!' + number / 4 % ('~' - '!' + 1) :
				frequent[number / 4 % (sizeof(frequent) - 1)];
	}
	string[length] = '\0';
	return length;
}

/*
 * Make another string that the first pass hardly tells apart: symbols come and
 * go, and letters of ASCII change their case.
 */
static int
vary_trial(const char *string, char *variant, uint32 *state)
{
	int			length = 0;

	for (; *string != '\0'; string++)
	{
		uint32		number = next_number(state) >> 8;

		if (IS_HIGHBIT_SET(*string))
		{
			variant[length++] = *string;
			continue;
		}
		if (number % 8 == 0)
			variant[length++] = "-. '/"[number / 8 % 5];
		if (number % 8 == 1 && strchr("-. '/", *string) != NULL)
			continue;
		variant[length++] = number % 8 == 2 && *string >= 'A' ?
			*string ^ ('a' - 'A') : *string;
	}
	variant[length] = '\0';
	return length;
}

/*
 * Distrust
 */

static TextDistrust distrusted = {0};
static Oid *report_to = NULL;

static bool
is_distrusted(Oid collation)
{
	for (int i = 0; i < Min(distrusted.n, MAX_DISTRUSTED); i++)
	{
		if (distrusted.collations[i] == collation)
			return true;
	}
	return distrusted.n > MAX_DISTRUSTED;
}

/* text_rank_distrust: see text_rank.h. */
bool
text_rank_distrust(Oid collation)
{
	if (!is_distrusted(collation))
	{
		if (distrusted.n < MAX_DISTRUSTED)
			distrusted.collations[distrusted.n] = collation;
		distrusted.n++;
	}
	if (report_to != NULL)
		*report_to = collation;
	return report_to != NULL || !IsParallelWorker();
}

/* text_rank_report_to: see text_rank.h; returns the previous place. */
Oid *
text_rank_report_to(Oid *place)
{
	Oid		   *previous = report_to;

	report_to = place;
	return previous;
}

/* text_rank_distrusted: see text_rank.h. */
const TextDistrust *
text_rank_distrusted(void)
{
	return &distrusted;
}

/* text_rank_adopt_distrust: see text_rank.h. */
void
text_rank_adopt_distrust(const TextDistrust *list)
{
	distrusted = *list;
}

/* text_rank_provider: see text_rank.h. */
const char *
text_rank_provider(Oid collation)
{
	return pt_collate_is_icu(collation) ? "ICU" : "The C library";
}


/*
 * Creating an order
 */

/*
 * Does an order where it is one agree with the collation's?  If not, that may
 * be the later passes' fault, which are then left to the collation.
 */
static bool
agrees_on_pair(const TextRanks *ranks, const char *a, int a_length,
			   const char *b, int b_length, Oid collation)
{
	int			truth = varstr_cmp(a, a_length, b, b_length, collation);

	if (ranks->proof && ranks->proof->bytewise)
	{
		int			cmp = memcmp(a, b, Min(a_length, b_length));

		return same_sign(cmp != 0 ? cmp : a_length - b_length, truth);
	}
	for (;;)
	{
		int			cmp;

		if (!text_rank_compare(ranks, 0, a, a_length, b, b_length, &cmp) ||
			same_sign(truth, cmp))
			return true;
		if (ranks->units || !ranks->proof->later)
			return false;
		ranks->proof->later = false;
	}
}

/* Is the order of many short strings, where it is one, the collation's? */
static bool
agrees(const TextRanks *ranks, Oid collation)
{
	const bool	wide = GetDatabaseEncoding() == PG_UTF8;
	uint32		state = 1;
	char		a[TRIAL_BYTES];
	char		b[2 * TRIAL_BYTES];

	for (int i = 0; i < TRIAL_PAIRS; i++)
	{
		int			a_length = make_trial(a, wide, &state);
		int			b_length = i % 2 == 0 ? make_trial(b, wide, &state) :
			vary_trial(a, b, &state);

		if (!agrees_on_pair(ranks, a, a_length, b, b_length, collation))
			return false;
	}
	return true;
}

/* What the C library's tables prove, once it has been tried. */
static CollateProof *
tried_proof(Oid collation)
{
	CollateProof *proof = text_table_prove(collation);

	if (!proof->tried && (proof->forward || proof->bytewise))
	{
		TextRanks	ranks = {.proof = proof};

		proof->agrees = agrees(&ranks, collation);
		proof->tried = true;
	}
	return proof;
}

/* The order by the C library's tables; false if they prove none. */
static bool
create_by_tables(TextRanks *ranks, Oid collation)
{
	ranks->proof = tried_proof(collation);
	ranks->single = ptsort_debug.trust_collations;
	return ranks->proof->forward && ranks->proof->agrees;
}

/* text_rank_bytewise: see text_rank.h. */
bool
text_rank_bytewise(Oid collation)
{
	CollateProof *proof = tried_proof(collation);

	return proof->bytewise && proof->agrees;
}

/* The order by ICU's; false if it is known that they prove none. */
static bool
create_by_units(TextRanks *ranks, Oid collation)
{
	if (GetDatabaseEncoding() != PG_UTF8)
		return false;
	ranks->units = text_unit_table(collation);
	ranks->units->single = ptsort_debug.trust_collations;
	return ranks->units->agrees || !ranks->units->opened;
}

/* text_rank_create: see text_rank.h. */
TextRanks *
text_rank_create(Oid collation)
{
	TextRanks	ranks = {0};
	TextRanks  *result;

	if (is_distrusted(collation) ||
		!(pt_collate_is_libc(collation) ? create_by_tables(&ranks, collation) :
		  pt_collate_is_icu(collation) && create_by_units(&ranks, collation)))
		return NULL;
	result = palloc(sizeof(TextRanks));
	*result = ranks;
	return result;
}

/* text_rank_is_ready: see text_rank.h. */
bool
text_rank_is_ready(const TextRanks *ranks)
{
	return ranks->units == NULL || ranks->units->agrees;
}

/* text_rank_prepare: see text_rank.h. */
bool
text_rank_prepare(const TextRanks *ranks)
{
	UnitTable  *units = ranks->units;

	if (units && !units->opened && text_unit_open(units))
	{
		units->single = false;
		units->agrees = agrees(ranks, units->collation);
		units->single = ptsort_debug.trust_collations;
	}
	return text_rank_is_ready(ranks);
}
