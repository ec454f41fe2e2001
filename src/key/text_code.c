/*-------------------------------------------------------------------------
 *
 * text_code.c
 *	  Strings become words by an order-preserving code learned from a sample.
 *
 * Two more things than text_code.h tells:
 *
 * A prefix that nearly all strings of the sample begin with is not coded, only
 * compared.  Strings without it get the intervals below or above all others.
 *
 * A bytewise word may be the string's first eight bytes as they are, if these
 * are as good as different in the sample: that is much faster.
 *
 * A character that was not in the sample lies between two classes.  It is
 * coded as the one above it and ends the code: that is the lower bound of all
 * strings that go on like this one.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fault.h"
#include "mb/pg_wchar.h"
#include "port/pg_bswap.h"
#include "ptsort_variant.h"
#include "key/text_code.h"
#include "key/text_model.h"
#include "utils/memutils.h"

/* Bytes of a string of the sample that are looked at. */
#define SAMPLE_BYTES	256

/* Bytes of the sample at first. */
#define FIRST_SAMPLE	1024

/*
 * What learning may take, and how it is divided if that is too much: tables of
 * the model tell more strings apart than strings of the sample do.
 *
 * The sample's part is also that of its words, when it is put in order by
 * them.  The table of characters gets that part when all is learned.
 */
#define SAMPLE_MEMORY \
	(TEXT_CODE_SAMPLE * (sizeof(int) + SAMPLE_BYTES + sizeof(CodedString)))
#define CHARACTERS_MEMORY	(512 * 1024)
#define SAMPLE_LIMIT(limit)		Min((limit) / 2, SAMPLE_MEMORY)
#define MODEL_LIMIT(limit)		Min((limit) / 8 * 3, TEXT_MODEL_MEMORY)
#define CHARACTERS_LIMIT(limit) Min((limit) / 8, CHARACTERS_MEMORY)
#define CHARACTERS_LATER(limit) Min((limit) / 2, CHARACTERS_MEMORY)

/* Classes beyond this number are coded as two symbols each. */
#define MAX_ONE_SYMBOL	(TEXT_MODEL_MAX_SYMBOLS - 2)

/* Part of the sample that must have the prefix. */
#define PREFIX_PART		0.95

/* Part of the sample that must have plain words of their own. */
#define PLAIN_PART		0.98

/* Part of the sample that a code may put in the wrong place. */
#define USELESS_PART	0.25

/*
 * Of this many strings of the sample one is counted from its start, prefix and
 * all: what comes later in the table may not have the prefix.
 */
#define WHOLE_STRINGS	8

/* Where a string stands to the prefix, and what part of the interval it gets. */
enum
{
	BELOW_PREFIX,
	HAS_PREFIX,
	ABOVE_PREFIX
};
static const uint16 prefix_parts[] = {
	0, TEXT_MODEL_TOTAL / 16, TEXT_MODEL_TOTAL / 16 * 15, TEXT_MODEL_TOTAL
};

/* What of a code other processes need, but classes and model. */
typedef struct TextPrefix
{
	int			nclasses;		/* 0: there is no prefix */
	int			length;
	char		bytes[SAMPLE_BYTES];
	CharClass	classes[SAMPLE_BYTES];
} TextPrefix;

/* What the words are. */
typedef enum TextCodeMode
{
	LEARNING,					/* 0 so far */
	USELESS,					/* 0: the code would be wrong too often */
	PLAIN,						/* the first bytes as they are */
	CODED
} TextCodeMode;

/* A string of the sample and its words. */
typedef struct CodedString
{
	uint64		words[PTSORT_MAX_WORDS];
	const char *string;
	int			length;
} CodedString;

struct TextCode
{
	MemoryContext context;		/* all there is of the code */
	Size		limit;			/* bytes that it may have */
	Size		peak;			/* bytes that it had while it learned */
	Collation  *collation;
	CharClass  *byte_classes;	/* the collation's */
	uint16		byte_symbols[256];	/* of characters of one byte: see
									 * code_bytes */
	int			nwords;
	bool		bytewise;		/* the collation's order is */
	bool		two_symbols;	/* a class is two symbols */
	TextCodeMode mode;
	bool		right;			/* it put all of the sample in order */
	TextPrefix	prefix;
	TextModel  *model;			/* if coded */
	char	   *sample;			/* lengths (int) and bytes, behind each other */
	Size		sample_bytes;
	Size		sample_room;
	int			nsample;
	int64		seen;			/* strings shown, of which ... */
	int64		sample_every;	/* ... one in so many is in the sample */
};

