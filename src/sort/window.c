/*-------------------------------------------------------------------------
 *
 * window.c
 *	  The next tuples of a guided merge, in true order.
 *
 * A merge of runs that are in true order by words that are only hints has to
 * verify what it returns before it does.  Comparing each new head of a run with
 * its neighbours among the heads of all others is two comparisons a tuple
 * (merge.c: the list).  Here it is one: tuples are taken from the runs as their
 * words order them, and kept for a while in a window, which is a sequence in
 * true order.  Each new one is compared with the last one there, unless that
 * came from the same run.  It nearly always comes after it; else its place in
 * the window is found, by hints and by bisection.
 *
 * When may a tuple leave the window?  When all runs have passed it: when each
 * has added a tuple that comes after it, since all that follow in that run come
 * after it, too.  So tuples are added in chunks.  What was there before a chunk
 * is released after it, and the current tuple of a run that has added nothing
 * after that is compared with the last one to be released.  Chunks have room
 * for several tuples of each run, so there is rarely such a run.
 *
 * Images are copied, since readers move on; those of a chunk into one half of
 * the memory, while the other half has those of the chunk before.  All that is
 * older has been returned by then.
 *
 * Two tuples that are neighbours when they are returned have been compared
 * directly, or are neighbours in their run: the window compares each tuple with
 * both of its neighbours, and what could have come between a tuple that was
 * returned and the first one that is left is the next tuple of a run that has
 * added nothing since, which was compared.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "sort/window.h"

/* A window has this part of a merge's memory, but no more than MAX_WINDOW. */
#define WINDOW_PART		8
#define MAX_WINDOW		(512 * 1024)

/* It pays from so many tuples of each run in a chunk. */
#define LEAST_PER_RUN	2

/*
 * The first chunk has so many of each run; each one that follows has twice as
 * many as the one before, up to MAX_CHUNK in all: it may be that only the first
 * few tuples are wanted.
 */
#define FIRST_PER_RUN	4
#define MAX_CHUNK		2048

/* A tuple in the window; its image follows. */
typedef struct WindowTuple
{
	Size		size;			/* of the image */
	int			run;
	uint64		words[PTSORT_MAX_WORDS];
} WindowTuple;

#define IMAGE_OFFSET	MAXALIGN(sizeof(WindowTuple))

struct MergeWindow
{
	SortOrder  *order;
	int			max_chunk;
	char	   *halves[2];
	Size		room;			/* of one half */
	int			half;			/* that the chunk is in */
	Size		used;			/* of it */

	WindowTuple **tuples;		/* in order; 2 * MAX_CHUNK of them */
	int			count;
	int			next;			/* the first that has not been returned */
	int			released;		/* these may be */
	int			boundary;		/* the first one after those before the chunk */
	int			added;			/* tuples of the chunk */
	int			chunk;			/* its number */
	bool		in_sequence;	/* the tuple added last is the last one */
	int64		compared;		/* comparisons before the chunk */
	int		   *passed;			/* by run: the last chunk in which it added a
								 * tuple after the boundary */
};

/* Bytes of a window without its images. */
static int64
fixed_memory(int nruns)
{
	return sizeof(MergeWindow) + 2 * MAX_CHUNK * sizeof(WindowTuple *) +
		nruns * sizeof(int);
}

int64
window_most_memory(int64 memory)
{
	return Min(memory / WINDOW_PART, MAX_WINDOW);
}

int64
window_memory(Run **runs, int nruns, int64 memory)
{
	int64		result = window_most_memory(memory);
	int64		readers = 0;
	int64		bytes = 0;
	int64		tuples = 0;

	for (int i = 0; i < nruns; i++)
	{
		readers += run_reader_memory(runs[i]);
		bytes += runs[i]->desc.bytes;
		tuples += runs[i]->desc.tuples;
	}
	bytes = tuples > 0 ? bytes / tuples : 0;
	if (nruns < 2 || readers + result > memory ||
		fixed_memory(nruns) + 2 * LEAST_PER_RUN * nruns *
		(bytes + (int64) IMAGE_OFFSET) > result)
		return 0;
	return result;
}

MergeWindow *
window_create(SortOrder *order, int nruns, int64 memory)
{
	MergeWindow *window = palloc0(sizeof(MergeWindow));

	window->order = order;
	window->max_chunk = Min(FIRST_PER_RUN * nruns, MAX_CHUNK);
	window->room = MAXALIGN_DOWN((memory - fixed_memory(nruns)) / 2);
	window->halves[0] = palloc(2 * window->room);
	window->halves[1] = window->halves[0] + window->room;
	window->tuples = palloc(2 * MAX_CHUNK * sizeof(WindowTuple *));
	window->passed = palloc0(nruns * sizeof(int));
	return window;
}

void
window_free(MergeWindow *window)
{
	pfree(window->halves[0]);
	pfree(window->tuples);
	pfree(window->passed);
	pfree(window);
}

