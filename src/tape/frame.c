/*-------------------------------------------------------------------------
 *
 * frame.c
 *	  A frame: a few sorted entries, packed.  A run consists of frames.
 *
 * Participants that share one disk wait for its I/O.  Packing costs a few
 * instructions per value, and saves a quarter to a half of the bytes.
 *
 * The values of one column are adjacent, so packing and unpacking are loops of
 * a few shifts, with all variables in registers.  The loops copy 8 bytes even
 * for shorter values; the next packed value overwrites the excess.
 *
 * The first column is sorted, so packing computes its differences by
 * subtraction.  For the other columns, packing uses exclusive or.  In a heap
 * TID, subtraction would borrow from the block number for the offset number,
 * and then all bits between the two numbers would vary.
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

/* Return a mask of the lowest bits of a word. */
static pt_inline uint64
low_bits(int bits)
{
	return bits >= 64 ? ~UINT64CONST(0) : (UINT64CONST(1) << bits) - 1;
}

/* Choose the ranges of bits to store; 'mask' has the bits that vary. */
static void
plan_column(FrameColumn *column, uint64 mask)
{
	int			low;
	int			high;
	int			zeros = 0;
	int			gap = 0;		/* length of the longest gap between set bits */
	int			after = 0;		/* first bit after that gap */

	memset(column, 0, sizeof(FrameColumn));
	if (mask == 0)
		return;

	low = pg_rightmost_one_pos64(mask);
	high = pg_leftmost_one_pos64(mask) + 1;
	for (int bit = low; bit < high; bit++)
	{
		zeros = (mask >> bit) & 1 ? 0 : zeros + 1;
		if (zeros > gap)
		{
			gap = zeros;
			after = bit + 1;
		}
	}
	/* keep the gap if leaving it out saves no byte */
	if (BYTES_OF(high - low - gap) == BYTES_OF(high - low))
	{
		gap = 0;
		after = high;
	}
	column->bytes = BYTES_OF(high - low - gap);
	column->shift[0] = low;
	column->bits[0] = after - gap - low;
	column->bits[1] = high - after;
	column->shift[1] = column->bits[1] > 0 ? after : 0;
}

static pt_inline uint64
difference(uint64 value, uint64 base, const bool sorted)
{
	return sorted ? value - base : value ^ base;
}

/*
 * Return a difference's stored form.  If the first range has 64 bits, the
 * second range is empty, and its shift does not matter.
 */
static pt_inline uint64
squeeze(const FrameColumn column, uint64 varying)
{
	return ((varying >> column.shift[0]) & low_bits(column.bits[0])) |
		((varying >> column.shift[1]) & low_bits(column.bits[1])) <<
		column.bits[0] % 64;
}

static pt_inline uint64
spread(const FrameColumn column, uint64 stored)
{
	return (stored & low_bits(column.bits[0])) << column.shift[0] |
		((stored >> column.bits[0] % 64) & low_bits(column.bits[1])) <<
		column.shift[1];
}

/* Pack the first value of each entry; return the end of the column. */
static pt_inline char *
pack_column(FrameColumn *result, char *target, const uint64 *entries, int n,
			const int stride, const bool sorted)
{
	FrameColumn column;			/* a local copy, for registers */
	uint64		base = entries[0];
	uint64		mask = 0;

	for (int i = 1; i < n; i++)
		mask |= difference(entries[i * stride], base, sorted);
	plan_column(result, mask);
	result->base = base;
	column = *result;
	for (int i = 0; i < n; i++, target += column.bytes)
		store_low(target, squeeze(column, difference(entries[i * stride], base,
													 sorted)));
	return target;
}

/* Unpack the first value of each entry; return the end of the column. */
static pt_inline const char *
unpack_column(const FrameColumn column, const char *source, uint64 *entries,
			  int n, const int stride, const bool sorted)
{
	for (int i = 0; i < n; i++, source += column.bytes)
	{
		uint64		varying = spread(column, load_low(source));

		entries[i * stride] = sorted ? column.base + varying :
			column.base ^ varying;
	}
	return source;
}

/*
 * frame_pack packs n entries of ncolumns columns, without the images' rests,
 * and returns the number of bytes used.  'target' must have FRAME_MAX_PACKED
 * bytes.  Unless NULL, 'trims' has the number of zero bytes that the caller cut
 * off the end of each image.  The caller sets 'size' and 'previous' in the
 * header.
 */
Size
frame_pack(char *target, const uint64 *entries, int n, int ncolumns,
		   const uint8 *trims)
{
	FrameHeader *header = (FrameHeader *) target;
	FrameColumn *columns = (FrameColumn *) (header + 1);
	char	   *end = (char *) (columns + ncolumns);

	memset(header, 0, sizeof(FrameHeader));
	header->count = n;
	end = pack_column(&columns[0], end, entries, n, ncolumns, true);
	for (int i = 1; i < ncolumns; i++)
		end = pack_column(&columns[i], end, entries + i, n, ncolumns, false);
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

/*
 * frame_is_sound: true if frame_unpack will stay within a frame of this size
 * and within its output arrays.
 */
bool
frame_is_sound(const char *frame, Size size, int ncolumns, bool has_trims)
{
	const FrameHeader *header = (const FrameHeader *) frame;
	const FrameColumn *columns = (const FrameColumn *) (header + 1);
	Size		end = sizeof(FrameHeader) + ncolumns * sizeof(FrameColumn);

	if (size < end || header->count < 1 || header->count > FRAME_ENTRIES)
		return false;
	for (int i = 0; i < ncolumns; i++)
	{
		if (columns[i].bytes > sizeof(uint64))
			return false;
		end += columns[i].bytes * header->count;
	}
	if (has_trims && header->trims_vary)
		end += header->count;
	return end <= size;
}

/*
 * frame_unpack restores the entries and 'trims' (may be NULL).  Both arrays
 * must have room for FRAME_ENTRIES entries.  Returns the offset of the rests.
 */
Size
frame_unpack(const char *frame, int ncolumns, uint64 *entries, uint8 *trims)
{
	const FrameHeader *header = (const FrameHeader *) frame;
	const FrameColumn *columns = (const FrameColumn *) (header + 1);
	int			n = header->count;
	const char *end = (const char *) (columns + ncolumns);

	end = unpack_column(columns[0], end, entries, n, ncolumns, true);
	for (int i = 1; i < ncolumns; i++)
		end = unpack_column(columns[i], end, entries + i, n, ncolumns, false);
	if (trims && header->trims_vary)
	{
		memcpy(trims, end, n);
		end += n;
	}
	else if (trims)
		memset(trims, header->trim, n);
	return end - frame;
}
