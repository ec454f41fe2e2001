/*-------------------------------------------------------------------------
 *
 * btload.h
 *	  One or several processes load a btree index from tuples in index order.
 *
 * The sort cuts the ordered stream of tuples into consecutive slices, possibly
 * in the middle of equal keys.  Participants load slices in any order and at
 * the same time; none waits for a neighbouring slice.  A participant writes a
 * slice's leaves immediately, but not the first leaf and the last leaf, whose
 * neighbours are not known yet.  After all slices are loaded, the leader
 * stitches them together and adds the rest of the tree.  A sole participant
 * loads the slices in index order.
 *
 * Order of calls:
 *
 *		leader						every participant (leader too)
 *									btload_begin
 *									for each slice that it loads:
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
 * raise errors.  All memory belongs to the memory context that was current in
 * btload_begin(), and temporary files belong to the sort's file set.  After an
 * error, callers need not clean up: the server removes the relation's files.
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
 * TeamKind.shared_size and shared_init: the load uses the team's shared block,
 * which takes a little over 16 kB per slice.
 */
extern Size btload_shared_size(Team *team, int processes, int slices);
extern void btload_shared_init(Team *team, int processes, int slices);

/* btload_begin starts a participant's load of the team's sorted tuples. */
extern BtLoad *btload_begin(const Build *build);

/* btload_begin_slice starts slice number 'slice' (from 0, in index order). */
extern void btload_begin_slice(BtLoad *load, int slice);

/*
 * btload_add adds a copy of the next tuple of the slice.  Tuples come in index
 * order, with the heap TID as the tie-breaker.  They have the form that
 * index_form_tuple() makes: no nbtree flag bits, zeroed padding.  For a tuple
 * of more than a third of a page, btload_add raises the server's error.
 */
extern void btload_add(BtLoad *load, IndexTuple itup);

/*
 * btload_add_entries adds the next n tuples of the slice as entries of an exact
 * key (btpage.h).  The caller may free the entries afterwards.
 */
extern void btload_add_entries(BtLoad *load, const KeyPack *pack,
							   const uint64 *entries, int n);

/*
 * btload_report adds this participant's unreported tuples to the count of all
 * participants' tuples, and returns that count.
 */
extern int64 btload_report(BtLoad *load);

/* btload_end_slice ends the slice and leaves it for the leader to stitch. */
extern void btload_end_slice(BtLoad *load);

/*
 * btload_end ends the load of a participant other than the leader.  It stores
 * the participant's unused blocks in the shared block, frees 'load', and
 * returns the number of pages that this participant wrote.
 */
extern int64 btload_end(BtLoad *load);

/*
 * btload_finish completes the index.  Only the leader (participant 0) calls it,
 * after all slices ended, even empty slices, and after all other participants
 * called btload_end().  All writes to the shared block must be visible to the
 * leader.  Frees 'load'.  Returns the number of pages that the leader wrote.
 */
extern int64 btload_finish(BtLoad *load);

#endif							/* PTSORT_BTLOAD_H */
