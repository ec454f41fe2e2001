/*-------------------------------------------------------------------------
 *
 * util.c
 *	  The number of processors that this process may use; see util.h.
 *
 *-------------------------------------------------------------------------
 */
#include "util.h"

#include <math.h>
#include <sched.h>

#include "storage/fd.h"

/* Read one or two numbers from a cgroup's file; returns how many it has. */
static int
read_numbers(const char *group, const char *name, double *numbers)
{
	char	   *path = psprintf("%s/%s", group, name);
	FILE	   *file = AllocateFile(path, PG_BINARY_R);
	int			n = 0;

	if (file != NULL)
	{
		n = fscanf(file, "%lf %lf", &numbers[0], &numbers[1]);
		FreeFile(file);
	}
	pfree(path);
	return n;
}

/* Returns the least quota, in processors, of a cgroup and of those above it. */
static double
least_quota(char *group)
{
	double		least = INT_MAX;
	double		n[3];			/* quota, period */
	char	   *end;

	do
	{
		if ((read_numbers(group, "cpu.max", n) == 2 ||	/* or version 1 */
			 (read_numbers(group, "cpu.cfs_quota_us", n) == 1 &&
			  read_numbers(group, "cpu.cfs_period_us", n + 1) == 1)) && n[0] > 0)
			least = Min(least, ceil(n[0] / n[1]));
		end = strrchr(group, '/');
		if (end != NULL)
			*end = '\0';
	} while (end != NULL);
	return least;
}

int
pt_processors(void)
{
	static int	known = 0;
	double		n = sysconf(_SC_NPROCESSORS_ONLN);
	char		line[MAXPGPATH];
	char		path[MAXPGPATH];
	cpu_set_t	mask;
	FILE	   *file;

	if (known > 0)
		return known;
	n = n > 0 ? n : INT_MAX;
	if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
		n = Min(n, CPU_COUNT(&mask));
	file = AllocateFile("/proc/self/cgroup", PG_BINARY_R);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		if (sscanf(line, "0::%[^\n]", path) == 1)
			n = Min(n, least_quota(psprintf("/sys/fs/cgroup%s", path)));
		else if (sscanf(line, "%*d:cpu:%[^\n]", path) == 1 ||
				 sscanf(line, "%*d:cpu,%*[^:]:%[^\n]", path) == 1)
			n = Min(n, least_quota(psprintf("/sys/fs/cgroup/cpu%s", path)));
	}
	if (file != NULL)
		FreeFile(file);
	known = (int) n;
	return known;
}
