/*-------------------------------------------------------------------------
 *
 * request.h
 *	  The ranges of what a caller may ask of a build or a parallel sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_REQUEST_H
#define PTSORT_REQUEST_H

#include "compat.h"

/*
 * request_check raises an error if a number is out of its range; 'what' is
 * "index build" or "parallel sort", for the message.
 */
extern void request_check(const char *what, int workers, int64 budget,
						  Size arg_size);

/*
 * request_shared_size returns what the callback shared_size has returned, or
 * raises an error if that is out of range.
 */
extern Size request_shared_size(Size size);

#endif							/* PTSORT_REQUEST_H */
