/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/hang.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "report/judge/pairs.h"

/** Kinds of collectives that RAS counts: five by 2.28. */
#define CALLS_MAX 16
#define EVIDENCE_MAX 8
/** Of a core: below, a process sleeps; above, it spins or computes.  NCCL's
 *  waiting ranks use 1.5 cores, those that sleep before a collective 0.01. */
#define IDLE_CPU 0.1
#define SPIN_CPU 0.8
/** A GPU that computes draws so much more than those that wait: an H200 takes
 *  124 to 130 W waiting in NCCL, and 160 W in small collectives. */
#define POWER_RATIO 1.2
#define BUSY_PCT 90
/** Collectives that a rank which slows its job down begins while it is watched,
 *  at most: a job of many small ones goes on too fast to say who is late. */
#define SLOW_STEPS 8

/** What a rank has begun in a communicator. */
struct calls {
	int64_t n[CALLS_MAX], total;
};

/** A row, and what it means. */
struct seat {
	const struct hang_row *row;
	struct calls now, then;
	size_t process;		/* whose: the number of its first row */
	bool behind;		/* of another rank of its communicator */
	bool odd;		/* each has begun what the others have not */
	bool waits;		/* for one that is behind */
	bool named;
};

struct hang {
	const struct run *run;
	const struct hang_rows *rows;
	struct verdict *v;
	struct seat *seats;
	char names[CALLS_MAX][32];
	int n_names;
};

/* ---- what RAS has counted ------------------------------------------------ */

static int call_index(struct hang *h, const char *name)
{
	for (int i = 0; i < h->n_names; i++) {
		if (strcmp(h->names[i], name) == 0) {
			return i;
		}
	}
	if (h->n_names == CALLS_MAX) {
		return -1;
	}
	STR_COPY(h->names[h->n_names], name);
	return h->n_names++;
}

/** "AllReduce 21, AllGather 1" */
static void read_calls(struct hang *h, const char *text, struct calls *c)
{
	char name[32];
	long long count;
	int used = 0;

	while (sscanf(text, "%31[A-Za-z] %lld%n", name, &count, &used) == 2) {
		int i = call_index(h, name);

		if (i >= 0 && count > 0) {
			c->n[i] = count;
			c->total += count;
		}
		text += used;
		text += strspn(text, ", ");
	}
}

static bool same_calls(const struct calls *a, const struct calls *b)
{
	return memcmp(a->n, b->n, sizeof(a->n)) == 0;
}

/** Does it know what it has begun? */
static bool is_told(const struct hang_row *r)
{
	return strcmp(r->ras, HANG_RAS_ANSWERS) == 0;
}

static bool same_comm(const struct seat *a, const struct seat *b)
{
	return strcmp(a->row->comm, b->row->comm) == 0;
}

/** The most that any rank of the communicator of @s has begun, of each. */
static struct calls front_of(const struct hang *h, const struct seat *s)
{
	struct calls front = { 0 };

	for (size_t i = 0; i < h->rows->n; i++) {
		const struct seat *t = &h->seats[i];

		for (int k = 0; k < CALLS_MAX && same_comm(s, t); k++) {
			if (t->now.n[k] > front.n[k]) {
				front.n[k] = t->now.n[k];
			}
		}
	}
	return front;
}

/** Has any rank of its communicator begun another one meanwhile? */
static bool goes_on(const struct hang *h, const struct seat *s)
{
	for (size_t i = 0; i < h->rows->n; i++) {
		const struct seat *t = &h->seats[i];

		if (same_comm(s, t) && t->now.total > t->then.total) {
			return true;
		}
	}
	return false;
}

/** Of a communicator that stands still: who is behind the front, and who, where
 *  nobody has begun all that others have, is not of the most. */
static void compare_still(struct hang *h, struct seat *s)
{
	struct calls front = front_of(h, s);
	size_t same = 0, all = 0;
	bool at_front = false;

	for (size_t i = 0; i < h->rows->n; i++) {
		const struct seat *t = &h->seats[i];

		if (same_comm(s, t) && is_told(t->row)) {
			at_front = at_front || same_calls(&t->now, &front);
			same += same_calls(&t->now, &s->now);
			all++;
		}
	}
	s->behind = at_front && !same_calls(&s->now, &front);
	s->odd = !at_front && same * 2 < all;
}

/** Of one that goes on: collectives of a communicator have one order, so none
 *  can have begun those behind one that it has not begun. */
