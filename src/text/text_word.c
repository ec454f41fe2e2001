/*-------------------------------------------------------------------------
 *
 * text_word.c
 *	  The word of a string without learning.
 *
 * The sorts of other extensions make the words of a tuple once, when they put
 * it, so their keys cannot learn a code (text_code.h).  The primary weights in
 * the tables of a collation of the C library need no learning: no weight is the
 * beginning of another one, so the order of their bytes is that of the strings
 * that they tell apart.  A weight has two or three bytes in most collations, so
 * a word holds three or four characters.
 *
 * The provider of the collation compares one in CHECK_EVERY strings with the
 * one that was checked before it: order_spot_check() sees only sorts whose keys
 * it knows.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "text/text_word.h"
#include "util.h"
#include "utils/builtins.h"

/* Check one in this many strings, unless it is longer than this. */
#define CHECK_EVERY		64
#define CHECK_BYTES		1024

typedef struct TextWord
{
	SortSupportData full;		/* the comparison of the type */
	const TextRanks *ranks;
	bool		padded;			/* blanks at the end do not count */
	CompareFailure *failure;	/* where to report a contradiction */
	int			until_check;	/* strings until the next check */
	bool		any_checked;
	uint64		word;			/* of the string checked last */
	union
	{
		struct varlena header;
		char		bytes[VARHDRSZ + CHECK_BYTES];
	}			last;			/* that string, as a value */
} TextWord;

/* Append the bytes of a weight, which are its leading ones that are not 0. */
static inline int
append_weight(uint64 *word, int used, uint32 rank)
{
	for (; rank != 0 && used < (int) sizeof(uint64); rank <<= BITS_PER_BYTE)
		*word |= (uint64) (rank >> 24) << (56 - BITS_PER_BYTE * used++);
	return used;
}

/* The word of a string. */
static uint64
make_word(const TextRanks *ranks, const char *string, int length)
{
	const char *end = string + length;
	uint64		word = 0;
	int			used = 0;
	int			taken = 0;

	while (used < (int) sizeof(uint64) && string < end)
		used = append_weight(&word, used,
							 text_rank_next(ranks, &string, end, &taken));
	return word;
}

/* Compare a string with the one checked last by the collation's provider. */
static pg_noinline void
check_word(TextWord *self, const char *string, int length, uint64 word)
{
	union
	{
		struct varlena header;
		char		bytes[VARHDRSZ + CHECK_BYTES];
	}			value;

	self->until_check = CHECK_EVERY;
	if (length > CHECK_BYTES)
		return;
	SET_VARSIZE(&value, VARHDRSZ + length);
	memcpy(value.bytes + VARHDRSZ, string, length);
	if (self->any_checked && word != self->word)
	{
		int			cmp = self->full.comparator(PointerGetDatum(&value),
												PointerGetDatum(&self->last),
												&self->full);

		if (word < self->word ? cmp >= 0 : cmp <= 0)
			text_compare_contradicted(self->failure,
									  self->full.ssup_collation);
	}
	memcpy(&self->last, &value, VARHDRSZ + length);
	self->word = word;
	self->any_checked = true;
}

void
text_word_init(SortSupport ssup, const TextRanks *ranks, bool padded,
			   CompareFailure *failure)
{
	TextWord   *self = MemoryContextAllocZero(ssup->ssup_cxt,
											  sizeof(TextWord));

	self->full = *ssup;
	self->ranks = ranks;
	self->padded = padded;
	self->failure = failure;
	self->until_check = CHECK_EVERY;
	ssup->ssup_extra = self;
}

uint64
text_word(Datum value, SortSupport ssup)
{
	TextWord   *self = ssup->ssup_extra;
	struct varlena *text = PG_DETOAST_DATUM_PACKED(value);
	const char *string = VARDATA_ANY(text);
	int			length = VARSIZE_ANY_EXHDR(text);
	uint64		word;

	if (self->padded)
		length = bpchartruelen(unconstify(char *, string), length);
	word = make_word(self->ranks, string, length);
	if (unlikely(--self->until_check == 0))
		check_word(self, string, length, word);
	if (unlikely((Pointer) text != DatumGetPointer(value)))
		pfree(text);
	return word;
}