TextCode *
text_code_create(SortSupport ssup, TextForm form, bool bytewise, int nwords)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ptsort text code",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TextCode   *code = palloc0(sizeof(TextCode));

	code->context = context;
	code->collation = text_collation_create(ssup, form, bytewise);
	code->byte_classes = text_collation_byte_classes(code->collation);
	code->bytewise = bytewise;
	code->nwords = nwords;
	code->sample_every = 1;
	code->sample_room = FIRST_SAMPLE;
	code->sample = palloc(code->sample_room);
	MemoryContextSwitchTo(old);
	(void) text_code_limit(code, PG_INT32_MAX);
	return code;
}

Size
text_code_limit(TextCode *code, Size limit)
{
	code->limit = limit;
	text_collation_limit(code->collation, CHARACTERS_LIMIT(limit));
	return SAMPLE_LIMIT(limit) + MODEL_LIMIT(limit) + CHARACTERS_LIMIT(limit);
}

Size
text_code_memory(const TextCode *code)
{
	return MemoryContextMemAllocated(code->context, true);
}

Size
text_code_peak_memory(const TextCode *code)
{
	return code->peak;
}

static void
note_peak(TextCode *code)
{
	Size		memory = text_code_memory(code);

	code->peak = Max(code->peak, memory);
}

/*
 * The bytes of whole characters among the first `limit`.  A comparison may
 * raise an error about part of a character.
 */
static int
whole_characters(const TextCode *code, const char *string, int length, int limit)
{
	return code->bytewise ? Min(length, limit) :
		pg_encoding_mbcliplen(GetDatabaseEncoding(), string, length, limit);
}

/* The next string of the sample; at is 0 at first. */
static const char *
next_sample(const TextCode *code, Size *at, int *length)
{
	const char *string;

	if (*at >= code->sample_bytes)
		return NULL;
	memcpy(length, code->sample + *at, sizeof(int));
	string = code->sample + *at + sizeof(int);
	*at += sizeof(int) + *length;
	return string;
}

/* Drop every other string of the sample. */
static void
thin_sample(TextCode *code)
{
	const char *string;
	Size		at = 0;
	Size		kept = 0;		/* bytes */
	int			length;

	for (int i = 0; (string = next_sample(code, &at, &length)) != NULL; i++)
	{
		if (i % 2 != 0)
			continue;
		memmove(code->sample + kept, string - sizeof(int), sizeof(int) + length);
		kept += sizeof(int) + length;
	}
	code->sample_bytes = kept;
	code->nsample = (code->nsample + 1) / 2;
	code->sample_every *= 2;
}

/* Is there room in the sample for a string of so many bytes? */
static bool
sample_has_room(TextCode *code, int length)
{
	Size		need = code->sample_bytes + sizeof(int) + length;

	if (code->nsample == TEXT_CODE_SAMPLE ||
		need + (code->nsample + 1) * sizeof(CodedString) > SAMPLE_LIMIT(code->limit))
		return false;
	while (code->sample_room < need)
	{
		code->sample_room = Min(code->sample_room * 2, SAMPLE_LIMIT(code->limit));
		code->sample = repalloc(code->sample, code->sample_room);
	}
	return true;
}

/* Show a string, of which the sample is evenly spread. */
static void
show_string(TextCode *code, const char *string, int length)
{
	int64		number = code->seen++;

	if (number % code->sample_every != 0)
		return;
	length = whole_characters(code, string, length, SAMPLE_BYTES);
	while (!sample_has_room(code, length))
	{
		if (code->nsample == 0)
			return;
		thin_sample(code);
		/* what is kept are multiples of the new distance; is this one? */
		if (number % code->sample_every != 0)
			return;
	}
	memcpy(code->sample + code->sample_bytes, &length, sizeof(int));
	memcpy(code->sample + code->sample_bytes + sizeof(int), string, length);
	code->sample_bytes += sizeof(int) + length;
	code->nsample++;
}


/*
 * Coding
 */

/*
 * CodeInterval: the lower end, and the size as range * 2^shift.  The range is
 * kept above 2^32, so that its parts are exact enough, while bits are left.
 */
