/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/link.h"

#if HAVE_VERBS

#include <string.h>

bool verbs_tell_port(const struct xport_link *l, struct xport_result *r)
{
	const char *state;

	if (verbs_port_active(&l->x->dev, &state)) {
		return false;
	}
	xport_fail(r, OUTCOME_ERROR, "port_down", "%s: the port is %s now",
		   l->x->dev.name, state);
	return true;
}

void verbs_tell_fault(const struct xport_link *l, const char *doing,
		     struct xport_result *r)
{
	const struct verbs_words *w;

	if (verbs_tell_port(l, r)) {
		return;
	}
	switch (l->fault) {
	case FAULT_WC:
		w = verbs_wc_words(l->error);
		xport_fail(r, OUTCOME_ERROR, w->code,
			   "%s, %s to %s: status %d, vendor error 0x%x, %s",
			   doing, l->own.name, l->peer.name, l->error,
			   l->vendor, w->says);
		break;
	case FAULT_CALL:
		w = verbs_call_words(l->call, l->error, l->x->dev.limited);
		xport_fail(r, OUTCOME_ERROR, w->code,
			   "%s, %s to %s: %s: %s; %s", doing, l->own.name,
			   l->peer.name, verbs_call_name(l->call),
			   strerror(l->error), w->says);
		break;
	case FAULT_CANCELLED:
		xport_fail(r, OUTCOME_ERROR, "cancelled", "%s: cancelled",
			   doing);
		r->echo = true;
		break;
	default:
		xport_fail(r, OUTCOME_TIMEOUT, "task_timeout",
			   "%s, %s to %s: no completion in time", doing,
			   l->own.name, l->peer.name);
		r->echo = true;
		break;
	}
}

#endif
