/*-------------------------------------------------------------------------
 *
 * frame.h
 *	  A few sorted entries, packed: the unit in which a run is stored.
 *
 * Entries are taken apart into columns: one for each word of the key and one
 * for the first 8 bytes of the image, which for an inline image is all of it.
 * Of a column only the bits that vary within the frame are stored, in as few
 * whole bytes as they need:
 *
 *		FrameHeader
 *		FrameColumn of each column
 *		the values of the first column, of the second, ...
 *		how many zero bytes each image lacks, one byte each, if that varies
 *		what follows the first 8 bytes of each image	(the rests)
 *		padding to MAXALIGN
 *
 * Neighbours share the leading bits of their words, because they are sorted,
 * and heap TIDs and tuple headers have bits that are always the same; so the
 * entry of a random bigint takes 11 bytes instead of 16.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_FRAME_H
#define PTSORT_FRAME_H

#include "compat.h"

#include "ptsort_variant.h"

/* Most entries of a frame. */
#define FRAME_ENTRIES	128

#define FRAME_MAX_COLUMNS	(PTSORT_MAX_WORDS + 1)

/*
 * Ranges of bits that are stored of a value: those that vary, but for the one
 * longest gap between them.  A heap TID has such a gap, between the numbers of
 * its block and of its offset.  Without it temporary files are 6 to 27 % larger
 * (columns of numbers), and a second one saves nothing.
 */
#define FRAME_RANGES	2

typedef struct FrameHeader
{
	uint32		size;			/* bytes of the frame; 0: there is none here */
	uint32		previous;		/* bytes of the frame before it; 0 in the
								 * first */
	uint8		count;			/* entries */
	uint8		trim;			/* zero bytes that each image lacks, unless
								 * ... */
	bool		trims_vary;
	uint8		unused[5];
} FrameHeader;

/*
 * How the values of a column are stored: the difference to 'base', without the
 * bits that are zero in all differences.  Ranges are listed from the lowest.
 */
typedef struct FrameColumn
{
	uint64		base;			/* the first value */
	uint8		bytes;			/* of a stored value */
	uint8		nranges;
	uint8		shift[FRAME_RANGES];	/* where a range begins in the value */
	uint8		bits[FRAME_RANGES]; /* how long it is */
	uint8		unused[2];
} FrameColumn;

/*
 * Bytes that frame_pack may write, and that must be readable from the start of
 * a frame's columns on: values are moved 8 bytes at a time.
 */
#define FRAME_OVERRUN	sizeof(uint64)
#define FRAME_MAX_PACKED \
	(sizeof(FrameHeader) + FRAME_MAX_COLUMNS * sizeof(FrameColumn) + \
	 FRAME_ENTRIES * (FRAME_MAX_COLUMNS * sizeof(uint64) + 1) + FRAME_OVERRUN)

extern Size frame_pack(char *target, const uint64 *entries, int n,
					   int ncolumns, const uint8 *trims);
extern bool frame_is_sound(const char *frame, Size size, int ncolumns,
						   bool has_trims);
extern Size frame_unpack(const char *frame, int ncolumns, uint64 *entries,
						 uint8 *trims);

#endif							/* PTSORT_FRAME_H */
