/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agent that has lost the coordinator is a witness whom nobody hears any
 * more, but who may still be able to write where the others read.
 */
#include "probes/engine/agent/agent.h"

#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "probes/host/interface.h"

void agent_note_lost(const struct agent *a, const char *node,
		     const char *why)
{
	char link[80], name[40];
	enum interface_way way = interface_says(
		(const struct sockaddr *)&a->own, link, sizeof(link));
	struct event_row row;
	json_t *json;

	/* by a link that is down no file system of a network answers: to wait
	 * for that would be without end */
	if (a->nonce[0] == '\0' || way == INTERFACE_DOWN) {
		return;
	}
	record_init(&schema_events, &row);
	clock_utc(row.utc);
	row.seq = a->boot.rank;
	str_copy(row.node, sizeof(row.node), node);
	STR_COPY(row.event, "coordinator_lost");
	snprintf(row.detail, sizeof(row.detail),
		 "lost the coordinator: %.200s%s%s", why,
		 way == INTERFACE_UNKNOWN ? "" : "; own link: ", link);
	snprintf(name, sizeof(name), "logs/agent-%d.json", a->boot.rank);
	json = record_json(&schema_events, &row);
	if (json != NULL) {
		rundir_write_json(a->dir, name, json, NULL);
	}
	json_decref(json);
}
