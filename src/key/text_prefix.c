/*-------------------------------------------------------------------------
 *
 * text_prefix.c
 *	  Compare strings without the prefix they share.
 *
 * Neighbours in an index share a lot, most of all URLs, paths and names, and
 * strcoll() works its way through all of it, at 20 ns a character: 1.2 us a
 * comparison, where the rest of both strings would take 0.25 us.
 *
 * POSIX (XBD 7.3.2, LC_COLLATE) compares strings as sequences of collating
 * elements, in several passes.  The first one compares primary weights.  If it
 * goes from left to right and looks at nothing else, then elements that both
 * strings begin with have the same ones, and what follows them decides.  Three
 * things must be seen to:
 *
 * - An element may have several characters, and must not be cut in two.  So a
 *	 prefix ends with a byte that is an element on its own wherever it stands.
 *	 It is one of ASCII, and so a character in every server encoding; rests
 *	 are valid strings, too.
 * - Only the first pass is that simple.  The second one of glibc's locales goes
 *	 backward where there are symbols, and what it says does depend on the
 *	 prefix.  So the first must have decided.  It has if string a is less than b
 *	 even with a digit appended: primary weights never fall when a string grows,
 *	 and with those of b it would have become the greater one.  (The digit must
 *	 have a weight.)  Where both strings pass this test in neither direction
 *	 they are compared whole.
 * - A locale is data that anybody can write.  (The server once took for granted
 *	 that strxfrm() agrees with strcoll(), and some locales of some C libraries
 *	 corrupted indexes: release 9.5.2.)  So nothing is taken for granted here:
 *	 text_table.c reads from the locale's own tables which bytes stand alone,
 *	 which have a weight, and whether the first pass goes forward.  Where it
 *	 cannot tell, strings are compared whole.
 *
 * As a second line of defence some comparisons are made both ways.  Should one
 * of these differ, then from there on strings are compared whole, and the sort
 * has failed: a build starts over.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <ctype.h>

#include "key/text_table.h"
#include "key/text_prefix.h"

bool		ptsort_skip_prefixes = true;
bool		ptsort_debug_trust_collations = false;

/* Skipping less than this is not worth copying the rest of the strings. */
#define MIN_PREFIX		8

/* Nor is it, if so much is left. */
#define MAX_REST		4000

/* Give up when over this many, and one in two, were left open by the rests. */
#define MAX_OPEN		1000

/* The first ones are made both ways, then one in BOTH_EVERY. */
#define BOTH_FIRST		1000
#define BOTH_EVERY		64

/* What is appended to a string that may be less than another. */
#define PROBE			'0'

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
	PrefixSkipFailure *failure; /* whom to tell of a contradiction */
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
	VARDATA(buffer)[length] = PROBE;
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

/* Have the type's comparison called directly from now on. */
static void
unwrap(PrefixSkip *self, SortSupport ssup)
{
	ssup->comparator = self->whole.comparator;
	ssup->ssup_extra = self->whole.ssup_extra;
}

/* Compare two strings whole, because their rests have left the order open. */
static int
compare_open(PrefixSkip *self, Datum x, Datum y, SortSupport ssup)
{
	if (++self->nopen > MAX_OPEN && self->nopen > self->ncould / 2)
		unwrap(self, ssup);
	return compare_whole(self, x, y);
}

/*
 * Compare two strings whole as well.  If that says something else than their
 * rests, no result so far can be relied on.
 */
static int
compare_both(PrefixSkip *self, Datum x, Datum y, int cmp, SortSupport ssup)
{
	int			whole = compare_whole(self, x, y);
	Oid			collation = self->whole.ssup_collation;

	if (same_sign(cmp, whole))
		return cmp;
	unwrap(self, ssup);
	if (!self->failure->restartable)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("collation \"%s\" is not suited to prefix skipping",
						get_collation_name(collation)),
				 errdetail("It orders two strings otherwise than what follows the prefix they share."),
				 errhint("Set ptsort.skip_prefixes to off and run the statement again.")));
	self->failure->collation = collation;
	return whole;
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
		return compare_whole(self, x, y);
	a_length = VARSIZE_ANY_EXHDR(DatumGetPointer(x));
	b_length = VARSIZE_ANY_EXHDR(DatumGetPointer(y));
	begin = find_prefix(self, a, a_length, b, b_length);
	if (begin == 0)
		return compare_whole(self, x, y);

	self->ncould++;
	cmp = compare_rests(self, begin, a, a_length, b, b_length);
	if (cmp == 0)
		return compare_open(self, x, y, ssup);
	if (self->ncould <= BOTH_FIRST || self->ncould % BOTH_EVERY == 0)
		return compare_both(self, x, y, cmp, ssup);
	return cmp;
}

/*
 * Find the bytes that may end a prefix.  False if there are none.  For tests a
 * collation may be trusted without proof: as if letters and the apostrophe
 * were all that longer elements are made of.
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
	PrefixSkip *self = MemoryContextAllocZero(ssup->ssup_cxt, sizeof(PrefixSkip));

	self->whole = *ssup;
	self->failure = failure;
	if (!find_ends(self, ssup->ssup_collation))
	{
		pfree(self);
		return;
	}
	ssup->ssup_extra = self;
	ssup->comparator = compare_skipping;
}
