/*-------------------------------------------------------------------------
 *
 * rates.c
 *	  Remembers how fast earlier work wrote; see rates.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "limit/rates.h"

/*
 * The system's cache takes about a GB before writing slows down to the speed of
 * the disk, so small and large relations have different factors.
 */
static const double small_bytes = 24.0 * 1024 * 1024;	/* from here on */
static const double large_bytes = 1024.0 * 1024 * 1024;

/*
 * What a session assumes for large relations before it knows better.  On one
 * machine whose disk takes 1 GB in a second it was 1 to 3.
 */
static const double assumed = 1.7;

/* A factor outside of these limits comes from something that happened once. */
static const double least = 0.25;
static const double most = 16;

/* Factors of small and of large relations; 0: nothing remembered */
static double remembered[2];

double
rates_factor(double bytes)
{
	double		factor = remembered[bytes >= large_bytes];

	if (bytes >= small_bytes && factor > 0)
		return factor;
	return bytes >= large_bytes ? assumed : 1;
}

/* The new factor counts as much as all earlier ones. */
void
rates_remember(double bytes, double factor)
{
	double	   *old = &remembered[bytes >= large_bytes];

	if (bytes < small_bytes)
		return;
	factor = Min(Max(factor, least), most);
	*old = *old > 0 ? sqrt(factor * *old) : factor;
}