typedef struct CodeInterval
{
	uint128		low;
	uint64		range;
	int			shift;
} CodeInterval;

/* Give the range more bits if there are; false if it is too small to be divided. */
static inline bool
refill(CodeInterval *interval)
{
	if (interval->range >> 32 == 0 && interval->shift > 0)
	{
		interval->range <<= 32;
		interval->shift -= 32;
	}
	return interval->range >> (TEXT_MODEL_BITS + 1) != 0;
}

/* Go to a part of the interval; false if that is too small to be divided. */
static inline bool
narrow(CodeInterval *interval, const uint16 *parts, int symbol)
{
	uint64		step = interval->range >> TEXT_MODEL_BITS;
	uint64		from = step * parts[symbol];

	interval->low += (uint128) from << interval->shift;
	interval->range = step * parts[symbol + 1] - from;
	return refill(interval);
}

/* How a string that has not the prefix's bytes stands to it. */
static int
compare_prefix(TextCode *code, const char **string, const char *end)
{
	const TextPrefix *prefix = &code->prefix;

	for (int i = 0; i < prefix->nclasses;)
	{
		CharClass	class;

		if (*string == end)
			return BELOW_PREFIX;
		class = text_collation_next(code->collation, code->byte_classes, string, end);
		if (class == CLASS_IGNORED)
			continue;
		if ((class & ~CLASS_ABOVE) != prefix->classes[i])
			return (class & ~CLASS_ABOVE) < prefix->classes[i] ? BELOW_PREFIX : ABOVE_PREFIX;
		if (class & CLASS_ABOVE)
			return BELOW_PREFIX;
		i++;
	}
	return HAS_PREFIX;
}

/* Skip the prefix, if the string has it, and narrow the interval to match. */
static void
code_prefix(TextCode *code, CodeInterval *interval, const char **string,
			const char *end)
{
	const TextPrefix *prefix = &code->prefix;
	const char *behind = *string;
	int			place = HAS_PREFIX;
	int			cmp;

	if (prefix->nclasses == 0)
		return;
	cmp = memcmp(behind, prefix->bytes, Min(end - behind, prefix->length));
	if (cmp == 0 && end - behind >= prefix->length)
		behind += prefix->length;
	else if (code->bytewise)
		place = cmp > 0 ? ABOVE_PREFIX : BELOW_PREFIX;
	else
		place = compare_prefix(code, &behind, end);
	(void) narrow(interval, prefix_parts, place);
	if (place == HAS_PREFIX)
		*string = behind;
}

/* Narrow the interval by a symbol; false if no more can be coded. */
static inline bool
code_symbol(const TextModel *model, CodeInterval *interval,
			TextContext *context, int symbol)
{
	const uint16 *parts = text_model_parts(model, context);

	text_model_step(context, symbol);
	return narrow(interval, parts, symbol);
}

/* What byte_symbols has besides symbols. */
#define NO_SYMBOL		TEXT_MODEL_END	/* none, or not known yet */
#define IGNORED_SYMBOL	TEXT_MODEL_MAX_SYMBOLS

/*
 * Narrow the interval by characters of one byte and one symbol, as long as its
 * shift stays.  That is nearly all of the work, so nothing else is in the
 * loop, and the shift is a constant.  Returns where it ended.
 */
static pg_attribute_always_inline const char *
code_bytes(const TextCode *code, CodeInterval *interval, TextContext *context,
		   const char *string, const char *end, int shift)
{
	const TextModel *model = code->model;
	CodeInterval now = *interval;
	int			spent = shift > 0 ? 32 : TEXT_MODEL_BITS + 1;	/* bits of range */

	for (; string < end && now.range >> spent != 0; string++)
	{
		int			symbol = code->byte_symbols[(unsigned char) *string];
		const uint16 *parts;
		uint64		step;
		uint64		from;

		if (symbol == IGNORED_SYMBOL)
			continue;
		if (symbol == NO_SYMBOL)
			break;
		parts = text_model_parts(model, context);
		step = now.range >> TEXT_MODEL_BITS;
		from = step * parts[symbol];
		text_model_step(context, symbol);
		now.low += (uint128) from << shift;
		now.range = step * parts[symbol + 1] - from;
	}
	*interval = now;
	return string;
}

