/*-------------------------------------------------------------------------
 *
 * text_prefix.c
 *	  Compare strings without the prefix they share.
 *
 * Neighbours in an index share a lot, most of all URLs, paths and names, and
 * strcoll() works its way through all of it, at 20 ns a character: of the
 * 1.2 us that it takes for neighbours among a million URLs, what follows the
 * 45 characters that they share takes 0.25 us.
 *
 * POSIX (XBD 7.3.2, LC_COLLATE) compares strings as sequences of collating
 * elements, in several passes.  The first pass compares primary weights.  If
 * it goes from left to right and looks at nothing else, then elements that
 * both strings begin with have the same weights, and what follows decides.
 * Three conditions must hold:
 *
 * 1. A collating element may have several characters, and must not be cut in
 *	  two.  So a prefix ends with a byte that is an element on its own wherever
 *	  it occurs.  It must be one of ASCII, and so a character in every server
 *	  encoding: then the suffixes are valid strings, too.
 * 2. Only the first pass is that simple.  The second one of glibc's locales
 *	  goes backward where there are symbols, and its result does depend on the
 *	  prefix.  So the first pass must have decided.  It has if string a is less
 *	  than b even with a digit appended: primary weights never fall when a
 *	  string grows, and with those of b it would have become the greater one.
 *	  (The digit must have a weight.)  Strings of which neither passes this
 *	  test are compared in full.
 * 3. A locale is data that anybody can write.  (The server once took for
 *	  granted that strxfrm() agrees with strcoll(), and some locales of some C
 *	  libraries corrupted indexes: release 9.5.2.)  So nothing is taken for
 *	  granted: text_table.c finds out from the locale's own tables which bytes
 *	  are elements, which of them have a weight, and whether the first pass
 *	  goes forward.  Where it cannot tell, strings are compared in full.
 *
 * None of this is idle.  Of 39,900 pairs of short random ASCII strings in
 * en_US, 6 compared differently without their prefix (glibc 2.36, where
 * symbols sort before letters).  Where the first pass decided, none did of 68
 * million such pairs in all locales of Debian 12, of the characters of each
 * locale and of its collating elements; t/040_locales.pl repeats that for
 * some.  A first version tested bytes with strcoll() instead of reading
 * tables: in SQL_ASCII with a locale of GB18030, where digits occur inside
 * characters, an index got two tuples in the wrong order.
 *
 * As a second line of defence some comparisons are made both ways.  If one of
 * these differs, strings are compared in full from then on and the sort has
 * failed: a build starts over.
 *
 * ICU skips shared prefixes by itself, and so does memcmp() in "C".  citext and
 * name are compared in full.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <ctype.h>

#include "key/text_prefix.h"
#include "key/text_table.h"

bool		ptsort_skip_prefixes = true;
bool		ptsort_debug_trust_collations = false;

/* A shorter prefix is not worth copying the suffixes. */
#define MIN_PREFIX		8

/* Nor is any if a suffix is longer than this. */
#define MAX_SUFFIX		4000

/*
 * Stop skipping after this many undecided comparisons of suffixes, if they are
 * more than half of all.  (IP addresses as text are like that: the dots count
 * in a later pass only.)
 */
#define MAX_UNDECIDED	1000

/* The first comparisons are made both ways, then one in BOTH_EVERY. */
#define BOTH_FIRST		1000
#define BOTH_EVERY		64

/* What is appended to a string that may be less than another. */
#define PROBE			'0'

/* Room for a string as a value, and a character more. */
typedef union ValueBuffer
{
	struct varlena header;
	char		bytes[VARHDRSZ + MAX_SUFFIX + 1];
	int32		alignment;
} ValueBuffer;

typedef struct PrefixSkip
{
	SortSupportData full;		/* the comparison of the type */
	uint64		nsuffix;		/* comparisons of suffixes */
	uint64		nundecided;		/* of these, undecided */
	PrefixSkipFailure *failure; /* where to report a contradiction */
	ValueBuffer a;
	ValueBuffer b;
	bool		ends_prefix[256];	/* bytes that may be the last of a prefix */
} PrefixSkip;

static int
compare_full(PrefixSkip *self, Datum x, Datum y)
{
	return self->full.comparator(x, y, &self->full);
}

static Datum
make_value(ValueBuffer *buffer, const char *string, int length)
{
	SET_VARSIZE(buffer, VARHDRSZ + length);
	memcpy(VARDATA(buffer), string, length);
	return PointerGetDatum(buffer);
}

/* The value of a string with a digit appended. */
static Datum
make_longer_value(ValueBuffer *buffer, const char *string, int length)
{
	(void) make_value(buffer, string, length);
	VARDATA(buffer)[length] = PROBE;
	SET_VARSIZE(buffer, VARHDRSZ + length + 1);
	return PointerGetDatum(buffer);
}

