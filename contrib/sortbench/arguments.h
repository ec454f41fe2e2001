/*-------------------------------------------------------------------------
 *
 * arguments.h
 *	  Common code for the SQL functions: arguments and results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_ARGUMENTS_H
#define SORTBENCH_ARGUMENTS_H

#include "sortbench.h"

extern void check_may_read(void);
extern void check_may_write(void);
extern char **texts_argument(FunctionCallInfo fcinfo, int i, const char *name,
							 int *n);
extern int	workers_argument(FunctionCallInfo fcinfo, int i);
extern void record_arguments(FunctionCallInfo fcinfo, int i,
							 Records *records);
extern void input_volume(Records *records, char **paths, int n, int64 stripe);
extern void output_volume(Volume *volume, char **paths, int n, int64 stripe,
						  bool overwrite, const Records *input);
extern Datum answer_row(FunctionCallInfo fcinfo, Datum *values,
						bool *isnull);

#endif							/* SORTBENCH_ARGUMENTS_H */
