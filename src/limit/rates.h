/*-------------------------------------------------------------------------
 *
 * rates.h
 *	  How much slower than the model earlier builds and copies wrote.
 *
 * The scan of a table shows how fast processors are, but not how fast disks
 * take what the last phase writes.  So the leader remembers, at the end of its
 * work, how long everything after the scan took, divided by what the model says
 * (estimate.c).  Each session remembers its own work only: since PostgreSQL 17
 * sessions could share a named segment, but builds would then fail where the
 * server has no room for one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_RATES_H
#define PTSORT_RATES_H

#include "compat.h"

/*
 * rates_factor returns the factor for a relation of this size, or 1 if no work
 * of about this size is remembered.  rates_remember adds a factor.
 */
extern double rates_factor(double bytes);
extern void rates_remember(double bytes, double factor);

#endif							/* PTSORT_RATES_H */
