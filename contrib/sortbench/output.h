/*-------------------------------------------------------------------------
 *
 * output.h
 *	  Create output files, and name them only when they are complete.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_OUTPUT_H
#define SORTBENCH_OUTPUT_H

#include "volume.h"

/* Output files in the process that creates and publishes them. */
typedef struct Output
{
	Volume	   *volume;
	bool		overwrite;		/* replace existing files */
	int			published;		/* number of files that already have names */
	int			fds[MAX_FILES];
	char	   *directories[MAX_FILES]; /* directories of the files */
} Output;

extern void output_create(Output *output);
extern void output_publish(Output *output);

#endif							/* SORTBENCH_OUTPUT_H */
