/*-------------------------------------------------------------------------
 *
 * record.h
 *	  The benchmark's records.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_RECORD_H
#define SORTBENCH_RECORD_H

/* Sizes that the benchmark prescribes */
#define BENCHMARK_RECORD	100
#define BENCHMARK_KEY		10

/* Leading bytes of the key that skewed keys have in common */
#define SKEW_BYTES			6

/* Bytes of a binary record after the key */
#define MIX_SIZE			(BENCHMARK_RECORD - BENCHMARK_KEY)

/* Skewed keys take after those of the first records; see skew_key() */
#define SKEW_KEYS			65

/* Record numbers end before this one, so that sizes of files do not overflow */
#define MAX_RECORD_NUMBER	(INT64CONST(1) << 56)

typedef enum RecordKind
{
	RECORD_UNIFORM,
	RECORD_SKEWED,
	RECORD_ASCII,
	RECORD_ASCII_SKEWED,
	RECORD_TERASORT				/* binary ones until gensort 1.4 */
} RecordKind;

typedef struct Generator
{
	RecordKind	kind;
	uint64		number;			/* of the next record */
	uint128		random;			/* of the record before it */
	uint8		skew[SKEW_KEYS][SKEW_BYTES];
	uint8		mix[MIX_SIZE];	/* see put_numbers() */
} Generator;

extern bool record_kind(const char *name, RecordKind *kind);
extern void generator_start(Generator *generator, RecordKind kind,
							uint64 number);
extern void generator_next(Generator *generator, uint8 *record);

#endif							/* SORTBENCH_RECORD_H */
