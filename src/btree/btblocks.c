/*-------------------------------------------------------------------------
 *
 * btblocks.c
 *	  Writes neighbouring blocks of an index file by one call of the system.
 *
 * The server's storage manager does that since 17, but not across segments (18
 * raises an error).  Before, it writes a block at a time.  That takes twice as
 * long (one process: 105 and 52 ms for 220 MB on ext4, two at once: 240 and
 * 115 ms for 440 MB), since each call takes the file's lock, and several
 * participants write into one file.  So there we open the segments by
 * ourselves, as md.c does, one at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "btree/btblocks.h"
#include "port/pg_iovec.h"

#ifdef PT_SMGR_WRITES_VECTORS

static void
write_in_segment(BtBlocks *blocks, SMgrRelation reln, BlockNumber blkno,
				 const Page *pages, int n)
{
	smgrwritev(reln, MAIN_FORKNUM, blkno, (const void **) pages, n, true);
}

/* btblocks_close: see btblocks.h. */
void
btblocks_close(BtBlocks *blocks)
{
}

#else

#include "common/file_utils.h"	/* pg_pwritev_with_retry() on 16 */
#include "pgstat.h"
#include "storage/fd.h"

/* The name of a segment: _mdfd_segpath(). */
static void
set_path(BtBlocks *blocks, SMgrRelation reln, BlockNumber segment)
{
	char	   *path = pt_smgr_path(reln, MAIN_FORKNUM);

	if (segment == 0)
		strlcpy(blocks->path, path, MAXPGPATH);
	else
		snprintf(blocks->path, MAXPGPATH, "%s.%u", path, segment);
	pfree(path);
}

/* Have a segment open, and no other one. */
static void
open_segment(BtBlocks *blocks, SMgrRelation reln, BlockNumber segment)
{
	if (blocks->is_open && blocks->segment == segment)
		return;
	btblocks_close(blocks);
	set_path(blocks, reln, segment);
	blocks->fd = OpenTransientFile(blocks->path, O_RDWR | PG_BINARY);
	if (blocks->fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", blocks->path)));
	blocks->is_open = true;
	blocks->segment = segment;
}

/* Write pages, at most PG_IOV_MAX, to blocks of one segment. */
static void
write_in_segment(BtBlocks *blocks, SMgrRelation reln, BlockNumber blkno,
				 const Page *pages, int n)
{
	off_t		offset = (off_t) (blkno % RELSEG_SIZE) * BLCKSZ;
	struct iovec parts[PG_IOV_MAX];
	ssize_t		written;

	open_segment(blocks, reln, blkno / RELSEG_SIZE);
	for (int i = 0; i < n; i++)
		parts[i] = (struct iovec)
	{
		.iov_base = pages[i],.iov_len = BLCKSZ
	};
	errno = 0;
	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_WRITE);
	written = pg_pwritev_with_retry(blocks->fd, parts, n, offset);
	pgstat_report_wait_end();
	if (written != (ssize_t) n * BLCKSZ)
	{
		bool		no_room;

		/* if the system does not say why, there was no room */
		if (errno == 0)
			errno = ENOSPC;
		no_room = errno == ENOSPC;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write blocks %u..%u in file \"%s\": %m",
						blkno, blkno + n - 1, blocks->path),
				 no_room ? errhint("Check free disk space.") : 0));
	}
}

/* btblocks_close: see btblocks.h. */
void
btblocks_close(BtBlocks *blocks)
{
	if (!blocks->is_open)
		return;
	blocks->is_open = false;
	if (CloseTransientFile(blocks->fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not close file \"%s\": %m", blocks->path)));
}

#endif

/* btblocks_write: see btblocks.h. */
void
btblocks_write(BtBlocks *blocks, SMgrRelation reln, BlockNumber blkno,
			   const Page *pages, int n)
{
	while (n > 0)
	{
		int			here = Min(Min(n, PG_IOV_MAX),
							   RELSEG_SIZE - blkno % RELSEG_SIZE);

		write_in_segment(blocks, reln, blkno, pages, here);
		blkno += here;
		pages += here;
		n -= here;
	}
}
