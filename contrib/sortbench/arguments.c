/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  Common code for the SQL functions: arguments and results.
 *
 * The functions access files as the server's operating system user, so the
 * calling role needs privileges.  The functions reject symbolic links, because
 * another user could redirect a link to a different file.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/htup_details.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "sortbench.h"

static void
check_role(Oid role, const char *what, const char *name)
{
	if (!has_privs_of_role(GetUserId(), role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to %s files of the server", what),
				 errdetail("Only roles with privileges of the \"%s\" role have this permission.",
						   name)));
}

static void
check_may_read(void)
{
	check_role(ROLE_PG_READ_SERVER_FILES, "read", "pg_read_server_files");
}

static void
check_may_write(void)
{
	check_role(ROLE_PG_WRITE_SERVER_FILES, "write", "pg_write_server_files");
}

/* texts_argument reads an array of text without nulls. */
char	  **
texts_argument(FunctionCallInfo fcinfo, int i, const char *name, int *n)
{
	Datum	   *values;
	bool	   *isnull;
	char	  **texts;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(i), TEXTOID, -1, false,
					  TYPALIGN_INT, &values, &isnull, n);
	texts = palloc(Max(*n, 1) * sizeof(char *));
	for (int k = 0; k < *n; k++)
	{
		if (isnull[k])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("\"%s\" must not contain null values", name)));
		texts[k] = TextDatumGetCString(values[k]);
	}
	return texts;
}

int
workers_argument(FunctionCallInfo fcinfo, int i)
{
	int			workers = PG_GETARG_INT32(i);

	if (workers < 0 || workers > MAX_WORKERS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"workers\" must be between 0 and %d", MAX_WORKERS)));
	return workers;
}

/* record_arguments reads record_size, key_offset and key_length. */
void
record_arguments(FunctionCallInfo fcinfo, int i, Records *records)
{
	records->size = PG_GETARG_INT32(i);
	if (records->size < 1 || records->size > MAX_RECORD_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"record_size\" must be between 1 and %d",
						MAX_RECORD_SIZE)));
	records->key.offset = PG_GETARG_INT32(i + 1);
	records->key.length = PG_GETARG_INT32(i + 2);
	if (records->key.offset < 0 || records->key.length < 1 ||
		records->key.offset > records->size - records->key.length)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key of %d bytes at offset %d is not within a record of %d bytes",
						records->key.length, records->key.offset,
						records->size)));
}

static void
check_paths(char **paths, int n, const char *what)
{
	if (n < 1 || n > MAX_FILES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there must be 1 to %d %s files", MAX_FILES, what)));
	for (int i = 0; i < n; i++)
	{
		if (!is_absolute_path(paths[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_NAME),
					 errmsg("path \"%s\" is not absolute", paths[i])));
		/* leave room for the suffix of a temporary name */
		if (strlen(paths[i]) > MAXPGPATH - NAMELESS_SIZE)
			ereport(ERROR,
					(errcode(ERRCODE_NAME_TOO_LONG),
					 errmsg("path \"%s\" is too long", paths[i])));
	}
}

static void
set_path(VolumeFile *file, const char *path)
{
	memset(file, 0, sizeof(VolumeFile));
	strlcpy(file->path, path, MAXPGPATH);
	canonicalize_path(file->path);
}

/* Stats a file, which must be regular.  Returns false if it does not exist. */
static bool
look_at(const char *path, struct stat *found)
{
	if (lstat(path, found) < 0)
	{
		if (errno == ENOENT)
			return false;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	}
	if (S_ISLNK(found->st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a symbolic link", path),
				 errhint("Give the path of the file itself.")));
	if (!S_ISREG(found->st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an ordinary file", path)));
	return true;
}

static bool
is_file(const VolumeFile *file, const struct stat *found)
{
	return file->device == found->st_dev && file->inode == found->st_ino;
}

static void
twice(const char *path)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("file \"%s\" is given twice", path)));
}

static void
add_input(Records *records, const char *path)
{
	Volume	   *volume = &records->volume;
	VolumeFile *file = &volume->files[volume->nfiles];
	struct stat found;

	set_path(file, path);
	if (!look_at(file->path, &found))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("file \"%s\" does not exist", path)));
	for (int i = 0; i < volume->nfiles; i++)
	{
		if (is_file(&volume->files[i], &found))
			twice(path);
	}
	if (found.st_size % records->size != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("size of file \"%s\" is not a multiple of the record size, %d",
						path, records->size),
				 errdetail("It has " INT64_FORMAT " bytes.",
						   (int64) found.st_size)));
	file->device = found.st_dev;
	file->inode = found.st_ino;
	file->start = volume->size;
	file->size = found.st_size;
	volume->size += found.st_size;
	volume->nfiles++;
}

/* input_volume checks the input files, and sets records->volume and ->n. */
void
input_volume(Records *records, char **paths, int n)
{
	Volume	   *volume = &records->volume;

	check_may_read();
	check_paths(paths, n, "input");
	volume->nfiles = 0;
	volume->size = 0;
	for (int i = 0; i < n; i++)
		add_input(records, paths[i]);
	records->n = volume->size / records->size;
	if (records->n >= NUMBER_MASK)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many records: " INT64_FORMAT, records->n)));
}

static void
check_output(const VolumeFile *file, bool overwrite, const Records *input)
{
	struct stat found;

	if (!look_at(file->path, &found))
		return;
	for (int i = 0; input != NULL && i < input->volume.nfiles; i++)
	{
		if (is_file(&input->volume.files[i], &found) && !overwrite)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_FILE),
					 errmsg("output file \"%s\" is an input file", file->path),
					 errhint("Set \"overwrite\" to replace it.")));
	}
	if (!overwrite)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_FILE),
				 errmsg("file \"%s\" already exists", file->path),
				 errhint("Set \"overwrite\" to replace it.")));
}

/* True if two paths name the same entry of the same directory. */
static bool
same_place(const char *a, const char *b)
{
	char	   *directory_a = pstrdup(a);
	char	   *directory_b = pstrdup(b);
	struct stat found_a;
	struct stat found_b;

	get_parent_directory(directory_a);
	get_parent_directory(directory_b);
	return strcmp(last_dir_separator(a), last_dir_separator(b)) == 0 &&
		stat(directory_a, &found_a) == 0 &&
		stat(directory_b, &found_b) == 0 &&
		found_a.st_dev == found_b.st_dev && found_a.st_ino == found_b.st_ino;
}

/*
 * output_volume checks the paths of output files, and enters the paths into
 * the volume.  The caller sets the volume's size afterwards.
 */
void
output_volume(Volume *volume, char **paths, int n, bool overwrite,
			  const Records *input)
{
	check_may_write();
	check_paths(paths, n, "output");
	volume->nfiles = n;
	for (int i = 0; i < n; i++)
	{
		set_path(&volume->files[i], paths[i]);
		check_output(&volume->files[i], overwrite, input);
		for (int k = 0; k < i; k++)
		{
			if (same_place(volume->files[k].path, volume->files[i].path))
				twice(paths[i]);
		}
	}
}

/* answer_row forms the result of a function that returns one row. */
Datum
answer_row(FunctionCallInfo fcinfo, Datum *values, bool *isnull)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 isnull));
}
