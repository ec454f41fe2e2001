/*-------------------------------------------------------------------------
 *
 * checkmany.c
 *	  Checks many indexes, several at a time: ptsort_check_indexes().
 *
 * Most indexes of a database are too small to be worth workers of their own.
 * One team checks all of these: each participant takes the next slot, and
 * checks its index without workers (checkindex.c).  So the caller puts the
 * largest index first, and limits the number of slots, because they are in the
 * team's segment.
 *
 * There are no subtransactions in parallel mode, so an error ends the team.
 * The leader begins each team in a subtransaction, which it rolls back, and
 * keeps the results of the checks that are done.  One of the checks that were
 * running caused the error: the leader repeats each of these alone, in a
 * subtransaction of its own.  Then a new team checks the indexes that are left.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "check/check.h"
#include "util.h"
#include "utils/memutils.h"

typedef struct ManyShared
{
	pg_atomic_uint32 next;		/* first slot that no participant took */
	uint32		n;
	CheckRequest request;		/* of each participant */
	CheckSlot	slots[FLEXIBLE_ARRAY_MEMBER];
} ManyShared;

/* ManyChecker: one process of the team; only the leader sets all fields. */
typedef struct ManyChecker
{
	Team		team;			/* must be first */
	CheckSlot  *slots;			/* the caller's slots */
	int			n;
	const CheckRequest *request;
} ManyChecker;

void
checkmany_slot(CheckSlot *slot, Oid index_id)
{
	memset(slot, 0, sizeof(*slot));
	slot->index_id = index_id;
	pg_atomic_init_u32(&slot->state, CHECK_WAITS);
}

/* Check the index of a slot.  The final state is written last. */
static void
check_slot(CheckSlot *slot, const CheckRequest *request)
{
	CheckTarget target;
	CheckState	state;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	pg_atomic_write_u32(&slot->state, CHECK_RUNS);
	state = checkone_open(slot->index_id, request->with_rows, &target);
	if (state == CHECK_RUNS)
	{
		checkone_run(&target, request, &slot->report);
		checkone_close(&target);
		state = CHECK_DONE;
	}
	slot->ms = pt_ms_since(start);
	pg_write_barrier();
	pg_atomic_write_u32(&slot->state, state);
}

/* TeamKind.fill */
static void
many_fill(Team *team)
{
	ManyShared *shared = team->shared;
	uint32		i;

	while ((i = pg_atomic_fetch_add_u32(&shared->next, 1)) < shared->n)
	{
		CHECK_FOR_INTERRUPTS();
		if (pg_atomic_read_u32(&shared->slots[i].state) == CHECK_WAITS)
			check_slot(&shared->slots[i], &shared->request);
	}
}

/* TeamKind.open, .close and .read: each check does this for its index. */
static void
many_nothing(Team *team)
{
}

static Size
many_shared_size(Team *team, int processes, int slices)
{
	return add_size(offsetof(ManyShared, slots),
					mul_size(((ManyChecker *) team)->n, sizeof(CheckSlot)));
}

static void
many_shared_init(Team *team, int processes, int slices)
{
	ManyChecker *self = (ManyChecker *) team;
	ManyShared *shared = team->shared;

	pg_atomic_init_u32(&shared->next, 0);
	shared->n = self->n;
	shared->request = *self->request;
	shared->request.workers = 0;
	shared->request.budget /= processes;
	memcpy(shared->slots, self->slots, mul_size(self->n, sizeof(CheckSlot)));
}

static const TeamKind many_kind = {
	.worker_main = "ptsort_check_many_worker_main",
	.open = many_nothing,
	.close = many_nothing,
	.begin = checkrows_begin,	/* this sort stays empty */
	.fill = many_fill,
	.read = many_nothing,
	.shared_size = many_shared_size,
	.shared_init = many_shared_init
};

TEAM_WORKER_MAIN(ptsort_check_many_worker_main, ManyChecker, many_kind);

/* Copy the slots that a participant took.  Workers may still write others. */
static void
take_results(ManyChecker *self)
{
	ManyShared *shared = self->team.shared;

	for (int i = 0; shared != NULL && i < self->n; i++)
	{
		CheckSlot  *slot = &shared->slots[i];
		uint32		state = pg_atomic_read_u32(&slot->state);

		if (state == CHECK_WAITS)
			continue;
		pg_read_barrier();
		self->slots[i].ms = slot->ms;
		self->slots[i].report = slot->report;
		pg_atomic_write_u32(&self->slots[i].state, state);
	}
}

/* CheckManyStep: check all slots that wait. */
static void
run_team(void *arg)
{
	ManyChecker *self = arg;
	Team	   *team = &self->team;

	*team = (Team)
	{
		.kind = &many_kind,
			.budget = self->request->budget,
			.is_leader = true
	};
	PG_TRY();
	{
		team_sort(team, self->request->workers);
		team_read(team);
		team_wait(team);
		team_finish(team);
	}
	PG_CATCH();
	{
		take_results(self);
		PG_RE_THROW();
	}
	PG_END_TRY();
	take_results(self);
	team_leave(team);
}

/* Call a function in a subtransaction.  Returns its error, or NULL. */
static ErrorData *
try_step(CheckManyStep step, void *arg)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller,
												  "ptsort check in a subtransaction",
												  ALLOCSET_DEFAULT_SIZES);
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		step(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
	CurrentResourceOwner = owner;
	if (error != NULL && ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
		ERRCODE_OPERATOR_INTERVENTION)
		ReThrowError(error);
	MemoryContextDelete(context);
	return error;
}

bool
checkmany_guard(CheckManyStep step, void *arg, CheckSlot *slot)
{
	CheckFinding *finding = &slot->report.findings[0];
	ErrorData  *error;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	error = try_step(step, arg);
	if (error == NULL)
		return true;
	slot->ms = pt_ms_since(start);
	strlcpy(finding->message, error->message, sizeof(finding->message));
	pg_atomic_write_u32(&slot->state, CHECK_FAILED);
	FreeErrorData(error);
	return false;
}

typedef struct Alone
{
	CheckSlot  *slot;
	CheckRequest request;
} Alone;

/* CheckManyStep */
static void
run_alone(void *arg)
{
	const Alone *alone = arg;

	check_slot(alone->slot, &alone->request);
}

/* Repeat the checks that an error interrupted.  Returns their number. */
static int
repeat_interrupted(ManyChecker *self)
{
	Alone		alone = {.request = *self->request};
	int			n = 0;

	alone.request.workers = 0;
	for (int i = 0; i < self->n; i++)
		if (pg_atomic_read_u32(&self->slots[i].state) == CHECK_RUNS)
		{
			alone.slot = &self->slots[i];
			(void) checkmany_guard(run_alone, &alone, alone.slot);
			n++;
		}
	return n;
}

void
checkmany_run(CheckSlot *slots, int n, const CheckRequest *request)
{
	ManyChecker self = {.slots = slots,.n = n,.request = request};
	ErrorData  *error;

	/* each turn finishes a check, so there is an end */
	while ((error = try_step(run_team, &self)) != NULL)
	{
		if (repeat_interrupted(&self) == 0)
			ReThrowError(error);
		FreeErrorData(error);
	}
}
