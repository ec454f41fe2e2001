/*-------------------------------------------------------------------------
 *
 * walbuffers.c
 *	  Have pages of the WAL buffers mapped before they are written to.
 *
 * Shared memory is not mapped in a new process.  The first write to each of its
 * small pages is a fault, which gives that page only, while a fault of a read
 * gives all of FAULT_AROUND bytes, for writing as well, as it is shared memory
 * (Linux: do_fault_around() in mm/memory.c).  A process that is going to fill
 * the buffers therefore reads a byte of each such piece before: 16 MB then take
 * 0.4 ms instead of 2.6.  That was one part in 25 of the time in which a new
 * session builds an index of 7 MB.
 *
 * The server does not tell where the buffers are, but they are the last thing
 * in their piece of shared memory, whose name and size are known: that is so in
 * XLOGShmemInit() (xlog.c) of all versions that compat.h allows.  Where exactly
 * they are in it does not matter, as what is read is not used.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xlog.h"
#include "btree/walbuffers.h"
#include "storage/shmem.h"

/* What is mapped by one fault of a read; also if it were more or less. */
#define FAULT_AROUND	(64 * 1024)

/* The buffers and their size in bytes, 0 if they are not to be found. */
static const volatile char *buffers = NULL;
static Size buffers_size = 0;
static bool looked_for = false;

/* How many bytes this process has had mapped. */
static Size mapped = 0;

/* Where does the server keep the WAL that is not written yet? */
static void
find_buffers(void)
{
	Size		size = XLOGShmemSize();
	bool		found;
	const char *start = ShmemInitStruct("XLOG Ctl", size, &found);

	looked_for = true;
	if (!found)
		return;
	buffers_size = (Size) XLOGbuffers * XLOG_BLCKSZ;
	buffers = start + size - buffers_size;
}

/* walbuffers_expect: see walbuffers.h. */
void
walbuffers_expect(Size bytes)
{
	Size		at;
	Size		end;

	if (!looked_for)
		find_buffers();
	if (mapped >= buffers_size)
		return;
	at = GetXLogInsertRecPtr() % buffers_size;
	end = at + Min(bytes, buffers_size);
	for (; at < end; at += FAULT_AROUND)
		(void) buffers[at % buffers_size];
	mapped += bytes;
}