void
window_begin(MergeWindow *window)
{
	Assert(window->next == window->released);
	if (window->chunk++ > 0)
		window->max_chunk = Min(2 * window->max_chunk, MAX_CHUNK);
	window->count -= window->next;
	memmove(window->tuples, window->tuples + window->next,
			window->count * sizeof(WindowTuple *));
	window->boundary = window->count;
	window->next = window->released = 0;
	window->half = !window->half;
	window->used = 0;
	window->added = 0;
	/* those between this one and the last may not have been added here */
	window->in_sequence &= window->count > 0;
	window->compared = window->order->comparisons;
}

/* Does a tuple of the window come before one of a run that is added now? */
static bool
comes_before(MergeWindow *window, const WindowTuple *tuple, int run,
			 const void *image)
{
	int			cmp = order_compare_tuples(window->order,
										   (const char *) tuple + IMAGE_OFFSET,
										   image);

	/* (0 only in a stable sort: see tie_is_before in merge.c) */
	return cmp < 0 || (cmp == 0 && tuple->run <= run);
}

/* How many of the tuples from low to high come before this one? */
static int
bisect(MergeWindow *window, int low, int high, const WindowTuple *tuple)
{
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (comes_before(window, window->tuples[middle], tuple->run,
						 (const char *) tuple + IMAGE_OFFSET))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* bisect, but by hints. */
static int
bisect_hints(const MergeWindow *window, int high, const WindowTuple *tuple)
{
	int			low = 0;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (order_compare_words(window->tuples[middle]->words, tuple->words,
								window->order->nwords) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Where does a tuple belong that comes before the last one? */
static int
find_place(MergeWindow *window, const WindowTuple *tuple)
{
	int			high = window->count - 1;
	int			guess = bisect_hints(window, high, tuple);
	const char *image = (const char *) tuple + IMAGE_OFFSET;

	if (guess > 0 &&
		!comes_before(window, window->tuples[guess - 1], tuple->run, image))
		return bisect(window, 0, guess - 1, tuple);
	if (guess < high &&
		comes_before(window, window->tuples[guess], tuple->run, image))
		return bisect(window, guess + 1, high, tuple);
	return guess;
}

/*
 * Does a tuple come after the last one?  So it does if that came from the same
 * run, or if their words are equal and it lost to it in the tree.
 */
static inline bool
is_in_order(MergeWindow *window, const WindowTuple *tuple)
{
	const WindowTuple *last;

	if (window->count == 0)
		return true;
	last = window->tuples[window->count - 1];
	if (last->run == tuple->run ||
		(window->in_sequence &&
		 order_compare_words(last->words, tuple->words,
							 window->order->nwords) == 0))
		return true;
	return comes_before(window, last, tuple->run,
						(const char *) tuple + IMAGE_OFFSET);
}

/* Put a tuple in its place. */
static inline void
place_tuple(MergeWindow *window, WindowTuple *tuple)
{
	int			place = window->count;

	if (unlikely(!is_in_order(window, tuple)))
	{
		place = find_place(window, tuple);
		memmove(window->tuples + place + 1, window->tuples + place,
				(window->count - place) * sizeof(WindowTuple *));
	}
	window->in_sequence = place == window->count;
	window->tuples[place] = tuple;
	window->count++;
	window->added++;
	if (place >= window->boundary)
		window->passed[tuple->run] = window->chunk;
	else
		window->boundary++;
}

bool
window_add(MergeWindow *window, int run, const RunReader *reader)
{
	char	   *space = window->halves[window->half] + window->used;
	WindowTuple *tuple = (WindowTuple *) space;

	if (window->added == window->max_chunk ||
		reader->size > window->room - window->used ||
		IMAGE_OFFSET + MAXALIGN(reader->size) > window->room - window->used)
		return false;
	window->used += IMAGE_OFFSET + MAXALIGN(reader->size);
	tuple->size = reader->size;
	tuple->run = run;
	for (int i = 0; i < window->order->nwords; i++)
		tuple->words[i] = reader->words[i];
	memcpy(space + IMAGE_OFFSET, reader->tuple, reader->size);
	place_tuple(window, tuple);
	return true;
}

bool
window_passed(MergeWindow *window, int run, const RunReader *reader)
{
	const WindowTuple *last;

	if (window->passed[run] == window->chunk || window->boundary == 0)
		return true;
	last = window->tuples[window->boundary - 1];
	return last->run == run ||
		comes_before(window, last, run, reader->tuple);
}

void
window_release(MergeWindow *window)
{
	window->released = window->boundary;
}

void
window_release_all(MergeWindow *window)
{
	window->released = window->count;
}

bool
window_was_worth(const MergeWindow *window)
{
	return window->order->comparisons - window->compared < 2 * window->added;
}

bool
window_next(MergeWindow *window, RunReader *reader)
{
	const WindowTuple *tuple;

	reader->tuple = NULL;
	if (window->next == window->released)
		return false;
	tuple = window->tuples[window->next++];
	reader->words = tuple->words;
	reader->size = tuple->size;
	reader->tuple = (const char *) tuple + IMAGE_OFFSET;
	return true;
}

int
window_run(const MergeWindow *window)
{
	return window->tuples[window->next - 1]->run;
}