static void compare_moving(struct hang *h, struct seat *s)
{
	for (int k = 0; k < CALLS_MAX && !s->odd; k++) {
		size_t same = 0, all = 0;
		bool still = true;

		for (size_t i = 0; i < h->rows->n; i++) {
			const struct seat *t = &h->seats[i];

			if (same_comm(s, t) && is_told(t->row)) {
				still = still && t->now.n[k] == t->then.n[k];
				same += t->now.n[k] == s->now.n[k];
				all++;
			}
		}
		s->odd = still && same * 2 < all;
	}
}

/** Who is behind, who is the odd one, who waits for those behind. */
static void compare(struct hang *h)
{
	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *s = &h->seats[i];

		if (is_told(s->row)) {
			(goes_on(h, s) ? compare_moving : compare_still)(h, s);
		}
	}
	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *s = &h->seats[i];

		for (size_t k = 0; k < h->rows->n && is_told(s->row); k++) {
			s->waits = s->waits ||
				   (h->seats[k].behind && !s->behind &&
				    same_comm(s, &h->seats[k]));
		}
	}
}

/* ---- what a process does ------------------------------------------------- */

static bool is_gone(const struct hang_row *r)
{
	return strcmp(r->state, HANG_GONE) == 0 || strcmp(r->state, "Z") == 0;
}

static bool is_stopped(const struct hang_row *r)
{
	return strcmp(r->state, "T") == 0 || strcmp(r->state, "t") == 0;
}

/** Does it do nothing?  One that is ready to run and gets no CPU does. */
static bool is_idle(const struct hang_row *r)
{
	return r->cpu < IDLE_CPU && strcmp(r->state, "R") != 0;
}

/** In the same place of the kernel all the time, which no signal ends. */
static bool is_stuck(const struct hang_row *r)
{
	return strcmp(r->state, "D") == 0 && r->waits_in[0] && is_idle(r);
}

static bool spins(const struct hang_row *r)
{
	return r->cpu >= SPIN_CPU || strcmp(r->state, "R") == 0;
}

static bool has_dead_child(const struct hang_row *r)
{
	return strchr(r->children, 'Z') && is_idle(r);
}

static bool waits_for_file(const struct hang_row *r)
{
	static const char *const places[] = {
		"pipe_", "anon_pipe", "fifo_", "wait_for_partner", "folio_wait",
		"wait_on_page", "rpc_", "nfs", "cl_", "ldlm", "fuse_",
	};
	bool waits = false;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		waits = waits || str_starts(r->waits_in, places[i]);
	}
	return waits && is_idle(r);
}

static bool is_any(const struct hang_row *r)
{
	(void)r;
	return true;
}

/** The first that holds says why a rank keeps the others waiting. */
static const struct cause {
	bool (*holds)(const struct hang_row *r);
	bool hard;		/* by itself, whatever others do */
	const char *code, *says;
} causes[] = {
	{ .holds = is_gone, .hard = true, .code = "rank_gone",
	  .says = "has ended, and the others wait for it" },
	{ .holds = is_stopped, .hard = true, .code = "rank_stopped",
	  .says = "is stopped by a signal or a debugger" },
	{ .holds = is_stuck, .hard = true, .code = "rank_stuck",
	  .says = "waits in the kernel, where no signal reaches it" },
	{ .holds = has_dead_child, .code = "rank_child_dead",
	  .says = "waits, while a process that it has started has ended" },
	{ .holds = waits_for_file, .code = "rank_waits_file",
	  .says = "waits for a file or a pipe" },
	{ .holds = is_idle, .code = "rank_asleep",
	  .says = "does nothing, in the program's own code" },
	{ .holds = is_any, .code = "rank_computes",
	  .says = "is still at work in the program's own code" },
};

static const struct cause *cause_of(const struct hang_row *r)
{
	const struct cause *c = causes;

	while (!c->holds(r)) {
		c++;
	}
	return c;
}

/* ---- findings ------------------------------------------------------------ */

static void add_evidence(const struct hang_row *r, struct finding *f)
{
	char calls[160] = "", cpu[32] = "", gpu[80] = "";

	if (r->comm[0]) {
		snprintf(calls, sizeof(calls), ": %s",
			 !is_told(r)	     ? "no answer of NCCL" :
			 r->calls_later[0] ? r->calls_later :
					     "no collective begun");
	}
	if (!isnan(r->cpu)) {
		snprintf(cpu, sizeof(cpu), ", %.2f cores", r->cpu);
	}
	if (r->gpu != RECORD_NONE && !isnan(r->gpu_power_W)) {
		snprintf(gpu, sizeof(gpu), ", GPU %" PRId64 ": %.0f %%, %.0f W",
			 r->gpu, r->gpu_busy_pct, r->gpu_power_W);
	}
	finding_add_evidence(f, "rank %" PRId64 "%s, state %s%s%s%s%s", r->rank,
			     calls, r->state, r->waits_in[0] ? " in " : "",
			     r->waits_in, cpu, gpu);
}

