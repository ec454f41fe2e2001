/*
 * static-mistakes.c - mistakes that each tool of check-static.sh must find.
 * No other program compiles this file.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

extern int	mistakes(int n);

int
mistakes(int n)
{
	char		few[4];
	int		   *nowhere = NULL;
	int			unused;

	/* an index beyond the end of the array */
	few[n > 2 ? 5 : 6] = 1;

	/*
	 * a macro that evaluates its argument more than once, at least in some
	 * versions of the server
	 */
	if (Max(n++, 3) == 3)
		return *nowhere;
	return few[5];
}
