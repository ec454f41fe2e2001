/*-------------------------------------------------------------------------
 *
 * prefixskip.c
 *	  Compare strings without the prefix they share.
 *
 * Neighbours in an index share a lot, most of all URLs, paths and names, and
 * strcoll() works its way through all of it, at 20 ns a character: 1.2 us a
 * comparison, where the rest of both strings would take 0.25 us.
 *
 * POSIX (XBD 7.3.2, LC_COLLATE) compares strings as sequences of collating
 * elements, in several passes.  The first one compares primary weights, from
 * left to right.  Elements that both strings begin with have the same ones, so what
 * follows them decides.  Two things must be seen to:
 *
 * - An element may have several characters, and must not be cut in two.  Those
 *	 are letters, combining marks and the apostrophe: the Czech "ch", the Breton
 *	 "c'h".  So a prefix ends with another character, of ASCII: a digit, a blank,
 *	 a slash.  (No byte of a longer character in a server encoding is ASCII.  In
 *	 SQL_ASCII it may be, as in GB18030: there nothing is skipped.)
 * - Only the first pass is that simple.  The second one of glibc's locales goes
 *	 backward where there are symbols, in a way of its own, and what it says does
 *	 depend on the prefix.  So the first must have decided.  It has if string a
 *	 is less than b even with a digit appended: primary weights never fall when a
 *	 string grows, and with those of b it would have become the greater one.
 *	 Where both strings pass this test in neither direction they are compared whole.
 *
 * That is a theorem about locales.  It holds in all that Debian has, by what is in
 * their tables; but a locale is data that anybody can write.
 * (The server once took for granted that strxfrm() agrees with strcoll(), and some
 * locales of some C libraries corrupted indexes: release 9.5.2.)  So each
 * collation is put on trial before the first prefix is skipped; and afterwards
 * some comparisons are made both ways.  If one of these differs, the build ends
 * with an error.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/pg_prng.h"
#include "mb/pg_wchar.h"

#include "prefixskip.h"

bool		ptsort_skip_prefixes = true;

/* Skipping less than this is not worth copying the rest of the strings. */
#define MIN_PREFIX		8

/* Nor is it, if so much is left. */
#define MAX_REST		4000

/* After so many comparisons that could skip it pays to put the collation on trial. */
#define TRIAL_AFTER		4000

/* Give up when the rests of so many, and of one in two, have left the order open. */
#define MAX_OPEN		1000

/* The first ones after it are made both ways, then one of so many. */
#define BOTH_FIRST		1000
#define BOTH_EVERY		64

/* Room for a string as a value, and a character more. */
typedef union ValueBuffer
{
	struct varlena header;
	char		bytes[VARHDRSZ + MAX_REST + 1];
	int32		alignment;
} ValueBuffer;

typedef struct PrefixSkip
{
	SortSupportData whole;		/* the comparison of the type */
	uint64		ncould;			/* comparisons that could skip a prefix */
	uint64		nopen;			/* of these, left open by the rests */
	bool		passed;			/* the trial */
	ValueBuffer a;
	ValueBuffer b;
	bool		ends_prefix[256];	/* bytes that may be the last of a prefix */
} PrefixSkip;

static int
compare_whole(PrefixSkip *self, Datum x, Datum y)
{
	return self->whole.comparator(x, y, &self->whole);
}

static Datum
make_value(ValueBuffer *buffer, const char *string, int length)
{
	SET_VARSIZE(buffer, VARHDRSZ + length);
	memcpy(VARDATA(buffer), string, length);
	return PointerGetDatum(buffer);
}

/* A value that has a digit behind the string. */
static Datum
make_longer_value(ValueBuffer *buffer, const char *string, int length)
{
	(void) make_value(buffer, string, length);
	VARDATA(buffer)[length] = '0';
	SET_VARSIZE(buffer, VARHDRSZ + length + 1);
	return PointerGetDatum(buffer);
}

/* Is string a certain to be less than b, whatever prefix both may have? */
static bool
is_less(PrefixSkip *self, const char *a, int a_length, const char *b, int b_length)
{
	return compare_whole(self, make_longer_value(&self->a, a, a_length),
						 make_value(&self->b, b, b_length)) < 0;
}

/* The order of two strings, from byte "begin" on; 0 if that leaves it open. */
static int
compare_rests(PrefixSkip *self, int begin, const char *a, int a_length,
			  const char *b, int b_length)
{
	a += begin;
	b += begin;
	a_length -= begin;
	b_length -= begin;
	return is_less(self, a, a_length, b, b_length) ? -1 :
		is_less(self, b, b_length, a, a_length) ? 1 : 0;
}

static inline bool
same_sign(int x, int y)
{
	return (x > 0) == (y > 0) && (x < 0) == (y < 0);
}


/*
 * The trial
 */

#define FIRST_PRINTABLE ' '
#define LAST_PRINTABLE	'~'
#define FIRST_BEYOND	0xA0	/* symbols, letters and marks of Unicode */
#define LAST_BEYOND		0x36F
#define TRIAL_LENGTH	4		/* characters, at most, of each random part */

/* Append some random characters to a string; returns its new length. */
static int
append_random(char *string, int length, pg_prng_state *random)
{
	for (int n = pg_prng_uint64_range(random, 0, TRIAL_LENGTH); n > 0; n--)
	{
		char	   *target = &string[length];

		if (GetDatabaseEncoding() == PG_UTF8 && pg_prng_bool(random))
			unicode_to_utf8(pg_prng_uint64_range(random, FIRST_BEYOND, LAST_BEYOND),
							(unsigned char *) target);
		else
			*target = pg_prng_uint64_range(random, FIRST_PRINTABLE, LAST_PRINTABLE);
		length += pg_mblen(target);
	}
	return length;
}

