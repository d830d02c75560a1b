/* SPDX-License-Identifier: BSD-3-Clause */
/* One round: who is in it, and an order to every member. */
#include "probes/engine/coord/collective.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/engine/net/door.h"

/* Beyond what a member was given: its agent has killed it by then. */
#define GRACE_NS (COLLECTIVE_LATE_NS + 5 * NS_PER_S)
/* After a word to give up. */
#define CANCEL_NS GRACE_NS
#define TICKET_NS (10 * NS_PER_S)
#define STEP_NS	  (30 * NS_PER_S)
/* A step may take this much longer than was promised; and this long at most,
 * as the promise is an agent's word: an order has no more than a week. */
#define PATIENCE  3
#define BUDGET_NS 6e14

void collective_note(struct collective_work *w, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	json_t *note, *old;
	size_t i;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note = json_text(text);
	json_array_foreach(w->notes, i, old)
	{
		if (json_equal(old, note)) {
			json_decref(note);
			return;
		}
	}
	json_array_append_new(w->notes, note);
	run_log_event(w->c->log, NULL, -1, "note", "%s", text);
}

int64_t round_step_ns(const struct collective_work *w)
{
	return w->c->spec.timeout_ns > 0 ? w->c->spec.timeout_ns : STEP_NS;
}

int64_t round_patient_ns(const struct collective_work *w, double about_us)
{
	return (int64_t)fmin((double)round_step_ns(w) +
				     PATIENCE * about_us * 1e3,
			     BUDGET_NS);
}

int round_nodes(const struct collective_work *w)
{
	int n = 0;

	for (int i = 0; i < w->n_members; i++) {
		n += i == 0 ||
		     !layout_same_node(&w->ranks.layout, w->members[i].rank,
				       w->members[i - 1].rank);
	}
	return n;
}

void round_order(struct collective_work *w, enum collective_do what,
		 int64_t budget_ns)
{
	struct collective_order *o = &w->order;
	int n = what == DO_TICKET ? 1 : w->n_members;

	w->what = what;
	w->id = w->next_id++;
	w->round = true;
	w->failing = w->cancelled = false;
	w->deadline_ns = clock_now_ns() + budget_ns + GRACE_NS;
	o->what = what;
	o->id = w->id;
	o->budget_ns = budget_ns;
	o->slow_factor = w->slow_factor;
	for (int i = 0; i < w->n_members; i++) {
		struct member *m = &w->members[i];

		m->in = i >= n;
		m->absent = m->culprit = false;
		o->rank = m->rank;
		o->me = i;
		o->drill = w->acts[i].drill;
		o->silent = w->acts[i].silent;
		if (i < n) {
			ranks_send(&w->ranks, m->rank,
				   message_of(MSG_COLLECTIVE,
					      collective_order_json(o)));
		}
	}
}

void round_join(struct collective_work *w, const int *ranks, int n,
		int64_t size_B, int64_t join_ns)
{
	const struct variant *v = &w->variants[w->variant];

	w->n_members = n;
	w->join_ns = join_ns;
	for (int i = 0; i < n; i++) {
		w->members[i].rank = ranks[i];
	}
	w->slow_factor =
		collective_drill(&w->ranks.drill, &w->ranks.layout, ranks, n,
				 ++w->made, (uint64_t)w->c->spec.seed, w->acts);
	w->order = (struct collective_order){
		.ranks = n,
		.nodes = round_nodes(w),
		.op = w->op,
		.dtype = w->dtype,
		.redop = w->redop,
		.size_B = size_B,
		.factor = w->c->spec.size_factor,
		.seed = w->c->spec.seed,
	};
	door_nonce(w->order.nonce);
	STR_COPY(w->order.variant, v->name);
	STR_COPY(w->order.algo, v->algo);
	STR_COPY(w->order.proto, v->proto);
	round_order(w, DO_TICKET, TICKET_NS);
}

void round_renew(struct collective_work *w)
{
	/* jobs let NCCL go by way of other GPUs: so do we */
	const struct pass pass = {.pxn = true};

	w->opening = true;
	w->round = false;
	ranks_start(&w->ranks, &pass, w->variants[w->variant].env);
}

void round_call_off(struct collective_work *w)
{
	w->cancelled = true;
	w->deadline_ns = clock_now_ns() + CANCEL_NS;
	for (int i = 0; i < w->n_members; i++) {
		if (!w->members[i].in) {
			ranks_word(&w->ranks, w->members[i].rank, MSG_CANCEL,
				   w->id);
		}
	}
}
