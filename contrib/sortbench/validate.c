/*-------------------------------------------------------------------------
 *
 * validate.c
 *	  Check the order of records, and compute a checksum.
 *
 * The leader and the workers claim pieces of the files, one at a time.  Each
 * process summarizes its pieces, and keeps each piece's first and last record,
 * so that the leader can compare records across the pieces' borders.  As in
 * gensort and valsort, the checksum is the sum of all records' CRC-32, so the
 * checksum does not depend on the order of the records.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/pg_crc.h"

#include "arguments.h"

/* Keys of the segment's table of contents. */
#define KEY_CHECK	1

PG_FUNCTION_INFO_V1(sortbench_validate);

/* Summary of some records. */
typedef struct Found
{
	int64		n;
	int64		descents;		/* records less than the previous record */
	int64		first_descent;	/* number of the first unordered record,
								 * counted from 0, or -1 if there is none */
	int64		equal;			/* records with the previous record's key */
	uint64		checksum;
} Found;

/* State in shared memory; two records for each piece follow it. */
typedef struct Check
{
	Records		records;
	int64		piece_records;
	int			npieces;
	pg_atomic_uint32 next_piece;
	Found		found[FLEXIBLE_ARRAY_MEMBER];
} Check;

extern PGDLLEXPORT void sortbench_validate_worker(dsm_segment *segment,
												  shm_toc *toc);

static Size
check_size(int npieces, int record_size)
{
	Size		size = add_size(offsetof(Check, found),
								mul_size(npieces, sizeof(Found)));

	return add_size(size, mul_size(npieces, mul_size(2, record_size)));
}

/* Place for a copy of a piece's first or last record. */
static uint8 *
border(Check *check, int piece, bool last)
{
	return (uint8 *) &check->found[check->npieces] +
		(Size) (2 * piece + last) * check->records.size;
}

static uint32
record_crc(const uint8 *record, int size)
{
	pg_crc32	crc;

	INIT_TRADITIONAL_CRC32(crc);
	COMP_TRADITIONAL_CRC32(crc, record, size);
	FIN_TRADITIONAL_CRC32(crc);
	return crc;
}

/* Compares two adjacent records; "number" is the second record's number. */
static void
add_pair(Found *found, const Key *key, const uint8 *before,
		 const uint8 *record, int64 number)
{
	int			order = key_compare(key, before, record);

	if (order == 0)
		found->equal++;
	if (order <= 0)
		return;
	if (found->descents++ == 0)
		found->first_descent = number;
}

/*
 * Adds records to a summary.  If 'before' is true, the previous record lies
 * directly before the first record in the buffer.
 */
static void
add_records(Found *found, const Records *records, const uint8 *record,
			int64 n, int64 number, bool before)
{
	for (int64 i = 0; i < n; i++, record += records->size)
	{
		found->checksum += record_crc(record, records->size);
		if (i > 0 || before)
			add_pair(found, &records->key, record - records->size, record,
					 number + i);
	}
	found->n += n;
}

/* Checks one piece.  The buffer has room for one record more than a unit. */
static void
check_piece(Check *check, Disk *disk, int piece, uint8 *buffer)
{
	const Records *records = &check->records;
	Found	   *found = &check->found[piece];
	int64		first = piece * check->piece_records;
	int64		end = Min(first + check->piece_records, records->n);
	int64		unit = records_in(records, UNIT_SIZE);
	Size		size = records->size;

	found->first_descent = -1;
	disk_expect(disk, end * size, PIECE_SIZE);
	for (int64 at = first; at < end; at += unit)
	{
		int64		n = Min(unit, end - at);

		disk_read(disk, at * size, buffer + size, n * size);
		if (at == first)
			memcpy(border(check, piece, false), buffer + size, size);
		add_records(found, records, buffer + size, n, at, at > first);
		memcpy(buffer, buffer + n * size, size);
	}
	memcpy(border(check, piece, true), buffer, size);
}

