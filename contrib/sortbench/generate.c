/*-------------------------------------------------------------------------
 *
 * generate.c
 *	  Create and remove files of the benchmark's records.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "utils/builtins.h"

#include "writer.h"

PG_FUNCTION_INFO_V1(sortbench_generate);
PG_FUNCTION_INFO_V1(sortbench_remove);

static void
write_records(Generator *generator, Volume *volume, int64 n)
{
	Disk		disk;
	Writer		writer;

	disk_open(&disk, volume, O_WRONLY);
	writer_init(&writer, &disk, BENCHMARK_RECORD);
	for (int64 i = 0; i < n; i++)
		generator_next(generator, writer_next(&writer));
	writer_finish(&writer);
	disk_close(&disk);
}

/* sortbench_generate: see the SQL script. */
Datum
sortbench_generate(PG_FUNCTION_ARGS)
{
	char	   *path = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int64		records = PG_GETARG_INT64(1);
	int64		seed = PG_GETARG_INT64(2);
	char	   *kind_name = text_to_cstring(PG_GETARG_TEXT_PP(3));
	Volume	   *volume = palloc0(sizeof(Volume));
	Output		output = {
		.volume = volume,
		.overwrite = PG_GETARG_BOOL(4)
	};
	Generator	generator;
	RecordKind	kind;

	if (!record_kind(kind_name, &kind))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown kind of records: \"%s\"", kind_name),
				 errhint("Kinds are uniform, skewed, ascii, ascii skewed and terasort.")));
	if (records < 0 || records >= MAX_RECORD_NUMBER)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid number of records: " INT64_FORMAT, records)));
	if (seed < 0 || seed >= MAX_RECORD_NUMBER)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid number of the first record: " INT64_FORMAT,
						seed)));
	output_volume(volume, &path, 1, output.overwrite, NULL);
	volume->size = records * BENCHMARK_RECORD;
	volume_layout(volume, BENCHMARK_RECORD);
	volume->sync = PG_GETARG_BOOL(5);
	output_create(&output);
	generator_start(&generator, kind, seed);
	write_records(&generator, volume, records);
	output_publish(&output);
	PG_RETURN_INT64(volume->size);
}

/* sortbench_remove: see the SQL script. */
Datum
sortbench_remove(PG_FUNCTION_ARGS)
{
	char	   *path = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Volume	   *volume = palloc0(sizeof(Volume));

	/* allow the removal of any file that a sort could replace */
	output_volume(volume, &path, 1, true, NULL);
	if (unlink(volume->files[0].path) == 0)
		PG_RETURN_BOOL(true);
	if (errno != ENOENT)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not remove file \"%s\": %m", path)));
	PG_RETURN_BOOL(false);
}
