/*-------------------------------------------------------------------------
 *
 * text_rank.c
 *	  The order of characters and strings by the tables of their collation.
 *
 * The tables depend on the provider of the collation.  text_unit.c handles
 * ICU's tables; most of this file is about the C library's tables.
 *
 * strcoll() reads both strings from the start several times, and searches a
 * list for each character that is not ASCII.  strcoll()'s decisions follow from
 * the tables that text_table.c reads, so ptsort can compare two strings with
 * less work.  The result must always be that of strcoll(), since indexes depend
 * on the order.  So text_table.c rejects tables that do not have the expected
 * form.  Before ptsort uses a comparison by tables, this file also tests the
 * comparison against the collation itself.
 *
 * The first of the passes of a comparison (POSIX, XBD 7.3.2, LC_COLLATE)
 * distinguishes nearly all strings.  It goes forward and compares only
 * weights, so it need not begin at the start of the strings.  It can begin in
 * the common prefix, after the last byte that is always an element of its own.
 * If it leaves two strings equal, text_pass.c makes the later passes for the C
 * library's collations, and ICU itself for its own.
 *
 * A rank is a primary weight as a number; text_code.c makes words from ranks.
 * No weight is a prefix of another (text_table.c), so sequences of ranks sort
 * like the concatenated bytes of the weights.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/parallel.h"
#include "common/pg_prng.h"
#include "debug.h"
#include "mb/pg_wchar.h"
#include "port/pg_bitutils.h"
#include "text/text_icu.h"
#include "text/text_rank.h"
#include "util.h"
#include "utils/memutils.h"
#include "utils/varlena.h"

struct TextRanks
{
	struct TextRanks *next;
	Oid			collation;
	bool		tried;			/* true if try_tables ran */
	bool		agrees;			/* true if the order passed the tests */
	UnitTable  *units;			/* set for ICU's collations, else NULL */
	CollateProof *proof;		/* set for the C library's, else NULL */
	int			reading_cost;	/* see text_rank_reading_cost */
	int			compared;		/* number of pairs that compare_both compared;
								 * stops at BOTH_FIRST */
};

/* the orders that this process looked up, in TopMemoryContext */
static TextRanks *all_ranks = NULL;

/* True if two comparisons have the same result. */
static inline bool
same_sign(int x, int y)
{
	return (x > 0) == (y > 0) && (x < 0) == (y < 0);
}

static inline int32
next_element(const TextRanks *ranks, const unsigned char **string,
			 const unsigned char *end)
{
	return text_table_element(&ranks->proof->tables, string,
							  unlikely(ptsort_debug.trust_collations) ?
							  *string + 1 : end);
}


/*
 * The first pass
 */

/*
 * Advance to the next primary weight, unless bytes of the current one are left.
 */
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

/*
 * Compare two strings by the primary weights of the bytes after the common
 * prefix, if each of the two bytes is always an element with one weight.
 * Otherwise returns 0.
 */
static inline int
compare_bytes(const TextRanks *ranks, int shared, const char *a, int a_length,
			  const char *b, int b_length)
{
	uint32		x;
	uint32		y;

	if (shared >= a_length || shared >= b_length ||
		unlikely(ptsort_debug.trust_collations))
		return 0;
	x = ranks->proof->primary[(unsigned char) a[shared]];
	y = ranks->proof->primary[(unsigned char) b[shared]];
	return x == 0 || y == 0 ? 0 : (x > y) - (x < y);
}

/* Returns the offset in the common prefix at which the first pass may begin. */
static inline int
find_begin(const TextRanks *ranks, const char *string, int shared)
{
	while (shared > 0 && !ptsort_debug.trust_collations &&
		   !ranks->proof->alone[(unsigned char) string[shared - 1]])
		shared--;
	return shared;
}

/* Compare two strings by all passes. */
static pg_noinline bool
compare_passes(const TextRanks *ranks, int shared, const char *a, int a_length,
			   const char *b, int b_length, int *cmp)
{
	*cmp = compare_primary(ranks, find_begin(ranks, a, shared), a, a_length,
						   b, b_length);
	if (*cmp != 0 || ptsort_debug.trust_collations)
		return *cmp != 0;
	return text_pass_compare(ranks->proof, shared, a, a_length, b, b_length,
							 cmp);
}

static inline bool
compare_tables(const TextRanks *ranks, int shared, const char *a, int a_length,
			   const char *b, int b_length, int *cmp)
{
	if (ranks->units)
		return text_unit_compare(ranks->units, shared, a, a_length, b,
								 b_length, cmp);
	*cmp = compare_bytes(ranks, shared, a, a_length, b, b_length);
	return *cmp != 0 ||
		compare_passes(ranks, shared, a, a_length, b, b_length, cmp);
}