/*
 * Narrow the interval by any character; false if no more can be coded.
 */
static pg_noinline bool
code_character(TextCode *code, CodeInterval *interval, TextContext *context,
			   const char **string, const char *end)
{
	const char *start = *string;
	CharClass	class = text_collation_next(code->collation, code->byte_classes,
											string, end);
	int			number = class & ~CLASS_ABOVE;
	uint16	   *byte_symbol = *string == start + 1 ?
		&code->byte_symbols[(unsigned char) *start] : NULL;

	if (class == CLASS_IGNORED)
	{
		if (byte_symbol)
			*byte_symbol = IGNORED_SYMBOL;
		return true;
	}
	if (code->two_symbols)
		return code_symbol(code->model, interval, context, 1 + number / 255) &&
			code_symbol(code->model, interval, context, 1 + number % 255) &&
			!(class & CLASS_ABOVE);
	if (byte_symbol && !(class & CLASS_ABOVE))
		*byte_symbol = 1 + number;
	return code_symbol(code->model, interval, context, 1 + number) &&
		!(class & CLASS_ABOVE);
}

/* Narrow the interval to that of the string; ends at its end or when full. */
static inline void
code_string(TextCode *code, CodeInterval *interval, const char *string,
			const char *end)
{
	TextContext context = {TEXT_MODEL_END, TEXT_MODEL_END};

	for (;;)
	{
		if (interval->shift == 64)
			string = code_bytes(code, interval, &context, string, end, 64);
		else if (interval->shift == 32)
			string = code_bytes(code, interval, &context, string, end, 32);
		else
			string = code_bytes(code, interval, &context, string, end, 0);
		if (!refill(interval))
			return;
		if (string == end)
			break;
		if (code->byte_symbols[(unsigned char) *string] == NO_SYMBOL &&
			!code_character(code, interval, &context, &string, end))
			return;
	}
	(void) code_symbol(code->model, interval, &context, TEXT_MODEL_END);
}

static void
code_words(TextCode *code, const char *string, int length, uint64 *words)
{
	const char *end = string + length;
	CodeInterval interval = {
		.range = PG_UINT64_MAX,
		.shift = 64 * (code->nwords - 1)
	};

	code_prefix(code, &interval, &string, end);
	code_string(code, &interval, string, end);
	if (code->nwords > 1)
		*words++ = (uint64) (interval.low >> 64);
	*words = (uint64) interval.low;
}

/* The first bytes of a string as one word. */
static uint64
plain_word(const char *string, int length)
{
	uint64		word = 0;

	memcpy(&word, string, Min(length, sizeof(word)));
	return pg_ntoh64(word);
}

/*
 * text_code_words gives the words of a value that is not null.
 */
void
text_code_words(TextCode *code, Datum value, uint64 *words)
{
	int			length;
	const char *string = text_collation_string(code->collation, value, &length);

	if (likely(code->mode == CODED))
		code_words(code, string, length, words);
	else if (code->mode == PLAIN)
		*words = plain_word(string, length);
	else
	{
		if (code->mode == LEARNING)
			show_string(code, string, length);
		for (int i = 0; i < code->nwords; i++)
			words[i] = 0;
	}
}


/*
 * Learning
 */

/* The bytes that PREFIX_PART of the sample begin with. */
static int
find_prefix(const TextCode *code, char *prefix)
{
	int			length = 0;

	for (; length < SAMPLE_BYTES; length++)
	{
		int			counts[256] = {0};
		int			best = 0;
		Size		at = 0;
		int			size;
		const char *string;

		while ((string = next_sample(code, &at, &size)) != NULL)
		{
			if (size > length && memcmp(string, prefix, length) == 0)
				counts[(unsigned char) string[length]]++;
		}
		for (int i = 1; i < 256; i++)
		{
			if (counts[i] > counts[best])
				best = i;
		}
		if (counts[best] < PREFIX_PART * code->nsample || counts[best] == 0)
			break;
		prefix[length] = (char) best;
	}
	return length;
}

/*
 * Set the prefix: that of the sample but for its last character, which might
 * belong to the next one in the eyes of the collation.
 */
