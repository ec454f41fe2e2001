/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Limits of the numbers in a request for a build or a parallel sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_REQUEST_H
#define PTSORT_REQUEST_H

#include "compat.h"

/*
 * request_check raises an error if a number is out of range.  'what' names the
 * operation in the message: "index build" or "parallel sort".
 */
extern void request_check(const char *what, int workers, int64 budget,
						  Size arg_size);

/*
 * request_shared_size returns 'size', the result of a callback shared_size, or
 * raises an error if it is out of range.
 */
extern Size request_shared_size(Size size);

#endif							/* PTSORT_REQUEST_H */