bool
text_rank_compare(const TextRanks *ranks, int shared, const char *a,
				  int a_length, const char *b, int b_length, int *cmp)
{
	return compare_tables(ranks, shared, a, a_length, b, b_length, cmp);
}


/*
 * Ranks
 */

/* Returns a weight of n bytes as a number. */
static inline uint32
rank_of(const unsigned char *weight, int n)
{
	uint32		rank = 0;

	for (int i = 0; i < n; i++)
		rank |= (uint32) weight[i] << (24 - 8 * i);
	return rank;
}

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

bool
text_rank_is_element(const TextRanks *ranks, const char *string, int n,
					 const char *end)
{
	const unsigned char *at = (const unsigned char *) string;

	if (ranks->units)
		return text_unit_is_character(ranks->units, string, end);
	(void) next_element(ranks, &at, (const unsigned char *) end);
	return (const char *) at == string + n;
}

bool
text_rank_character(const TextRanks *ranks, const char *character, int n,
					bool *begins)
{
	*begins = ranks->units ?
		text_unit_begins(ranks->units, character, n) :
		text_table_continues(&ranks->proof->tables,
							 (const unsigned char *) character, n);
	return text_rank_is_element(ranks, character, n, character + n);
}

bool
text_rank_continues(const TextRanks *ranks, char byte, char next)
{
	if (ranks->units)
		return text_unit_continues(ranks->units, byte, next);
	return !ranks->proof->alone[(unsigned char) next];
}


/*
 * Strings for testing an order
 */

/* Number of pairs to test, and maximum length of a string in characters. */
#define TRIAL_PAIRS		400
#define TRIAL_LENGTH	12
#define TRIAL_BYTES		(TRIAL_LENGTH * MAX_MULTIBYTE_CHAR_LEN + 1)

