/*-------------------------------------------------------------------------
 *
 * keycount.c
 *	  Estimates how many rows of the table share the keys of a sample.
 *
 * The size of posting lists depends on these numbers.  A single mean would not
 * suffice: the posting lists of a table with some unique and some frequent keys
 * take less space than those of a table in which all keys have the mean
 * frequency.
 *
 * Rows of a key in one block count together, because the sample has either all
 * of them or none.  With n blocks in the table for each block of the sample, a
 * key in c blocks is in m blocks of the sample with the probability
 *
 *		P(m, c) = C(c, m) (1/n)^m (1 - 1/n)^(c - m)
 *
 * The unknown numbers of keys with c blocks are those that make the numbers in
 * the sample most likely (a mixture of distributions, fitted by expectation
 * maximization).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "forecast/forecast.h"

#define FEW_BLOCKS	KEYCOUNT_FEW

/* Numbers of blocks of the table that the mixture distinguishes */
#define BLOCK_STEPS 28

/* Large tables need thousands of iterations, which take some milliseconds. */
#define ITERATIONS	20000

/* Returns one of these numbers: 1 to 12, then a geometric sequence. */
static double
step(int i, double scale)
{
	double		part = (i + 1.0 - FEW_BLOCKS) / (BLOCK_STEPS - FEW_BLOCKS);

	return i < FEW_BLOCKS ? i + 1 : FEW_BLOCKS * pow(2 * scale, part);
}

/* Returns P(m, c); c need not be an integer. */
static double
probability(int m, double c, double scale)
{
	double		share = 1 / scale;

	if (m > c)
		return 0;
	return exp(lgamma(c + 1) - lgamma(m + 1) - lgamma(c - m + 1) +
			   m * log(share) + (c - m) * log1p(-share));
}

/*
 * Improve the numbers of keys.  Of those in m blocks of the sample, part[m][i]
 * becomes the part with the ith number of blocks in the table.
 */
static void
iterate(double keys[BLOCK_STEPS], const KeyGroup *seen,
		double p[FEW_BLOCKS + 1][BLOCK_STEPS],
		double part[FEW_BLOCKS + 1][BLOCK_STEPS])
{
	double		found[BLOCK_STEPS] = {0};

	for (int m = 1; m <= FEW_BLOCKS; m++)
	{
		double		expected = 0;

		for (int i = 0; i < BLOCK_STEPS; i++)
			expected += keys[i] * p[m][i];
		for (int i = 0; i < BLOCK_STEPS; i++)
		{
			part[m][i] = expected > 0 ? keys[i] * p[m][i] / expected : 0;
			found[i] += seen[m].keys * part[m][i];
		}
	}
	for (int i = 0; i < BLOCK_STEPS; i++)
		keys[i] = found[i] / Max(1 - p[0][i], 1e-12);
}

void
keycount_few(const KeyGroup *few, double scale, KeyCallback callback,
			 void *state)
{
	double		p[FEW_BLOCKS + 1][BLOCK_STEPS];
	double		part[FEW_BLOCKS + 1][BLOCK_STEPS];
	double		keys[BLOCK_STEPS];

	for (int i = 0; i < BLOCK_STEPS; i++)
	{
		keys[i] = 1;
		for (int m = 0; m <= FEW_BLOCKS; m++)
			p[m][i] = probability(m, step(i, scale), scale);
	}
	for (int n = 0; n < ITERATIONS; n++)
		iterate(keys, few, p, part);
	for (int m = 1; m <= FEW_BLOCKS; m++)
	{
		for (int i = 0; i < BLOCK_STEPS && few[m].keys > 0; i++)
			callback(&few[m], few[m].keys * part[m][i] /
					 Max(1 - p[0][i], 1e-12),
					 step(i, scale) * few[m].rows / few[m].keys / m,
					 step(i, scale), state);
	}
}