static struct finding *name_rank(struct hang *h, struct seat *s,
				 const char *code, const char *says)
{
	const struct hang_row *r = s->row;
	struct part p = part_at(PART_PROCESS,
				run_find_node(h->run, r->node, -1),
				(int)r->rank);
	struct finding *f;
	size_t shown = 1;

	p.peer_index = (int)r->pid;
	f = finding_add(h->v, &p, code);
	f->fail = true;
	f->cells = f->explained = 1;
	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *t = &h->seats[i];

		t->named = t->named || t->process == s->process;
	}
	finding_say(f, "Rank %" PRId64 " on %s (%s%spid %" PRId64 ") %s",
		    r->rank, r->node, r->command, r->command[0] ? ", " : "",
		    r->pid, says);
	add_evidence(r, f);
	for (size_t i = 0; i < h->rows->n && shown < EVIDENCE_MAX; i++) {
		const struct seat *t = &h->seats[i];

		if (t->process != s->process && same_comm(s, t)) {
			add_evidence(t->row, f);
			shown++;
		}
	}
	return f;
}

/** Has the kernel killed processes of the job on its node? */
static bool lacked_memory(const struct hang *h, const struct hang_row *r)
{
	for (size_t i = 0; i < h->run->n_facts; i++) {
		const struct fact_row *f = &h->run->facts[i];

		if (strcmp(f->fact, HANG_OOM) == 0 &&
		    strcmp(f->node, r->node) == 0) {
			return true;
		}
	}
	return false;
}

/** What needs no comparison. */
static size_t name_hard(struct hang *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		const struct cause *c = cause_of(h->seats[i].row);

		if (c->hard && !h->seats[i].named &&
		    (c->holds != is_stuck || !hang_goes_on(h->rows))) {
			bool oom = c->holds == is_gone &&
				   lacked_memory(h, h->seats[i].row);

			name_rank(h, &h->seats[i], oom ? "rank_oom" : c->code,
				  oom ? "has ended, and the kernel has killed "
					"processes of the job there for want "
					"of memory" : c->says);
			n++;
		}
	}
	return n;
}

/** Is it kept from going on by another one, in any of its communicators? */
static bool is_victim(const struct hang *h, const struct seat *s)
{
	for (size_t i = 0; i < h->rows->n; i++) {
		if (h->seats[i].process == s->process && h->seats[i].waits) {
			return true;
		}
	}
	return false;
}

static size_t name_behind(struct hang *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *s = &h->seats[i];

		if (s->named) {
			continue;
		}
		if (s->odd) {
			name_rank(h, s, "rank_other_call",
			     "has begun another collective than the others");
			n++;
		} else if (s->behind && !is_victim(h, s)) {
			const struct cause *c = cause_of(s->row);
			char says[200];

			snprintf(says, sizeof(says), "has not begun what the "
				 "others wait in: it %s", c->says);
			name_rank(h, s, c->code, says);
			n++;
		}
	}
	return n;
}

/** Where NCCL says nothing: few are idle, and all others spin. */
static size_t name_idle(struct hang *h)
{
	size_t idle = 0, spin = 0, n = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		idle += is_idle(&h->rows->list[i]);
		spin += spins(&h->rows->list[i]);
	}
	if (idle + spin < h->rows->n || idle == 0 || idle > spin) {
		return 0;
	}
	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *s = &h->seats[i];

		if (s->row->comm[0] == '\0' && is_idle(s->row)) {
			const struct cause *c = cause_of(s->row);
			char says[200];

			snprintf(says, sizeof(says), "%s, while the others "
				 "wait busily", c->says);
			name_rank(h, s, c->code, says);
			n++;
		}
	}
	return n;
}

/** A GPU that works where those of all others wait: what its rank has queued
 *  before the collective does not end. */
static size_t name_gpu(struct hang *h)
{
	double *power = calloc(h->rows->n + 1, sizeof(*power));
	struct seat *most = NULL;
	double other;
	size_t n = 0;

	for (size_t i = 0; power && i < h->rows->n; i++) {
		const struct hang_row *r = h->seats[i].row;

		if (isnan(r->gpu_power_W) || r->gpu_busy_pct < BUSY_PCT ||
		    goes_on(h, &h->seats[i])) {
			free(power);
			return 0;
		}
		power[n++] = r->gpu_power_W;
		if (!most || r->gpu_power_W > most->row->gpu_power_W) {
			most = &h->seats[i];
		}
	}
	h->v->failed = h->v->failed || !power;
	other = n > 1 ? stats_median(power, n) : 0;
	free(power);
	if (n < 2 || (n == 2 && h->rows->n > 2)) {
		return 0;
	}
	if (n == 2) {	/* the median is between them */
		other = 2 * other - most->row->gpu_power_W;
	}
	if (most->row->gpu_power_W < other * POWER_RATIO) {
		return 0;
	}
	name_rank(h, most, "rank_gpu_busy", "has begun what the others have, but "
	     "its GPU still computes something else, while theirs wait");
	return 1;
}

