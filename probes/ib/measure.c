/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One direction of a pair.  The active end posts: the one that sends, or with
 * --op=read the one that receives.  Its peer is passive: it takes part in the
 * hand-shakes, lets data arrive, and answers pings.
 *
 *	passive          active
 *	  ready  ------>		then pings, where wanted
 *	         <------  sent		one message, for the check
 *	 checked ------>
 *	         <------  streamed
 *	   end   ------>
 *
 * Pings come first: on soft-RoCE they often take twice as long behind a stream,
 * for a reason that is not known.
 */
#include "probes/ib/measure.h"

#if HAVE_VERBS

#include <stdio.h>

/* Look at what has arrived, when this end is where it arrives. */
static int check_data(struct xport_link *l, const struct xport_cell *c,
		      int64_t deadline_ns, struct xport_result *r)
{
	struct verbs_memory *m = &l->x->memory;

	if (c->sender || !c->check) {
		return 0;
	}
	if (c->drill == XPORT_DRILL_CORRUPT) {
		verbs_memory_spoil(m, c->size_bytes);
	}
	r->wrong = verbs_memory_wrong(m, c->size_bytes, c->pattern_seed,
				      deadline_ns);
	return r->wrong < 0 ? -1 : 0;
}

static int run_active(struct xport_link *l, const struct xport_cell *c,
		      int64_t deadline_ns, struct xport_result *r)
{
	struct stream s;
	uint64_t word;

	stream_init(&s, l, c, deadline_ns);
	if (verbs_hear(l, &word, false, deadline_ns) < 0 ||
	    (c->latency && (verbs_settle(l, deadline_ns) < 0 ||
			   verbs_pings(l, c, false, deadline_ns, r) < 0)) ||
	    stream_send(&s, 1) < 0 || check_data(l, c, deadline_ns, r) < 0 ||
	    verbs_tell(l, 0) < 0 ||
	    verbs_hear(l, &word, false, deadline_ns) < 0 ||
	    stream_send(&s, c->warmup) < 0 || stream_run(&s) < 0 ||
	    verbs_tell(l, 0) < 0) {
		return -1;
	}
	samples_result(&s.samples, r);
	return verbs_hear(l, &word, false, deadline_ns) < 0 ||
			       verbs_settle(l, deadline_ns) < 0 ?
		       -1 :
		       0;
}

static int run_passive(struct xport_link *l, const struct xport_cell *c,
		       int64_t deadline_ns, struct xport_result *r)
{
	/* data that only appears in memory needs no help to arrive */
	bool idle = l->x->op != OP_SEND;
	struct stream s;
	uint64_t word;
	int rc;

	stream_init(&s, l, c, deadline_ns);
	l->x->box->ping_in = 0;
	if (verbs_settle(l, deadline_ns) < 0 || verbs_tell(l, 0) < 0 ||
	    (c->latency && verbs_pings(l, c, true, deadline_ns, r) < 0) ||
	    verbs_hear(l, &word, false, deadline_ns) < 0 ||
	    check_data(l, c, deadline_ns, r) < 0 || verbs_tell(l, 0) < 0) {
		return -1;
	}
	l->pace = PACE_STREAM;
	rc = c->bidi ? stream_until_word(&s, &word) :
			  verbs_hear(l, &word, idle, deadline_ns);
	l->pace = PACE_WORD;
	return rc < 0 || verbs_tell(l, 0) < 0 ||
			       verbs_settle(l, deadline_ns) < 0 ?
		       -1 :
		       0;
}

static void name_path(const struct xport_link *l, struct xport_result *r)
{
	char way[32] = "IB", queues[16] = "";

	if (l->x->dev.ethernet) {
		snprintf(way, sizeof(way), "RoCEv%d/gid%d", l->gid.roce,
			 l->gid.index);
	}
	if (l->n_queues > 1) {
		snprintf(queues, sizeof(queues), "/qp%d", l->n_queues);
	}
	snprintf(r->path, sizeof(r->path), "%s/mtu%d%s%s", way, l->mtu_B,
		 queues, l->x->memory.how);
}

static void tell_result(const struct xport_link *l,
			const struct xport_cell *c, struct xport_result *r)
{
	if (r->wrong != RECORD_NONE && r->wrong > 0) {
		xport_fail(r, OUTCOME_CORRUPT, "data_corrupt",
			   "%lld of %llu bytes arrived with a wrong value at "
			   "%s",
			   (long long)r->wrong,
			   (unsigned long long)c->size_bytes, l->own.name);
	} else {
		r->outcome = OUTCOME_OK;
	}
}

bool verbs_measure(struct xport_link *l, const struct xport_cell *c,
		   int64_t deadline_ns, struct xport_result *r)
{
	bool active = c->sender == (l->x->op != OP_READ);
	enum verbs_side side = c->sender ? VERBS_SEND : VERBS_RECV;
	int rc;

	name_path(l, r);
	if (xport_act_drill(l->x->self.worker, c, deadline_ns, r)) {
		l->fault = FAULT_CANCELLED;
		return false;
	}
	worker_step(l->x->self.worker, "%s %llu bytes with %s",
		    c->sender ? "sending" : "receiving",
		    (unsigned long long)c->size_bytes, l->peer.name);
	rc = verbs_memory_fill(&l->x->memory, side, c->size_bytes,
			       c->pattern_seed, deadline_ns);
	if (rc == 0) {
		rc = active ? run_active(l, c, deadline_ns, r) :
			      run_passive(l, c, deadline_ns, r);
	}
	if (rc < 0 && l->x->memory.fault[0] != '\0') {
		xport_fail(r, OUTCOME_ERROR, "gpu_memory", "%s",
			   l->x->memory.fault);
		l->fault = FAULT_CANCELLED;	/* the peer waits in vain */
	} else if (rc < 0) {
		verbs_tell_fault(l, c->sender ? "sending" : "receiving", r);
	} else {
		tell_result(l, c, r);
	}
	return l->fault == FAULT_NONE;
}

#endif