static void
learn_prefix(TextCode *code)
{
	TextPrefix *prefix = &code->prefix;
	int			length = find_prefix(code, prefix->bytes);
	const char *end = prefix->bytes + whole_characters(code, prefix->bytes, length, length);
	const char *at = prefix->bytes;

	while (at < end)
	{
		const char *start = at;
		CharClass	class = text_collation_next(code->collation, code->byte_classes,
												&at, end);

		if (at == end && !code->bytewise)
			break;
		prefix->length = at - prefix->bytes;
		if (class == CLASS_IGNORED)
			continue;
		if (class & CLASS_ABOVE)
		{
			prefix->length = start - prefix->bytes;
			break;
		}
		prefix->classes[prefix->nclasses++] = class;
	}
	/* A short one is coded as well as compared. */
	if (prefix->nclasses < 2)
		prefix->nclasses = 0;
}

/* Learn the printable ASCII characters, and those of the sample. */
static void
learn_classes(TextCode *code)
{
	const char *string;
	Size		at = 0;
	int			length;

	for (char c = ' '; c < 0x7F; c++)
		text_collation_learn_string(code->collation, &c, 1);
	while ((string = next_sample(code, &at, &length)) != NULL)
		text_collation_learn_string(code->collation, string, length);
	text_collation_forget_numbers(code->collation);
}

static int
compare_words(const void *a, const void *b)
{
	uint64		left = *(const uint64 *) a;
	uint64		right = *(const uint64 *) b;

	return (left > right) - (left < right);
}

/* Are the first bytes of the sample's strings as good as different? */
static bool
plain_is_enough(TextCode *code)
{
	uint64	   *words;
	const char *string;
	Size		at = 0;
	int			length;
	int			n = 0;
	int			different = 1;

	if (code->nwords != 1 || code->nsample == 0 ||
		!code->bytewise)
		return false;
	words = palloc(code->nsample * sizeof(uint64));
	while ((string = next_sample(code, &at, &length)) != NULL)
		words[n++] = plain_word(string, length);
	note_peak(code);
	qsort(words, n, sizeof(uint64), compare_words);
	for (int i = 1; i < n; i++)
		different += words[i] != words[i - 1];
	pfree(words);
	return different >= PLAIN_PART * n;
}

/* Show a string of the sample to the model. */
static void
count_string(TextCode *code, TextCounts *counts, const char *string, int length,
			 bool whole)
{
	const TextPrefix *prefix = &code->prefix;
	const char *end = string + length;

	if (!whole && prefix->nclasses > 0 && length >= prefix->length &&
		memcmp(string, prefix->bytes, prefix->length) == 0)
		string += prefix->length;
	text_model_count(counts, -1);
	while (string < end)
	{
		CharClass	class = text_collation_next(code->collation, code->byte_classes,
												&string, end);

		if (class == CLASS_IGNORED || (class & CLASS_ABOVE))
			continue;
		if (code->two_symbols)
			text_model_count(counts, 1 + class / 255);
		text_model_count(counts, 1 + (code->two_symbols ? class % 255 : class));
	}
	text_model_count(counts, TEXT_MODEL_END);
}

/* How many symbols there are: the end, the classes, and one above them all. */
static int
count_symbols(TextCode *code)
{
	int			nclasses = text_collation_classes(code->collation);

	code->two_symbols = nclasses > MAX_ONE_SYMBOL;
	return code->two_symbols ? TEXT_MODEL_MAX_SYMBOLS : nclasses + 2;
}

/* Show all of the sample to the model, once. */
static void
count_sample(TextCode *code, TextCounts *counts)
{
	const char *string;
	Size		at = 0;
	int			length;

	for (int i = 0; (string = next_sample(code, &at, &length)) != NULL; i++)
		count_string(code, counts, string, length, i % WHOLE_STRINGS == 0);
}

static void
learn_model(TextCode *code)
{
	TextCounts *counts = text_model_begin(count_symbols(code),
										  MODEL_LIMIT(code->limit));

	count_sample(code, counts);
	text_model_choose(counts);
	count_sample(code, counts);
	note_peak(code);
	code->model = text_model_end(counts);
}

static int
compare_coded(const void *a, const void *b)
{
	const CodedString *left = a;
	const CodedString *right = b;

	for (int i = 0; i < PTSORT_MAX_WORDS; i++)
	{
		if (left->words[i] != right->words[i])
			return left->words[i] < right->words[i] ? -1 : 1;
	}
	return 0;
}