/*
 * Compare two strings that share a prefix up to the character "end", where one of
 * them goes on with "next".  Does it make no difference to skip the prefix?
 */
static bool
try_strings(PrefixSkip *self, char end, char next, pg_prng_state *random)
{
	char		a[2 * TRIAL_LENGTH * MAX_MULTIBYTE_CHAR_LEN + 2];
	char		b[lengthof(a)];
	int			begin = append_random(a, 0, random);
	int			a_length;
	int			b_length;
	int			cmp;

	a[begin++] = end;
	memcpy(b, a, begin);
	a[begin] = next;
	a_length = append_random(a, begin + 1, random);
	b_length = append_random(b, begin, random);
	cmp = compare_rests(self, begin, a, a_length, b, b_length);
	return cmp == 0 ||
		same_sign(cmp, compare_whole(self, make_value(&self->a, a, a_length),
									 make_value(&self->b, b, b_length)));
}

static bool
try_collation(PrefixSkip *self)
{
	pg_prng_state random;

	pg_prng_seed(&random, 0);
	for (int end = FIRST_PRINTABLE; end <= LAST_PRINTABLE; end++)
	{
		if (!self->ends_prefix[end])
			continue;
		for (int next = FIRST_PRINTABLE; next <= LAST_PRINTABLE; next++)
		{
			if (!try_strings(self, end, next, &random))
				return false;
		}
	}
	return true;
}


/*
 * Comparing
 */

static inline uint64
load_word(const char *from)
{
	uint64		word;

	memcpy(&word, from, sizeof(word));
	return word;
}

/* How many of their first n bytes two strings share. */
static int
shared_length(const char *a, const char *b, int n)
{
	int			i = 0;

	while (n - i >= (int) sizeof(uint64) && load_word(a + i) == load_word(b + i))
		i += sizeof(uint64);
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* The length of the prefix to skip, perhaps 0: equal strings need no such help. */
static int
find_prefix(const PrefixSkip *self, const char *a, int a_length,
			const char *b, int b_length)
{
	int			length = shared_length(a, b, Min(a_length, b_length));

	if (length == a_length && length == b_length)
		return 0;
	while (length >= MIN_PREFIX && !self->ends_prefix[(unsigned char) a[length - 1]])
		length--;
	if (length < MIN_PREFIX || Max(a_length, b_length) - length > MAX_REST)
		return 0;
	return length;
}

/* Can a value be read as it is? */
static inline bool
is_plain(Datum value)
{
	return !VARATT_IS_COMPRESSED(DatumGetPointer(value)) &&
		!VARATT_IS_EXTERNAL(DatumGetPointer(value));
}

/* The comparison of the whole must say the same as that of the rests. */
static void
check_rests(PrefixSkip *self, Datum x, Datum y, int cmp)
{
	if (!same_sign(cmp, compare_whole(self, x, y)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("collation \"%s\" orders two strings otherwise than what follows the prefix they share",
						get_collation_name(self->whole.ssup_collation)),
				 errhint("Set ptsort.skip_prefixes to off.")));
}

/* Have the type's comparison called directly from now on. */
static void
unwrap(PrefixSkip *self, SortSupport ssup)
{
	ssup->comparator = self->whole.comparator;
	ssup->ssup_extra = self->whole.ssup_extra;
}

/*
 * Whether to skip the prefix that could be.  The collation is put on trial once
 * that has been asked often enough.
 */
static bool
may_skip(PrefixSkip *self, SortSupport ssup)
{
	if (unlikely(++self->ncould == TRIAL_AFTER))
	{
		self->passed = try_collation(self);
		if (!self->passed)
			unwrap(self, ssup);
	}
	return self->passed;
}

/* Compare two strings whole, because their rests have left the order open. */
static int
compare_open(PrefixSkip *self, Datum x, Datum y, SortSupport ssup)
{
	if (++self->nopen > MAX_OPEN && self->nopen > (self->ncould - TRIAL_AFTER) / 2)
		unwrap(self, ssup);
	return compare_whole(self, x, y);
}

/* The comparator that prefixskip_wrap installs. */
static int
compare_skipping(Datum x, Datum y, SortSupport ssup)
{
	PrefixSkip *self = ssup->ssup_extra;
	const char *a = VARDATA_ANY(DatumGetPointer(x));
	const char *b = VARDATA_ANY(DatumGetPointer(y));
	int			a_length;
	int			b_length;
	int			begin;
	int			cmp;

	if (!is_plain(x) || !is_plain(y))
		return compare_whole(self, x, y);
	a_length = VARSIZE_ANY_EXHDR(DatumGetPointer(x));
	b_length = VARSIZE_ANY_EXHDR(DatumGetPointer(y));
	begin = find_prefix(self, a, a_length, b, b_length);
	if (begin == 0 || !may_skip(self, ssup))
		return compare_whole(self, x, y);

	cmp = compare_rests(self, begin, a, a_length, b, b_length);
	if (cmp == 0)
		return compare_open(self, x, y, ssup);
	if (self->ncould < TRIAL_AFTER + BOTH_FIRST || self->ncould % BOTH_EVERY == 0)
		check_rests(self, x, y, cmp);
	return cmp;
}

void
prefixskip_wrap(SortSupport ssup)
{
	PrefixSkip *self = MemoryContextAllocZero(ssup->ssup_cxt, sizeof(PrefixSkip));

	self->whole = *ssup;
	for (int c = FIRST_PRINTABLE; c <= LAST_PRINTABLE; c++)
		self->ends_prefix[c] = c != '\'' && !(c >= 'A' && c <= 'Z') &&
			!(c >= 'a' && c <= 'z');
	ssup->ssup_extra = self;
	ssup->comparator = compare_skipping;
}
