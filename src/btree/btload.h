/*-------------------------------------------------------------------------
 *
 * btload.h
 *	  Loads a btree index from tuples in index order, by one or several
 *	  processes.
 *
 * The ordered stream of tuples is cut into consecutive slices, possibly in
 * the middle of equal keys.  Slices may be loaded in any order, by any
 * participant, at the same time; nobody waits for a neighbour.  A slice's
 * leaves are written at once, except the first and the last one, whose
 * neighbours are not known yet.  When all slices are there, the leader
 * stitches them together and adds the rest of the tree.  A serial load is one
 * participant and, usually, one slice.
 *
 * Order of calls:
 *
 *		leader						every participant (leader too)
 *		btload_estimate
 *		btload_init_shared
 *									btload_begin
 *									for each slice it takes:
 *										btload_begin_slice
 *										btload_add ... or
 *										btload_add_entries ...
 *										btload_report, now and then
 *										btload_end_slice
 *									btload_end
 *		(all others have ended)
 *		btload_finish
 *
 * The leader calls btload_finish() instead of btload_end().  All functions may
 * raise errors; all memory belongs to the memory context that was current in
 * btload_begin(), temporary files to the current resource owner or the given
 * file set.  After an error nothing has to be cleaned up: the relation's
 * files go with the transaction.
 *
 * Uniqueness is not checked here, progress is not shown here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PTSORT_BTLOAD_H
#define PTSORT_BTLOAD_H

#include "access/itup.h"
#include "key/key_form.h"
#include "storage/sharedfileset.h"
#include "utils/rel.h"

/* What participants share: plain data, may live in DSM; see btload.c */
typedef struct BtLoadShared BtLoadShared;

/* A participant's load, and a slice it is writing */
typedef struct BtLoad BtLoad;
typedef struct BtSlice BtSlice;

/*
 * btload_estimate returns the size of the shared block for up to
 * 'nparticipants' processes and 'nslices' slices (16 kB and a bit for each
 * slice).
 */
extern Size btload_estimate(int nparticipants, int nslices);

/*
 * btload_init_shared fills in the shared block, which must be MAXALIGN'ed.
 * 'index' must be empty and not be written by anybody else.  Fewer participants
 * may start.  Leader only.
 */
extern void btload_init_shared(BtLoadShared *shared, Relation index,
							   int nparticipants, int nslices);

/*
 * btload_begin starts a participant's load; 'participant' is its number from
 * 0.  The lists of leaves are handed to the leader through files in
 * 'fileset', which may be NULL if there is only one participant: then they
 * stay in memory as long as they are small.  'heap' is for error messages,
 * 'all_tuples', of all participants together, for an estimate of what is still
 * to come; 0 if there is only one.
 */
extern BtLoad *btload_begin(BtLoadShared *shared, int participant,
							Relation heap, Relation index,
							SharedFileSet *fileset, int64 all_tuples);

/*
 * btload_begin_slice starts slice number 'slice' (from 0, in index order).
 * One at a time in each participant.
 */
extern BtSlice *btload_begin_slice(BtLoad *load, int slice);

/*
 * btload_add adds the next tuple of the slice.  It stays the caller's and is
 * not needed after the call.  Tuples come in index order, heap TID last; they
 * are plain (no nbtree flag bits), as index_form_tuple() makes them, with
 * padding zero.  A tuple of more than a third of a page is the server's error.
 */
extern void btload_add(BtSlice *slice, IndexTuple itup);

/*
 * btload_add_entries adds the next n tuples of the slice, as entries of an
 * exact key; they are not needed after the call.  See btentry.h.
 */
extern void btload_add_entries(BtSlice *slice, const KeyForm *form,
							   const uint64 *entries, int n);

/*
 * btload_report lets all know of the tuples that the caller has added, and
 * returns how many all have added.
 */
extern int64 btload_report(BtLoad *load);

/* btload_end_slice leaves the slice for the leader to stitch, and frees it. */
extern void btload_end_slice(BtSlice *slice);

/*
 * btload_end ends a participant's work that is not the leader's: its count of
 * pages and the blocks it did not use go to the shared block.  Frees 'load'.
 */
extern void btload_end(BtLoad *load);

/*
 * btload_finish completes the index from slices that are all loaded; slices
 * without tuples count as loaded only if begun and ended.  Leader only, after
 * all other participants have called btload_end(); with what they have
 * written to the shared block visible.  Frees 'load'.
 */
extern void btload_finish(BtLoad *load);

/* btload_participants returns how many may take part. */
extern int	btload_participants(const BtLoadShared *shared);

/*
 * btload_pages returns how many pages a participant that is not the leader has
 * written, after it has ended.
 */
extern int64 btload_pages(const BtLoadShared *shared, int participant);

#endif							/* PTSORT_BTLOAD_H */
