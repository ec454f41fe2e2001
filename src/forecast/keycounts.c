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
 * distributions, fitted by expectation maximization with accelerated steps).  A
 * single estimate of the number of distinct keys would not suffice: posting
 * lists of a table with some unique and some frequent keys take less space than
 * those of a table in which all keys have the mean frequency.
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

/* Set expected[m] to the number of keys in m blocks of the sample. */
static void
expect(double expected[KEYCOUNTS_FEW + 1], const double keys[KEYCOUNTS_STEPS],
	   double p[KEYCOUNTS_FEW + 1][KEYCOUNTS_STEPS])
{
	for (int m = 1; m <= KEYCOUNTS_FEW; m++)
	{
		expected[m] = 0;
		for (int i = 0; i < KEYCOUNTS_STEPS; i++)
			expected[m] += keys[i] * p[m][i];
	}
}

/* Returns the logarithm of the likelihood, except for a constant. */
static double
likelihood(const double expected[KEYCOUNTS_FEW + 1],
		   const double seen[KEYCOUNTS_FEW + 1])
{
	double		sum = 0;

	for (int m = 1; m <= KEYCOUNTS_FEW; m++)
	{
		if (expected[m] > 0)
			sum += seen[m] * log(expected[m]) - expected[m];
	}
	return sum;
}

/*
 * Improve the numbers of keys by one step, to the given power.  In large tables
 * the factors of single steps are so close to 1 that thousands of steps would
 * be necessary.  Returns false, and changes nothing, if that was too far.
 */
static bool
iterate(double keys[KEYCOUNTS_STEPS],
		double p[KEYCOUNTS_FEW + 1][KEYCOUNTS_STEPS],
		const double seen[KEYCOUNTS_FEW + 1], double power)
{
	double		expected[KEYCOUNTS_FEW + 1];
	double		changed[KEYCOUNTS_STEPS];
	double		before;

	expect(expected, keys, p);
	before = likelihood(expected, seen);
	for (int i = 0; i < KEYCOUNTS_STEPS; i++)
	{
		double		factor = 0;

		for (int m = 1; m <= KEYCOUNTS_FEW; m++)
		{
			if (expected[m] > 0)
				factor += seen[m] / expected[m] * p[m][i];
		}
		changed[i] = keys[i] * pow(factor / Max(1 - p[0][i], 1e-12), power);
	}
	expect(expected, changed, p);
	if (power > 1 && !(likelihood(expected, seen) >= before))
		return false;
	memcpy(keys, changed, sizeof(changed));
	return true;
}

void
keycounts_fit(KeyCounts *counts, double scale,
			  const double seen[KEYCOUNTS_FEW + 1])
{
	double		p[KEYCOUNTS_FEW + 1][KEYCOUNTS_STEPS];
	double		keys[KEYCOUNTS_STEPS];
	double		power = 1;

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
		power = iterate(keys, p, seen, power) ? power * 1.5 : 1;

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