/* How many of the sample's strings does the code put in the wrong place? */
static int
count_wrong(TextCode *code)
{
	CodedString *strings = palloc0(Max(code->nsample, 1) * sizeof(CodedString));
	int			n = 0;
	Size		at = 0;
	int			wrong = 0;

	while ((strings[n].string = next_sample(code, &at, &strings[n].length)) != NULL)
	{
		code_words(code, strings[n].string, strings[n].length, strings[n].words);
		if (++n == code->nsample)
			break;
	}
	note_peak(code);
	qsort(strings, n, sizeof(CodedString), compare_coded);
	for (int i = 1; i < n; i++)
	{
		const CodedString *a = &strings[i - 1];
		const CodedString *b = &strings[i];

		wrong += compare_coded(a, b) != 0 &&
			text_collation_compare(code->collation, a->string, a->length,
								   b->string, b->length) > 0;
	}
	pfree(strings);
	return wrong;
}

static void
forget_sample(TextCode *code)
{
	pfree(code->sample);
	code->sample = NULL;
	code->sample_bytes = 0;
	code->nsample = 0;
}

/*
 * text_code_learn learns from the strings it was asked about so far.
 */
void
text_code_learn(TextCode *code)
{
	MemoryContext old = MemoryContextSwitchTo(code->context);
	int			wrong = 0;

	fault_point("textcode: learn");
	note_peak(code);
	if (plain_is_enough(code))
		code->mode = PLAIN;
	else
	{
		learn_classes(code);
		learn_prefix(code);
		learn_model(code);
		code->mode = CODED;
		if (!code->bytewise)
			wrong = count_wrong(code);
		if (wrong > code->nsample * USELESS_PART)
			code->mode = USELESS;
	}
	code->right = wrong == 0;
	forget_sample(code);
	text_collation_limit(code->collation, CHARACTERS_LATER(code->limit));
	MemoryContextSwitchTo(old);
}

/* text_code_is_right tells whether words put all it learned from in order. */
bool
text_code_is_right(const TextCode *code)
{
	return code->right;
}

/* What begins an export. */
typedef struct CodeHeader
{
	TextCodeMode mode;
	bool		right;
} CodeHeader;

/* text_code_export appends what text_code_import of another process reads. */
void
text_code_export(const TextCode *code, StringInfo target)
{
	CodeHeader	header;

	memset(&header, 0, sizeof(header));
	header.mode = code->mode;
	header.right = code->right;
	appendBinaryStringInfo(target, (const char *) &header, sizeof(header));
	if (code->mode != CODED)
		return;
	appendBinaryStringInfo(target, (const char *) &code->prefix, sizeof(TextPrefix));
	text_collation_export(code->collation, target);
	text_model_export(code->model, target);
}

/* Read an export; false if it is none of a code like this one. */
static bool
import_code(TextCode *code, const char *source, const char *end)
{
	CodeHeader	header;

	if (end - source < (ptrdiff_t) sizeof(header))
		return false;
	memcpy(&header, source, sizeof(header));
	source += sizeof(header);
	code->mode = header.mode;
	code->right = header.right;
	if (code->mode == USELESS || code->mode == PLAIN)
		return source == end && (code->mode == USELESS ||
								 (code->bytewise && code->nwords == 1));
	if (code->mode != CODED || end - source < (ptrdiff_t) sizeof(TextPrefix))
		return false;
	memcpy(&code->prefix, source, sizeof(TextPrefix));
	source += sizeof(TextPrefix);
	if (code->prefix.length < 0 || code->prefix.length > SAMPLE_BYTES ||
		code->prefix.nclasses < 0 || code->prefix.nclasses > SAMPLE_BYTES)
		return false;
	source = text_collation_import(code->collation, source, end);
	if (source == NULL)
		return false;
	code->model = text_model_import(count_symbols(code), source, end);
	return code->model != NULL;
}

/* text_code_import takes what another process has learned. */
void
text_code_import(TextCode *code, const char *source, Size length)
{
	MemoryContext old = MemoryContextSwitchTo(code->context);

	code->peak = text_code_memory(code) + length;
	forget_sample(code);
	if (!import_code(code, source, source + length))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("what another participant has learned about sort keys cannot be read")));
	text_collation_limit(code->collation, CHARACTERS_LATER(code->limit));
	MemoryContextSwitchTo(old);
}