/* Is string a certain to be less than b, whatever prefix both have? */
static bool
is_less(PrefixSkip *self, const char *a, int a_length,
		const char *b, int b_length)
{
	return compare_full(self, make_longer_value(&self->a, a, a_length),
						make_value(&self->b, b, b_length)) < 0;
}

/* Compare two strings from byte 'begin' on; 0 if that does not decide. */
static int
compare_suffixes(PrefixSkip *self, int begin, const char *a, int a_length,
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

	while (n - i >= (int) sizeof(uint64) &&
		   load_word(a + i) == load_word(b + i))
		i += sizeof(uint64);
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/*
 * The length of the prefix to skip; 0 for equal strings, which are compared
 * quickly, and if it is not worth it.
 */
static int
find_prefix(const PrefixSkip *self, const char *a, int a_length,
			const char *b, int b_length)
{
	int			length = shared_length(a, b, Min(a_length, b_length));

	if (length == a_length && length == b_length)
		return 0;
	while (length >= MIN_PREFIX &&
		   !self->ends_prefix[(unsigned char) a[length - 1]])
		length--;
	if (length < MIN_PREFIX || Max(a_length, b_length) - length > MAX_SUFFIX)
		return 0;
	return length;
}

/* Can a value be read without detoasting it? */
static inline bool
is_plain(Datum value)
{
	return !VARATT_IS_COMPRESSED(DatumGetPointer(value)) &&
		!VARATT_IS_EXTERNAL(DatumGetPointer(value));
}

/* Have callers call the type's comparison directly from now on. */
static void
unwrap(PrefixSkip *self, SortSupport ssup)
{
	ssup->comparator = self->full.comparator;
	ssup->ssup_extra = self->full.ssup_extra;
}

/* Compare two strings in full, because their suffixes are undecided. */
static int
compare_undecided(PrefixSkip *self, Datum x, Datum y, SortSupport ssup)
{
	if (++self->nundecided > MAX_UNDECIDED &&
		self->nundecided > self->nsuffix / 2)
		unwrap(self, ssup);
	return compare_full(self, x, y);
}

/*
 * Compare two strings in full as well, whose suffixes compare as 'cmp'.  If
 * the results differ, none so far can be relied on.
 */
static int
compare_both(PrefixSkip *self, Datum x, Datum y, int cmp, SortSupport ssup)
{
	int			full = compare_full(self, x, y);
	Oid			collation = self->full.ssup_collation;

	if (same_sign(cmp, full))
		return cmp;
	unwrap(self, ssup);
	if (!self->failure->restartable)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("collation \"%s\" is not suited to prefix skipping",
						get_collation_name(collation)),
				 errdetail("It orders two strings differently from their suffixes after a shared prefix."),
				 errhint("Set ptsort.skip_prefixes to off and run the statement again.")));
	self->failure->collation = collation;
	return full;
}

/* The comparator that text_prefix_wrap installs. */
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
		return compare_full(self, x, y);
	a_length = VARSIZE_ANY_EXHDR(DatumGetPointer(x));
	b_length = VARSIZE_ANY_EXHDR(DatumGetPointer(y));
	begin = find_prefix(self, a, a_length, b, b_length);
	if (begin == 0)
		return compare_full(self, x, y);

	self->nsuffix++;
	cmp = compare_suffixes(self, begin, a, a_length, b, b_length);
	if (cmp == 0)
		return compare_undecided(self, x, y, ssup);
	if (self->nsuffix <= BOTH_FIRST || self->nsuffix % BOTH_EVERY == 0)
		return compare_both(self, x, y, cmp, ssup);
	return cmp;
}

/*
 * Find the bytes that may end a prefix; false if there are none.  For tests, a
 * collation may be trusted without proof, as if longer elements had nothing
 * but letters and apostrophes in them.
 */
static bool
find_ends(PrefixSkip *self, Oid collation)
{
	const CollateProof *proof = text_table_prove(collation);
	bool		any = false;

	for (int c = 1; c < 128; c++)
	{
		if (ptsort_debug_trust_collations)
			self->ends_prefix[c] = c != '\'' && !isalpha(c);
		else
			self->ends_prefix[c] = proof->forward && proof->alone[c] &&
				proof->weighs[PROBE];
		any |= self->ends_prefix[c];
	}
	return any;
}

void
text_prefix_wrap(SortSupport ssup, PrefixSkipFailure *failure)
{
	PrefixSkip *self = MemoryContextAllocZero(ssup->ssup_cxt,
											  sizeof(PrefixSkip));

	self->full = *ssup;
	self->failure = failure;
	if (!find_ends(self, ssup->ssup_collation))
	{
		pfree(self);
		return;
	}
	ssup->ssup_extra = self;
	ssup->comparator = compare_skipping;
}
