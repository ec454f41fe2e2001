/*-------------------------------------------------------------------------
 *
 * frame.c
 *	  A few sorted entries, packed: the unit in which a run is stored.
 *
 * Each merge pass writes and reads all temporary bytes, and a build whose
 * participants share one disk waits for this.  Packing costs a few instructions
 * per value and saves a quarter to a half of the bytes.
 *
 * The values of one column are adjacent, so packing and unpacking are loops of
 * a few shifts with everything else in registers.  They copy 8 bytes for each
 * value, whatever its length, and the next value overwrites the excess.
 *
 * The first column is sorted, so its differences are made by subtraction; those
 * of the other columns are made by exclusive or.  There, subtraction would
 * borrow from a heap TID's block number for its offset number, and then all
 * bits in between would vary.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "tape/frame.h"

#define pt_inline		pg_attribute_always_inline

#define BYTES_OF(bits)	(((bits) + 7) / 8)

StaticAssertDecl(sizeof(FrameHeader) == MAXALIGN(sizeof(FrameHeader)) &&
				 sizeof(FrameColumn) == 2 * sizeof(uint64),
				 "frames are packed without gaps");
StaticAssertDecl(FRAME_ENTRIES <= PG_UINT8_MAX,
				 "FrameHeader.count is too short");

/* Store a value with its lowest byte first. */
static pt_inline void
store_low(char *target, uint64 value)
{
#ifdef WORDS_BIGENDIAN
	value = pg_bswap64(value);
#endif
	memcpy(target, &value, sizeof(uint64));
}

static pt_inline uint64
load_low(const char *source)
{
	uint64		value;

	memcpy(&value, source, sizeof(uint64));
#ifdef WORDS_BIGENDIAN
	value = pg_bswap64(value);
#endif
	return value;
}

/* A mask of the lowest bits of a word. */
static pt_inline uint64
low_bits(int bits)
{
	return bits >= 64 ? ~UINT64CONST(0) : (UINT64CONST(1) << bits) - 1;
}

/* The longest gap between set bits; its length is 0 if there is none. */
static void
find_gap(uint64 mask, int *start, int *length)
{
	int			high = pg_leftmost_one_pos64(mask) + 1;
	int			at = pg_rightmost_one_pos64(mask);

	*start = *length = 0;
	for (;;)
	{
		uint64		zeros = ~(mask >> at);
		int			begin = 64;

		if (zeros != 0)
			begin = at + pg_rightmost_one_pos64(zeros);
		if (begin >= high)
			return;
		at = begin + pg_rightmost_one_pos64(mask >> begin);
		if (at - begin > *length)
		{
			*start = begin;
			*length = at - begin;
		}
	}
}

/* Choose the ranges of bits to store, given those that vary. */
static void
plan_column(FrameColumn *column, uint64 mask)
{
	int			start;
	int			length;
	int			low;
	int			bits;

	memset(column, 0, sizeof(FrameColumn));
	if (mask == 0)
		return;

	low = pg_rightmost_one_pos64(mask);
	bits = pg_leftmost_one_pos64(mask) + 1 - low;
	column->bytes = BYTES_OF(bits);
	column->nranges = 1;
	column->shift[0] = low;
	column->bits[0] = bits;

	/* keep the gap if leaving it out saves no byte */
	find_gap(mask, &start, &length);
	if (BYTES_OF(bits - length) == column->bytes)
		return;
	column->bytes = BYTES_OF(bits - length);
	column->nranges = 2;
	column->bits[0] = start - low;
	column->shift[1] = start + length;
	column->bits[1] = low + bits - column->shift[1];
}

static pt_inline uint64
difference(uint64 value, uint64 base, const bool sorted)
{
	return sorted ? value - base : value ^ base;
}

/* Pack the first value of each entry; returns the end of the column. */
static pt_inline char *
pack_column(FrameColumn *column, char *target, const uint64 *entries, int n,
			const int stride, const bool sorted)
{
	uint64		base = entries[0];
	uint64		mask = 0;
	int			bytes;
	int			shift;

	for (int i = 1; i < n; i++)
		mask |= difference(entries[i * stride], base, sorted);
	plan_column(column, mask);
	column->base = base;
	bytes = column->bytes;
	shift = column->shift[0];
	if (column->nranges == 1)
	{
		for (int i = 0; i < n; i++, target += bytes)
		{
			uint64		varying = difference(entries[i * stride], base, sorted);

			store_low(target, varying >> shift);
		}
	}
	else if (column->nranges > 1)
	{
		int			shift1 = column->shift[1];
		int			place1 = column->bits[0];
		uint64		mask0 = low_bits(column->bits[0]);
		uint64		mask1 = low_bits(column->bits[1]);

		for (int i = 0; i < n; i++, target += bytes)
		{
			uint64		varying = difference(entries[i * stride], base, sorted);

			store_low(target, ((varying >> shift) & mask0) |
					  ((varying >> shift1) & mask1) << place1);
		}
	}
	return target;
}

