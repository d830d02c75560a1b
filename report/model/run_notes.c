/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/base/grow.h"

/** A row of events.csv is far less, as JSON too. */
#define NOTE_MAX 4096

int run_note_parse(const char *text, size_t len, struct event_row *row,
		   struct err *e)
{
	json_t *json = json_parse(text, len, e);
	int rc = json ? record_from_json(&schema_events, json, row, e) : -1;

	json_decref(json);
	if (rc == 0 && (strcmp(row->event, "coordinator_lost") != 0 ||
			!row->node[0])) {
		rc = err_set(e, 0, "no note of an agent");
	}
	return rc;
}

static bool has_lost(const struct run *run)
{
	for (size_t i = 0; i < run->n_events; i++) {
		if (strcmp(run->events[i].event, "agent_lost") == 0) {
			return true;
		}
	}
	return false;
}

int run_read_notes(const char *dir, struct run *run)
{
	bool wanted = has_lost(run);

	for (int i = 0; wanted && i < run->n_nodes; i++) {
		struct event_row row;
		char name[40], *text;
		size_t len;
		int rc = 0;

		snprintf(name, sizeof(name), "logs/agent-%d.json", i);
		text = rundir_read_text(dir, name, NOTE_MAX, &len, NULL);
		if (text && run->n_events < RUN_MAX_EVENTS &&
		    run_note_parse(text, len, &row, NULL) == 0) {
			rc = grow_add(&run->events, &run->n_events, &row,
				      sizeof(row)) ? 0 : -1;
		}
		free(text);
		if (rc < 0) {
			return -1;
		}
	}
	return 0;
}
