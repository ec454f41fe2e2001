/*-------------------------------------------------------------------------
 *
 * btload.h
 *	  Loads a btree index from tuples in index order, by one or several
 *	  processes.
 *
 * The ordered stream of tuples is cut into consecutive slices, possibly in the
 * middle of equal keys.  Any of several participants may load any slice, in any
 * order and at the same time; none waits for a neighbour.  A participant writes
 * a slice's leaves at once, except the first and the last one, whose neighbours
 * are not known yet.  When all slices are loaded, the leader stitches them
 * together and adds the rest of the tree.  A participant that is alone loads
 * the slices in their order.
 *
 * Order of calls:
 *
 *		leader						every participant (leader too)
 *									btload_begin
 *									for each slice it takes:
 *										btload_begin_slice
 *										btload_add ... or
 *										btload_add_entries ...
 *										btload_report, now and then
 *										btload_end_slice
 *									btload_end
 *		(all others ended)
 *		btload_finish
 *
 * The leader calls btload_finish() instead of btload_end().  All functions may
 * raise errors; all memory belongs to the memory context that was current in
 * btload_begin(), temporary files to the file set of the sort.  After an error
 * no cleanup is needed: the transaction's abort removes the relation's files.
 *
 * The load does not check uniqueness and does not show progress.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTLOAD_H
#define PTSORT_BTLOAD_H

#include "access/itup.h"
#include "key/key_pack.h"
#include "team/build.h"

/* BtLoad: a participant's load */
typedef struct BtLoad BtLoad;

/*
 * TeamKind.shared_size and shared_init: the load's shared block, a little over
 * 16 kB per slice, is the team's.
 */
extern Size btload_shared_size(Team *team, int processes, int slices);
extern void btload_shared_init(Team *team, int processes, int slices);

/* btload_begin starts a participant's load of what the team's sort returns. */
extern BtLoad *btload_begin(const Build *build);

/* btload_begin_slice starts slice number 'slice' (from 0, in index order). */
extern void btload_begin_slice(BtLoad *load, int slice);

/*
 * btload_add adds a copy of the next tuple of the slice.  Tuples come in index
 * order, heap TID last; they are plain (no nbtree flag bits), as
 * index_form_tuple() makes them, with padding zero.  A tuple of more than a
 * third of a page raises the server's error.
 */
extern void btload_add(BtLoad *load, IndexTuple itup);

/*
 * btload_add_entries adds the next n tuples of the slice, as entries of an
 * exact key.  The caller may free them afterwards.  See btpage.h.
 */
extern void btload_add_entries(BtLoad *load, const KeyPack *pack,
							   const uint64 *entries, int n);

/*
 * btload_report adds the caller's new tuples to the shared count, and returns
 * that count of all participants.
 */
extern int64 btload_report(BtLoad *load);

/* btload_end_slice ends the slice and leaves it for the leader to stitch. */
extern void btload_end_slice(BtLoad *load);

/*
 * btload_end ends the load of a participant other than the leader, and stores
 * its unused blocks in the shared block.  Frees 'load'.  Returns the number of
 * pages that this participant wrote, as btload_finish does.
 */
extern int64 btload_end(BtLoad *load);

/*
 * btload_finish completes the index, after participants began and ended every
 * slice, even those without tuples.  Leader only, which is participant 0, after
 * the calls of btload_end() by all others, when what they wrote to the shared
 * block is visible.  Frees 'load'.
 */
extern int64 btload_finish(BtLoad *load);

#endif							/* PTSORT_BTLOAD_H */