/** One that goes on, but each time as the last. */
static void warn_slow(struct hang *h)
{
	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *s = &h->seats[i];
		size_t late = 0, all = 0;

		for (size_t k = 0; k < h->rows->n; k++) {
			const struct hang_row *t = h->seats[k].row;

			all += same_comm(s, &h->seats[k]);
			late += same_comm(s, &h->seats[k]) && t->behind != 0;
		}
		if (s->row->behind == HANG_LOOKS && late == 1 && all > 1 &&
		    s->now.total - s->then.total <= SLOW_STEPS) {
			name_rank(h, s, "rank_slow", "goes on, but the others "
			     "wait for it each time")->fail = false;
		}
	}
}

/** Nobody to look at, on nodes that did look. */
static void say_nothing(struct hang *h)
{
	struct part p = part_of_kind(PART_CONFIG);

	finding_say(finding_add(h->v, &p, "hang_nothing"), "There is no process "
		    "with NCCL, CUDA or PyTorch and a rank that this user may "
		    "look at");
}

static void say_undecided(struct hang *h)
{
	struct part p = part_of_kind(PART_CONFIG);
	struct finding *f = finding_add(h->v, &p, "hang_undecided");
	size_t told = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		told += is_told(&h->rows->list[i]);
	}
	finding_say(f, "Nothing goes on, and nothing seen tells whom the "
		    "%zu processes wait for", h->rows->n);
	for (size_t i = 0; i < h->rows->n && i < EVIDENCE_MAX; i++) {
		add_evidence(&h->rows->list[i], f);
	}
	if (told == 0) {
		finding_add_evidence(f, "NCCL's RAS does not answer");
	}
}

/* ---- all of it ----------------------------------------------------------- */

static bool seats_make(struct hang *h)
{
	h->seats = calloc(h->rows->n + 1, sizeof(*h->seats));
	for (size_t i = 0; h->seats && i < h->rows->n; i++) {
		struct seat *s = &h->seats[i];

		s->row = &h->rows->list[i];
		read_calls(h, s->row->calls, &s->then);
		read_calls(h, s->row->calls_later, &s->now);
		while (s->process < i &&
		       (h->rows->list[s->process].pid != s->row->pid ||
			strcmp(h->rows->list[s->process].node,
			       s->row->node) != 0)) {
			s->process++;
		}
	}
	return h->seats;
}

bool hang_goes_on(const struct hang_rows *rows)
{
	bool on = false;

	for (size_t i = 0; i < rows->n; i++) {
		on = on || strcmp(rows->list[i].calls,
				  rows->list[i].calls_later) != 0;
	}
	return on;
}

static void count_cells(struct hang *h, size_t n_named)
{
	bool known = n_named > 0 || hang_goes_on(h->rows);

	for (size_t i = 0; i < h->rows->n; i++) {
		const struct seat *s = &h->seats[i];

		if (s->process == i) {
			h->v->cells[s->named && n_named > 0 ? CELL_FAIL :
				    known ? CELL_PASS : CELL_NOT_RUN]++;
		}
	}
}

int hang_judge(const struct run *run, const struct hang_rows *rows,
	       struct verdict *v)
{
	struct hang h = { .run = run, .rows = rows, .v = v };
	size_t named = 0;

	*v = (struct verdict){ 0 };
	if (!seats_make(&h)) {
		return -1;
	}
	pairs_find(run, v);
	for (size_t i = 0; i < rows->n_silent; i++) {
		const struct hang_row *r = &rows->silent[i];

		silent_finding(run, &(struct silent){
			.node = r->node, .code = r->code,
			.detail = r->detail, .outcome = r->outcome }, v);
	}
	compare(&h);
	named = name_hard(&h);
	named += named == 0 ? name_behind(&h) : 0;
	named += named == 0 ? name_idle(&h) : 0;
	named += named == 0 ? name_gpu(&h) : 0;
	count_cells(&h, named);
	if (named == 0 && hang_goes_on(rows)) {
		warn_slow(&h);
	} else if (named == 0 && rows->n > 0) {
		say_undecided(&h);
	} else if (rows->n == 0 && v->n == 0) {
		say_nothing(&h);
	}
	free(h.seats);
	return verdict_close(run, v);
}
