/*-------------------------------------------------------------------------
 *
 * walbuffers.h
 *	  Have pages of the WAL buffers mapped before they are written to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_WALBUFFERS_H
#define PTSORT_WALBUFFERS_H

#include "compat.h"

/*
 * walbuffers_expect is told that this process is about to insert WAL of so many
 * bytes.  Nothing depends on it but how long that takes.
 */
extern void walbuffers_expect(Size bytes);

#endif							/* PTSORT_WALBUFFERS_H */
