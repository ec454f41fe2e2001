/*-------------------------------------------------------------------------
 *
 * text_compare.c
 *	  Values of text by the tables of their collation.
 *
 * Neighbours in an index often share long prefixes, most of all URLs, paths
 * and names, and strcoll() processes all of them.  Here it is called only
 * where the tables of the locale do not prove its result (text_rank.c).
 *
 * Anyone can write a locale, and the server once assumed that strxfrm() agrees
 * with strcoll(): some locales of some C libraries corrupted indexes (release
 * 9.5.2).  So nothing is assumed, and as a last line of defence some
 * comparisons are made both ways.  If the results differ, the sort has failed,
 * and all further values are compared by the type's comparison: a build starts
 * over.
 *
 * ICU skips shared prefixes itself, but comparing by its tables still takes
 * less time.  "C" compares bytes.  citext and name keep their own comparisons.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "text/text_code.h"
#include "text/text_compare.h"

bool		ptsort_use_collation_tables = true;

/*
 * Each process makes its first BOTH_FIRST comparisons in a collation both
 * ways, then the first one of each sort and every BOTH_EVERY-th.  (Making the
 * first BOTH_FIRST of every sort both ways would slow down small sorts.)
 */
#define BOTH_FIRST		1000
#define BOTH_EVERY		64

typedef struct TextCompare
{
	SortSupportData full;		/* comparison function of the type */
	const TextRanks *ranks;
	TextForm	form;			/* TEXT_VARLENA or TEXT_PADDED */
	int		   *tried;			/* the process's counter of pairs compared
								 * both ways */
	uint64		compared;		/* pairs compared by ranks after BOTH_FIRST */
	CompareFailure *failure;	/* where to report a contradiction */
} TextCompare;

static int
compare_full(TextCompare *self, Datum x, Datum y)
{
	return self->full.comparator(x, y, &self->full);
}

static inline uint64
load_word(const char *from)
{
	uint64		word;

	memcpy(&word, from, sizeof(word));
	return word;
}

/*
 * The length of the common prefix of two strings of at least n bytes, up to n.
 */
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
 * Compare two values by the type's comparison as well; their ranks compare as
 * 'cmp'.  If the results differ, no earlier result is reliable.
 */
static pg_noinline int
compare_both(TextCompare *self, Datum x, Datum y, int cmp, SortSupport ssup)
{
	int			full = compare_full(self, x, y);

	*self->tried = Min(*self->tried + 1, BOTH_FIRST);
	if (same_sign(cmp, full))
		return cmp;
	ssup->comparator = self->full.comparator;
	ssup->ssup_extra = self->full.ssup_extra;
	text_compare_contradicted(self->failure, self->full.ssup_collation);
	return full;
}

/* text_compare_contradicted: see text_compare.h. */
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

/* True if two values consist of the same bytes, headers included. */
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

	if (same_bytes(x, y))
		return 0;
	if (!text_is_plain(self->form, x) || !text_is_plain(self->form, y) ||
		self->failure->full || !text_rank_is_ready(self->ranks))
		return compare_full(self, x, y);
	a = text_string(self->form, x, &a_length);
	b = text_string(self->form, y, &b_length);
	shared = shared_length(a, b, Min(a_length, b_length));
	if (shared == a_length && shared == b_length)
		return 0;
	if (!text_rank_compare(self->ranks, shared, a, a_length, b, b_length, &cmp))
		return compare_full(self, x, y);
	if (*self->tried < BOTH_FIRST || self->compared++ % BOTH_EVERY == 0)
		return compare_both(self, x, y, cmp, ssup);
	return cmp;
}

void
text_compare_wrap(SortSupport ssup, TextRanks *ranks, bool padded,
				  CompareFailure *failure)
{
	TextCompare *self = MemoryContextAllocZero(ssup->ssup_cxt,
											   sizeof(TextCompare));

	self->full = *ssup;
	self->ranks = ranks;
	self->tried = text_rank_tried(ranks);
	self->form = padded ? TEXT_PADDED : TEXT_VARLENA;
	self->failure = failure;
	ssup->ssup_extra = self;
	ssup->comparator = compare_ranks;
}
