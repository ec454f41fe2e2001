/*-------------------------------------------------------------------------
 *
 * btblocks.c
 *	  Writes neighbouring blocks of an index file by one system call.
 *
 * Since 17 the server's storage manager can do that, but not across segments
 * (18 raises an error).  Before 17 it writes one block at a time.  That is much
 * slower, since each call takes the file's lock, and several participants write
 * into one file.  So before 17 we open the segments ourselves, one at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btblocks.h"
#include "port/pg_iovec.h"

#ifdef PT_SMGR_WRITES_VECTORS

static void
write_in_segment(OpenSegment *segment, Relation rel, BlockNumber blkno,
				 const Page *pages, int n)
{
	smgrwritev(RelationGetSmgr(rel), MAIN_FORKNUM, blkno,
			   (const void **) pages, n, true);
}

#else

#include <fcntl.h>

#include "common/file_utils.h"	/* pg_pwritev_with_retry() on 16 */
#include "pgstat.h"

/* Write pages, at most PG_IOV_MAX, to blocks of one segment. */
static void
write_in_segment(OpenSegment *segment, Relation rel, BlockNumber blkno,
				 const Page *pages, int n)
{
	off_t		offset = (off_t) (blkno % RELSEG_SIZE) * BLCKSZ;
	struct iovec parts[PG_IOV_MAX];
	ssize_t		written;

	if (segment->is_open && segment->number != blkno / RELSEG_SIZE)
		btblocks_close(segment);
	if (!segment_open(segment, rel, blkno, O_RDWR))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", segment->path)));
	for (int i = 0; i < n; i++)
		parts[i] = (struct iovec)
	{
		.iov_base = pages[i],.iov_len = BLCKSZ
	};
	errno = 0;
	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_WRITE);
	written = pg_pwritev_with_retry(segment->fd, parts, n, offset);
	pgstat_report_wait_end();
	if (written != (ssize_t) n * BLCKSZ)
	{
		bool		no_room;

		/* without an errno, assume that the disk is full */
		if (errno == 0)
			errno = ENOSPC;
		no_room = errno == ENOSPC;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write blocks %u..%u in file \"%s\": %m",
						blkno, blkno + n - 1, segment->path),
				 no_room ? errhint("Check free disk space.") : 0));
	}
}

#endif

/* btblocks_close: see btblocks.h. */
void
btblocks_close(OpenSegment *segment)
{
	if (!segment_close(segment))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not close file \"%s\": %m", segment->path)));
}

/* btblocks_write: see btblocks.h. */
void
btblocks_write(OpenSegment *segment, Relation rel, BlockNumber blkno,
			   const Page *pages, int n)
{
	while (n > 0)
	{
		int			here = Min(Min(n, PG_IOV_MAX),
							   RELSEG_SIZE - blkno % RELSEG_SIZE);

		write_in_segment(segment, rel, blkno, pages, here);
		blkno += here;
		pages += here;
		n -= here;
	}
}
