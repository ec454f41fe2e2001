/*-------------------------------------------------------------------------
 *
 * tapefile.c
 *	  ptsort_test_file(): writes and reads a temporary file of ptsort.
 *
 * The file is sparse: the pieces are far apart, but use only a few blocks on
 * disk.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "fmgr.h"
#include "function/internals.h"
#include "ptsort_test.h"
#include "storage/sharedfileset.h"
#include "utils/array.h"
#include "catalog/pg_type.h"

/*
 * Returns the byte to write at an offset.  The byte depends on the offset, so
 * that the test notices shifted pieces.
 */
static char
byte_at(int64 offset)
{
	return (char) ((offset * 31 + (offset >> 8) * 7 + (offset >> 20)) & 0xff);
}

static void
write_piece(PtSortTestFile *file, Size size, int64 offset)
{
	char	   *data = palloc(size);

	for (Size i = 0; i < size; i++)
		data[i] = byte_at(offset + i);
	test_internals()->file_write(file, data, size, offset);
	pfree(data);
}

/* Returns the number of bytes of a piece that differ from the written bytes. */
static int64
wrong_bytes(PtSortTestFile *file, Size size, int64 offset)
{
	char	   *data = palloc0(size);
	int64		wrong = 0;

	test_internals()->file_read(file, data, size, offset);
	for (Size i = 0; i < size; i++)
		wrong += data[i] != byte_at(offset + i);
	pfree(data);
	return wrong;
}

/* Limits of the test, not of the file */
#define MAX_SIZE	(64 * 1024 * 1024)
#define MAX_OFFSET	(INT64CONST(1) << 40)

/*
 * ptsort_test_file(shared, size, offsets) writes pieces of the given size at
 * the given offsets and reads the pieces.  If 'shared' is true, the function
 * reads the pieces through a second handle.  The function returns the number of
 * bytes that differ from the written bytes.
 */
PG_FUNCTION_INFO_V1(ptsort_test_file);
Datum
ptsort_test_file(PG_FUNCTION_ARGS)
{
	const PtSortInternals *internals = test_internals();
	bool		shared = PG_GETARG_BOOL(0);
	Size		size = test_in_range("size", PG_GETARG_INT32(1), 0, MAX_SIZE);
	Datum	   *offsets;
	int			n;
	SharedFileSet fileset;
	PtSortTestFile *file;
	PtSortTestFile *reading;
	int64		wrong = 0;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), INT8OID, 8, FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &offsets, NULL, &n);
	for (int i = 0; i < n; i++)
		(void) test_in_range("offset", DatumGetInt64(offsets[i]), 0,
							 MAX_OFFSET);
	if (shared)
		FileSetInit(&fileset.fs);
	file = internals->file_open(shared ? &fileset : NULL, "test", true);
	for (int i = 0; i < n; i++)
		write_piece(file, size, DatumGetInt64(offsets[i]));
	reading = shared ? internals->file_open(&fileset, "test", false) : file;
	for (int i = n - 1; i >= 0; i--)
		wrong += wrong_bytes(reading, size, DatumGetInt64(offsets[i]));
	if (shared)
		internals->file_close(reading);
	internals->file_close(file);
	if (shared)
		FileSetDeleteAll(&fileset.fs);
	PG_RETURN_INT64(wrong);
}
