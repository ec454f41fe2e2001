/*-------------------------------------------------------------------------
 *
 * validate.c
 *	  Check the order of records, and compute a checksum.
 *
 * As in gensort and valsort, the checksum is the sum of all records' CRC-32, so
 * the checksum does not depend on the order of the records.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "utils/builtins.h"
#include "utils/pg_crc.h"

#include "sortbench.h"

PG_FUNCTION_INFO_V1(sortbench_validate);

/* Summary of the records. */
typedef struct Found
{
	int64		descents;		/* records less than the previous record */
	int64		first_descent;	/* number of the first unordered record,
								 * counted from 0 */
	int64		equal;			/* records with the previous record's key */
	uint64		checksum;
} Found;

static uint32
record_crc(const uint8 *record, int size)
{
	pg_crc32	crc;

	INIT_TRADITIONAL_CRC32(crc);
	COMP_TRADITIONAL_CRC32(crc, record, size);
	FIN_TRADITIONAL_CRC32(crc);
	return crc;
}

/*
 * Adds a record, which directly follows the previous record in memory, to the
 * summary.
 */
static void
add_record(Found *found, const Records *records, const uint8 *record,
		   int64 number)
{
	int			order = number == 0 ? -1 :
		key_compare(&records->key, record - records->size, record);

	found->checksum += record_crc(record, records->size);
	if (order == 0)
		found->equal++;
	else if (order > 0 && found->descents++ == 0)
		found->first_descent = number;
}

/* Checks all records.  The buffer's first record is the previous one. */
static Found
check_records(const Records *records)
{
	int64		unit = records_in(records, UNIT_SIZE);
	Size		size = records->size;
	uint8	   *buffer = palloc0((unit + 1) * size);
	Found		found = {0};
	Disk		disk;

	disk_open(&disk, &records->volume, O_RDONLY);
	for (int64 at = 0; at < records->n; at += unit)
	{
		int64		n = Min(unit, records->n - at);

		disk_expect(&disk, (at + n) * size, PIECE_SIZE);
		disk_read(&disk, at * size, buffer + size, n * size);
		for (int64 i = 0; i < n; i++)
			add_record(&found, records, buffer + (i + 1) * size, at + i);
		memcpy(buffer, buffer + n * size, size);
	}
	disk_close(&disk);
	return found;
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

	paths = texts_argument(fcinfo, 0, "paths", &npaths);
	record_arguments(fcinfo, 1, records);
	input_volume(records, paths, npaths);
	found = check_records(records);
	values[0] = Int64GetDatum(records->n);
	values[1] = Int64GetDatum(found.descents);
	values[2] = Int64GetDatum(found.first_descent);
	isnull[2] = found.descents == 0;
	values[3] = Int64GetDatum(found.equal);
	values[4] = CStringGetTextDatum(psprintf("%llx", (unsigned long long)
											 found.checksum));
	return answer_row(fcinfo, values, isnull);
}
