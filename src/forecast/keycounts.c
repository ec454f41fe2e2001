/*-------------------------------------------------------------------------
 *
 * keycounts.c
 *	  Estimates from a sample of blocks how many keys occur in how many blocks.
 *
 * With n blocks in the table for each block of the sample, a key in c blocks is
 * in m blocks of the sample with the probability
 *
 *		P(m, c) = C(c, m) (1/n)^m (1 - 1/n)^(c - m)
 *
 * The unknown numbers of keys with c blocks, for the values of c in blocks[],
 * are those that make the observed numbers seen[m] most likely (a mixture of
 * distributions, fitted by expectation maximization).  A single estimate of the
 * number of distinct keys would not suffice: posting lists of a table with some
 * unique and some frequent keys take less space than those of a table in which
 * all keys have the mean frequency.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "forecast/forecast.h"

#define ITERATIONS	1000

/* Set the values of c: 1 to 8, then a geometric sequence. */
static void
choose_steps(KeyCounts *counts)
{
	double		most = counts->scale * KEYCOUNTS_FEW * 2;
	double		factor = pow(most / 8, 1.0 / (KEYCOUNTS_STEPS - 8));

	for (int i = 0; i < KEYCOUNTS_STEPS; i++)
		counts->blocks[i] = i < 8 ? i + 1 :
			counts->blocks[i - 1] * Max(factor, 1.01);
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

/* Improve the numbers of keys by one step. */
static void
iterate(double keys[KEYCOUNTS_STEPS],
		double p[KEYCOUNTS_FEW + 1][KEYCOUNTS_STEPS],
		const double seen[KEYCOUNTS_FEW + 1])
{
	double		factor[KEYCOUNTS_STEPS] = {0};

	for (int m = 1; m <= KEYCOUNTS_FEW; m++)
	{
		double		expected = 0;

		for (int i = 0; i < KEYCOUNTS_STEPS; i++)
			expected += keys[i] * p[m][i];
		if (expected <= 0)
			continue;
		for (int i = 0; i < KEYCOUNTS_STEPS; i++)
			factor[i] += seen[m] / expected * p[m][i];
	}
	for (int i = 0; i < KEYCOUNTS_STEPS; i++)
		keys[i] *= factor[i] / Max(1 - p[0][i], 1e-12);
}

void
keycounts_fit(KeyCounts *counts, double scale,
			  const double seen[KEYCOUNTS_FEW + 1])
{
	double		p[KEYCOUNTS_FEW + 1][KEYCOUNTS_STEPS];
	double		keys[KEYCOUNTS_STEPS];

	memset(counts, 0, sizeof(KeyCounts));
	counts->scale = scale;
	choose_steps(counts);
	for (int i = 0; i < KEYCOUNTS_STEPS; i++)
	{
		keys[i] = 1;
		for (int m = 0; m <= KEYCOUNTS_FEW; m++)
			p[m][i] = probability(m, counts->blocks[i], scale);
	}
	for (int n = 0; n < ITERATIONS; n++)
		iterate(keys, p, seen);

	for (int m = 1; m <= KEYCOUNTS_FEW; m++)
	{
		double		sum = 0;

		for (int i = 0; i < KEYCOUNTS_STEPS; i++)
			sum += keys[i] * p[m][i];
		for (int i = 0; i < KEYCOUNTS_STEPS; i++)
			counts->keys[m][i] = sum <= 0 ? 0 :
				keys[i] * p[m][i] / sum / Max(1 - p[0][i], 1e-12);
	}
}