static void
check_pieces(Check *check)
{
	const Records *records = &check->records;
	uint8	   *buffer = palloc((records_in(records, UNIT_SIZE) + 1) *
								records->size);
	Disk		disk;
	uint32		piece;

	disk_open(&disk, &records->volume, O_RDONLY, NULL);
	while ((piece = pg_atomic_fetch_add_u32(&check->next_piece, 1)) <
		   check->npieces)
		check_piece(check, &disk, piece, buffer);
	disk_close(&disk);
	pfree(buffer);
}

/*
 * sortbench_validate_worker is the workers' entry point.  The server looks up
 * this function by name.
 */
void
sortbench_validate_worker(dsm_segment *segment, shm_toc *toc)
{
	check_pieces(shm_toc_lookup(toc, KEY_CHECK, false));
}

/* Adds up the summaries of the pieces, and compares records at the borders. */
static Found
join_pieces(Check *check)
{
	Found		all = {.first_descent = -1};

	for (int i = 0; i < check->npieces; i++)
	{
		const Found *found = &check->found[i];

		if (i > 0)
			add_pair(&all, &check->records.key, border(check, i - 1, true),
					 border(check, i, false), i * check->piece_records);
		if (all.descents == 0)
			all.first_descent = found->first_descent;
		all.n += found->n;
		all.descents += found->descents;
		all.equal += found->equal;
		all.checksum += found->checksum;
	}
	return all;
}

static void
check_init(Check *check, const Records *records, int64 piece_records,
		   int npieces)
{
	memset(check, 0, offsetof(Check, found) + npieces * sizeof(Found));
	check->records = *records;
	check->piece_records = piece_records;
	check->npieces = npieces;
	pg_atomic_init_u32(&check->next_piece, 0);
}

/* Checks all records, with at most "workers" workers. */
static Found
check_records(const Records *records, int workers)
{
	int64		piece_records = records_in(records, PIECE_SIZE);
	int			npieces = (int) ((records->n + piece_records - 1) /
								 piece_records);
	Size		size = check_size(npieces, records->size);
	ParallelContext *pcxt;
	Check	   *check;
	Found		all;

	EnterParallelMode();
	pcxt = CreateParallelContext("sortbench", "sortbench_validate_worker",
								 workers);
	shm_toc_estimate_chunk(&pcxt->estimator, size);
	shm_toc_estimate_keys(&pcxt->estimator, 1);
	InitializeParallelDSM(pcxt);
	check = shm_toc_allocate(pcxt->toc, size);
	check_init(check, records, piece_records, npieces);
	shm_toc_insert(pcxt->toc, KEY_CHECK, check);
	LaunchParallelWorkers(pcxt);
	check_pieces(check);
	WaitForParallelWorkersToFinish(pcxt);
	all = join_pieces(check);
	DestroyParallelContext(pcxt);
	ExitParallelMode();
	return all;
}

/* sortbench_validate: see the SQL script. */
Datum
sortbench_validate(PG_FUNCTION_ARGS)
{
	Records    *records = palloc0(sizeof(Records));
	Datum		values[5];
	bool		isnull[5] = {false};
	Found		found;
	char	  **paths;
	int			npaths;

	for (int i = 0; i < PG_NARGS(); i++)
	{
		/* keys may be null */
		if (PG_ARGISNULL(i) && i != 5)
			PG_RETURN_NULL();
	}
	paths = texts_argument(fcinfo, 0, "paths", &npaths);
	record_arguments(fcinfo, 2, records);
	input_volume(records, paths, npaths, PG_GETARG_INT64(6));
	found = check_records(records, workers_argument(fcinfo, 1));
	values[0] = Int64GetDatum(found.n);
	values[1] = Int64GetDatum(found.descents);
	values[2] = Int64GetDatum(found.first_descent);
	isnull[2] = found.descents == 0;
	values[3] = Int64GetDatum(found.equal);
	values[4] = CStringGetTextDatum(psprintf("%llx", (unsigned long long)
											 found.checksum));
	return answer_row(fcinfo, values, isnull);
}
