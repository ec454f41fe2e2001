/*-------------------------------------------------------------------------
 *
 * output.h
 *	  The files of a result: whole, or not there at all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SORTBENCH_OUTPUT_H
#define SORTBENCH_OUTPUT_H

#include "volume.h"

/* Files that are being made, in the process that makes and publishes them. */
typedef struct Output
{
	Volume	   *volume;
	bool		overwrite;		/* existing files may be replaced */
	int			published;		/* how many files have their names */
	int			fds[MAX_FILES];
	char	   *directories[MAX_FILES]; /* in which they will be */
} Output;

extern void output_create(Output *output);
extern void output_publish(Output *output);

#endif							/* SORTBENCH_OUTPUT_H */
