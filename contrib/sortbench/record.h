/*-------------------------------------------------------------------------
 *
 * record.h
 *	  Generate the benchmark's records.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_RECORD_H
#define SORTBENCH_RECORD_H

/* Sizes that the benchmark prescribes */
#define BENCHMARK_RECORD	100
#define BENCHMARK_KEY		10

/* Maximum number of key bytes that skew_key() replaces */
#define SKEW_BYTES			6

/* Bytes of a binary record after the key */
#define MIX_SIZE			(BENCHMARK_RECORD - BENCHMARK_KEY)

/* Number of keys from which skew_key() copies bits */
#define SKEW_KEYS			65

/* Maximum record number, low enough that file sizes do not overflow */
#define MAX_RECORD_NUMBER	(INT64CONST(1) << 56)

typedef enum RecordKind
{
	RECORD_UNIFORM,
	RECORD_SKEWED,
	RECORD_ASCII,
	RECORD_ASCII_SKEWED,
	RECORD_TERASORT				/* binary records of gensort up to 1.4 */
} RecordKind;

typedef struct Generator
{
	RecordKind	kind;
	uint64		number;			/* number of the next record */
	uint128		random;			/* random number of the previous record */
	uint8		skew[SKEW_KEYS][SKEW_BYTES];
	uint8		mix[MIX_SIZE];	/* bytes for put_numbers() to XOR */
} Generator;

extern bool record_kind(const char *name, RecordKind *kind);
extern void generator_start(Generator *generator, RecordKind kind,
							uint64 number);
extern void generator_next(Generator *generator, uint8 *record);

#endif							/* SORTBENCH_RECORD_H */