/* Unpack the first value of each entry; returns the end of the column. */
static pt_inline const char *
unpack_column(const FrameColumn *column, const char *source, uint64 *entries,
			  int n, const int stride, const bool sorted)
{
	uint64		base = column->base;
	uint64		mask0 = low_bits(column->bits[0]);
	int			bytes = column->bytes;
	int			shift = column->shift[0];

	if (column->nranges == 0)
	{
		for (int i = 0; i < n; i++)
			entries[i * stride] = base;
	}
	else if (column->nranges == 1)
	{
		for (int i = 0; i < n; i++, source += bytes)
		{
			uint64		varying = (load_low(source) & mask0) << shift;

			entries[i * stride] = sorted ? base + varying : base ^ varying;
		}
	}
	else
	{
		int			shift1 = column->shift[1];
		int			place1 = column->bits[0];
		uint64		mask1 = low_bits(column->bits[1]);

		for (int i = 0; i < n; i++, source += bytes)
		{
			uint64		stored = load_low(source);
			uint64		varying = (stored & mask0) << shift |
				((stored >> place1) & mask1) << shift1;

			entries[i * stride] = sorted ? base + varying : base ^ varying;
		}
	}
	return source;
}

static pt_inline char *
pack_columns(FrameColumn *columns, const uint64 *entries, int n,
			 const int stride)
{
	char	   *target = (char *) (columns + stride);

	for (int i = 0; i < stride; i++)
		target = pack_column(&columns[i], target, entries + i, n, stride,
							 i == 0);
	return target;
}

/*
 * frame_pack packs n entries of ncolumns columns, without their rests, into
 * 'target', which has FRAME_MAX_PACKED bytes, and returns the number of bytes
 * used.  Unless NULL, 'trims' has the number of zero bytes cut off the end of
 * each image.  The caller sets size and previous in the header.
 */
Size
frame_pack(char *target, const uint64 *entries, int n, int ncolumns,
		   const uint8 *trims)
{
	FrameHeader *header = (FrameHeader *) target;
	FrameColumn *columns = (FrameColumn *) (target + sizeof(FrameHeader));
	char	   *end;

	memset(header, 0, sizeof(FrameHeader));
	header->count = n;
	switch (ncolumns)
	{
		case 1:
			end = pack_columns(columns, entries, n, 1);
			break;
		case 2:
			end = pack_columns(columns, entries, n, 2);
			break;
		default:
			end = pack_columns(columns, entries, n, 3);
			break;
	}
	if (trims)
	{
		header->trim = trims[0];
		for (int i = 1; i < n; i++)
			header->trims_vary |= trims[i] != trims[0];
		if (header->trims_vary)
		{
			memcpy(end, trims, n);
			end += n;
		}
	}
	return end - target;
}

/* The columns of a frame follow its header. */
static pt_inline const FrameColumn *
columns_of(const char *frame)
{
	return (const FrameColumn *) (frame + sizeof(FrameHeader));
}

/*
 * frame_is_sound: true if frame_unpack will stay within a frame of this size
 * and within its output arrays.
 */
bool
frame_is_sound(const char *frame, Size size, int ncolumns, bool has_trims)
{
	const FrameHeader *header = (const FrameHeader *) frame;
	const FrameColumn *columns = columns_of(frame);
	Size		end = sizeof(FrameHeader) + ncolumns * sizeof(FrameColumn);

	if (size < end || header->count < 1 || header->count > FRAME_ENTRIES)
		return false;
	for (int i = 0; i < ncolumns; i++)
	{
		if (columns[i].bytes > sizeof(uint64) ||
			columns[i].nranges > FRAME_RANGES)
			return false;
		end += (columns[i].nranges > 0 ? columns[i].bytes : 0) * header->count;
	}
	if (has_trims && header->trims_vary)
		end += header->count;
	return end <= size;
}

static pt_inline const char *
unpack_columns(const FrameColumn *columns, uint64 *entries, int n,
			   const int stride)
{
	const char *source = (const char *) (columns + stride);

	for (int i = 0; i < stride; i++)
		source = unpack_column(&columns[i], source, entries + i, n, stride,
							   i == 0);
	return source;
}

/*
 * frame_unpack restores the entries and, unless NULL, trims; both arrays must
 * have room for FRAME_ENTRIES.  Returns the offset of the rests in the frame.
 */
Size
frame_unpack(const char *frame, int ncolumns, uint64 *entries, uint8 *trims)
{
	const FrameHeader *header = (const FrameHeader *) frame;
	const FrameColumn *columns = columns_of(frame);
	int			n = header->count;
	const char *end;

	switch (ncolumns)
	{
		case 1:
			end = unpack_columns(columns, entries, n, 1);
			break;
		case 2:
			end = unpack_columns(columns, entries, n, 2);
			break;
		default:
			end = unpack_columns(columns, entries, n, 3);
			break;
	}
	if (trims && header->trims_vary)
	{
		memcpy(trims, end, n);
		end += n;
	}
	else if (trims)
		memset(trims, header->trim, n);
	return end - frame;
}