/* Make a UTF-8 character that has an accent or is not Latin. */
static int
make_wide(char *string, uint32 number)
{
	/*
	 * first code points of accented, combining, Greek, Cyrillic, Hebrew,
	 * Arabic, Indic, Thai, Lao, kana, Han and Hangul characters, and of Latin
	 * characters that normalization changes
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
 * Make a string of ASCII characters, mostly digits, symbols and a few letters
 * in both cases.  If 'wide', also use characters from make_wide().
 */
static int
make_trial(char *string, bool wide, pg_prng_state *state)
{
	static const char frequent[] = "01aAbBcChHlL -./'";
	int			n = 1 + pg_prng_uint32(state) % TRIAL_LENGTH;
	int			length = 0;

	for (int i = 0; i < n; i++)
	{
		uint32		number = pg_prng_uint32(state);

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
 * Make a variant of a string: add and remove symbols, and change the case of
 * ASCII letters.  The first pass rarely distinguishes the two strings.
 */
static int
vary_trial(const char *string, char *variant, pg_prng_state *state)
{
	int			length = 0;

	for (; *string != '\0'; string++)
	{
		uint32		number = pg_prng_uint32(state);

		if (number % 8 == 0 && !IS_HIGHBIT_SET(*string))
			variant[length++] = "-. '/"[number / 8 % 5];
		if (number % 8 == 1 && strchr("-. '/", *string) != NULL)
			continue;
		variant[length++] = *string;
		if (number % 8 == 2 && *string >= 'A' && !IS_HIGHBIT_SET(*string))
			variant[length - 1] ^= 'a' - 'A';
	}
	variant[length] = '\0';
	return length;
}

/*
 * Distrust
 */

TextDistrust ptsort_distrusted = {0};
Oid		   *ptsort_report_to = NULL;

static bool
is_distrusted(Oid collation)
{
	const TextDistrust *list = &ptsort_distrusted;

	for (int i = 0; i < Min(list->n, MAX_DISTRUSTED); i++)
	{
		if (list->collations[i] == collation)
			return true;
	}
	return list->n > MAX_DISTRUSTED;
}

bool
text_rank_distrust(Oid collation)
{
	TextDistrust *list = &ptsort_distrusted;

	if (!is_distrusted(collation))
	{
		if (list->n < MAX_DISTRUSTED)
			list->collations[list->n] = collation;
		list->n++;
	}
	if (ptsort_report_to != NULL)
		*ptsort_report_to = collation;
	return ptsort_report_to != NULL || !IsParallelWorker();
}

const char *
text_rank_provider(Oid collation)
{
	return pt_collate_is_icu(collation) ? "ICU" : "The C library";
}


/*
 * Finding and testing an order
 */

/*
 * True unless the order and the collation disagree on two strings.  If only the
 * later passes disagree, disables them.
 */
static bool
agrees_on_pair(TextRanks *ranks, const char *a, int a_length, const char *b,
			   int b_length)
{
	int			truth = varstr_cmp(a, a_length, b, b_length, ranks->collation);
	int			cmp;

	if (ranks->proof && ranks->proof->bytewise)
	{
		cmp = memcmp(a, b, Min(a_length, b_length));
		return same_sign(cmp != 0 ? cmp : a_length - b_length, truth);
	}
	if (!text_rank_compare(ranks, 0, a, a_length, b, b_length, &cmp) ||
		same_sign(truth, cmp))
		return true;
	if (ranks->units || !ranks->proof->later)
		return false;
	ranks->proof->later = false;
	return agrees_on_pair(ranks, a, a_length, b, b_length);
}

/* True if agrees_on_pair() is true for many pairs of short strings. */
static bool
agrees(TextRanks *ranks)
{
	const bool	wide = GetDatabaseEncoding() == PG_UTF8;
	pg_prng_state state;
	char		a[TRIAL_BYTES];
	char		b[2 * TRIAL_BYTES];

	pg_prng_seed(&state, 1);
	for (int i = 0; i < TRIAL_PAIRS; i++)
	{
		int			a_length = make_trial(a, wide, &state);
		int			b_length = i % 2 == 0 ? make_trial(b, wide, &state) :
			vary_trial(a, b, &state);

		if (!agrees_on_pair(ranks, a, a_length, b, b_length))
			return false;
	}
	return true;
}

/* True for ICU's collations in UTF-8: text_unit.c may know their order. */
static bool
is_icu(Oid collation)
{
	return pt_collate_is_icu(collation) && GetDatabaseEncoding() == PG_UTF8;
}

int
text_rank_reading_cost(const TextRanks *ranks)
{
	return ranks->reading_cost;
}

/* Read the tables of a collation, and test them. */
static void
try_tables(TextRanks *ranks)
{
	const bool	trust = ptsort_debug.trust_collations;
	bool		proved = false;

	if (pt_collate_is_libc(ranks->collation))
	{
		if (ranks->proof == NULL)
			ranks->proof = text_table_prove(ranks->collation);
		proved = ranks->proof->forward || ranks->proof->bytewise;
	}
	else if (is_icu(ranks->collation))
	{
		if (ranks->units == NULL)
			ranks->units = text_unit_open(ranks->collation);
		proved = ranks->units != NULL;
	}
	ptsort_debug.trust_collations = false;
	ranks->agrees = proved && agrees(ranks);
	ptsort_debug.trust_collations = trust;
	ranks->tried = true;
}

/* Reading the C library's tables is fast, so look_up reads and tests them. */
static TextRanks *
look_up(Oid collation)
{
	TextRanks  *ranks = all_ranks;

	while (ranks != NULL && ranks->collation != collation)
		ranks = ranks->next;
	if (ranks == NULL)
	{
		ranks = MemoryContextAllocZero(TopMemoryContext, sizeof(TextRanks));
		ranks->collation = collation;
		ranks->reading_cost = is_icu(collation) ?
			text_icu_opening_cost(collation) : 1;
		ranks->next = all_ranks;
		all_ranks = ranks;
	}
	if (!ranks->tried && !is_icu(collation))
		try_tables(ranks);
	return ranks;
}

bool
text_rank_bytewise(Oid collation)
{
	TextRanks  *ranks;

	if (pt_collate_is_c(collation))
		return true;
	if (!pt_collate_is_libc(collation))
		return false;
	ranks = look_up(collation);
	return ranks->agrees && ranks->proof->bytewise;
}

const CollateTables *
text_rank_tables(const TextRanks *ranks)
{
	return ranks->agrees && ranks->proof && ranks->proof->later ?
		&ranks->proof->tables : NULL;
}

TextRanks *
text_rank_find(Oid collation)
{
	TextRanks  *ranks = look_up(collation);

	if (is_distrusted(collation) || (ranks->tried && !ranks->agrees) ||
		(ranks->proof && ranks->proof->bytewise))
		return NULL;
	return ranks;
}

bool
text_rank_is_ready(TextRanks *ranks, bool read)
{
	if (read && !ranks->tried)
		try_tables(ranks);
	return ranks->agrees;
}


/*
 * Comparing values
 *
 * Neighbours in an index often share long prefixes, and strcoll() processes the
 * whole prefix.  So ptsort calls strcoll() only where the tables do not prove
 * its result.  ICU skips shared prefixes itself, but ptsort's comparison by
 * ICU's tables is still faster than ICU's own.  The collation "C" compares
 * bytes.  citext and name keep their own comparisons.
 *
 * Anyone can write a locale.  So, as a last line of defence, ptsort makes some
 * comparisons both by the tables and by the type's comparison.  If the results
 * differ, a build makes all further comparisons by the type's comparison and
 * then starts over.  Other sorts raise an error.
 */

bool		ptsort_use_collation_tables = true;

/*
 * Each process uses compare_both for its first BOTH_FIRST comparisons in a
 * collation, then for the first comparison of each sort and for every
 * TEXT_SPOT_EVERY-th comparison.  (Using compare_both BOTH_FIRST times in every
 * sort would slow down small sorts.)
 */
#define BOTH_FIRST		1000

typedef struct TextCompare
{
	SortSupportData full;		/* comparison function of the type */
	TextRanks  *ranks;
	TextForm	form;			/* TEXT_VARLENA or TEXT_PADDED */
	uint64		compared;		/* number of pairs compared by ranks, not
								 * counting the first BOTH_FIRST */
	CompareFailure *failure;	/* where to report a contradiction */
} TextCompare;

static int
compare_full(TextCompare *self, Datum x, Datum y)
{
	return self->full.comparator(x, y, &self->full);
}

/*
 * Returns the length of the common prefix of two strings, at most n.  Both
 * strings must have at least n bytes.
 */
static int
shared_length(const char *a, const char *b, int n)
{
	int			i = 0;

	for (; n - i >= (int) sizeof(uint64); i += sizeof(uint64))
	{
		uint64		differ = pt_bytes_word(a + i) ^ pt_bytes_word(b + i);

		if (differ != 0)
			return i + (63 - pg_leftmost_one_pos64(differ)) / BITS_PER_BYTE;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* If the type's comparison is not 'cmp', no earlier result is reliable. */
static pg_noinline int
compare_both(TextCompare *self, Datum x, Datum y, int cmp, SortSupport ssup)
{
	int			full = compare_full(self, x, y);

	self->ranks->compared = Min(self->ranks->compared + 1, BOTH_FIRST);
	if (same_sign(cmp, full))
		return cmp;
	ssup->comparator = self->full.comparator;
	ssup->ssup_extra = self->full.ssup_extra;
	text_compare_contradicted(self->failure, self->full.ssup_collation);
	return full;
}

void
text_compare_contradicted(CompareFailure *failure, Oid collation)
{
	bool		told;

	if (failure->restartable)
	{
		failure->collation = collation;
		return;
	}
	told = text_rank_distrust(collation);
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("collation \"%s\" contradicts its own tables",
					get_collation_name(collation)),
			 errdetail("%s orders two strings differently from the weights of their characters.",
					   text_rank_provider(collation)),
			 told ?
			 errhint("Run the statement again.  This session no longer uses these tables.") :
			 errhint("Set ptsort.use_collation_tables to off and run the statement again.")));
}

/* True if two values have the same bytes, including the headers. */
static inline bool
same_bytes(Datum x, Datum y)
{
	Size		size = VARSIZE_ANY(DatumGetPointer(x));

	return size == VARSIZE_ANY(DatumGetPointer(y)) &&
		memcmp(DatumGetPointer(x), DatumGetPointer(y), size) == 0;
}

/* The comparator that text_compare_wrap installs. */
static int
compare_ranks(Datum x, Datum y, SortSupport ssup)
{
	TextCompare *self = ssup->ssup_extra;
	const char *a;
	const char *b;
	int			a_length;
	int			b_length;
	int			shared;
	int			cmp;

	if (!text_is_plain(self->form, x) || !text_is_plain(self->form, y) ||
		self->failure->full || !self->ranks->agrees)
		return same_bytes(x, y) ? 0 : compare_full(self, x, y);
	a = text_string(self->form, x, &a_length);
	b = text_string(self->form, y, &b_length);
	shared = shared_length(a, b, Min(a_length, b_length));
	if (shared == a_length && shared == b_length)
		return 0;
	if (!compare_tables(self->ranks, shared, a, a_length, b, b_length, &cmp))
		return compare_full(self, x, y);
	if (self->ranks->compared < BOTH_FIRST ||
		self->compared++ % TEXT_SPOT_EVERY == 0)
		return compare_both(self, x, y, cmp, ssup);
	return cmp;
}

void
text_compare_wrap(SortSupport ssup, TextRanks *ranks, bool padded,
				  CompareFailure *failure)
{
	TextCompare *self = MemoryContextAllocZero(ssup->ssup_cxt,
											   sizeof(*self));

	self->full = *ssup;
	self->ranks = ranks;
	self->form = padded ? TEXT_PADDED : TEXT_VARLENA;
	self->failure = failure;
	ssup->ssup_extra = self;
	ssup->comparator = compare_ranks;
}
