/*-------------------------------------------------------------------------
 *
 * frame.h
 *	  A frame: a few sorted entries, packed.  A run consists of frames.
 *
 * A frame stores its entries as columns: one for each word of the key and one
 * for the first 8 bytes of the image (all bytes of an inline image).  A column
 * stores only the bits that vary within the frame, in the minimum number of
 * whole bytes.  The layout of a frame:
 *
 *		FrameHeader
 *		FrameColumn of each column
 *		the values of the first column, of the second, ...
 *		numbers of zero bytes cut off each image, one byte each, if they vary
 *		the rest of each image: its bytes after the first 8
 *		padding to MAXALIGN
 *
 * Sorted neighbours share the leading bits of their words, and heap TIDs and
 * tuple headers have constant bits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_FRAME_H
#define PTSORT_FRAME_H

#include "compat.h"

#include "ptsort_variant.h"

/* Maximum number of entries in a frame. */
#define FRAME_ENTRIES	128

#define FRAME_MAX_COLUMNS	(PTSORT_MAX_WORDS + 1)

/*
 * Number of bit ranges that a column stores: the bits that vary, before and
 * after the longest gap between them.  A heap TID has a gap between its block
 * number and its offset number.  Leaving out this gap makes temporary files
 * smaller; leaving out a second gap saves nothing.
 */
#define FRAME_RANGES	2

typedef struct FrameHeader
{
	uint32		size;			/* size of the frame; 0: no frame is here */
	uint32		previous;		/* size of the previous frame; 0 if none */
	uint8		count;			/* number of entries */
	uint8		trim;			/* number of zero bytes cut off each image,
								 * unless trims_vary */
	bool		trims_vary;		/* the frame has a 'trim' for each image */
	uint8		unused[5];
} FrameHeader;

/*
 * Format of a column: a value is stored as its difference from 'base', without
 * bits that are zero in all differences.  Ranges are in ascending order.
 */
typedef struct FrameColumn
{
	uint64		base;			/* the first value */
	uint8		bytes;			/* size of a stored value in bytes */
	uint8		shift[FRAME_RANGES];	/* first bit of a range in the value */
	uint8		bits[FRAME_RANGES]; /* length of a range in bits, or 0 */
	uint8		unused[3];
} FrameColumn;

/*
 * Maximum number of bytes that frame_pack writes for n entries.  FRAME_OVERRUN
 * bytes after the values must be readable, because frame.c copies 8 bytes for
 * each value.
 */
#define FRAME_OVERRUN	sizeof(uint64)
#define FRAME_PACKED(n) \
	(sizeof(FrameHeader) + FRAME_MAX_COLUMNS * sizeof(FrameColumn) + \
	 (n) * (FRAME_MAX_COLUMNS * sizeof(uint64) + 1) + FRAME_OVERRUN)
#define FRAME_MAX_PACKED	FRAME_PACKED(FRAME_ENTRIES)

extern Size frame_pack(char *target, const uint64 *entries, int n,
					   int ncolumns, const uint8 *trims);
extern bool frame_is_sound(const char *frame, Size size, int ncolumns,
						   bool has_trims);
extern Size frame_unpack(const char *frame, int ncolumns, uint64 *entries,
						 uint8 *trims);

#endif							/* PTSORT_FRAME_H */
