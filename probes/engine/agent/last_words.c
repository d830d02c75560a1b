/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters before a run and after it: what has grown is evidence. */
#include "probes/engine/agent/agent.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "probes/host/gpu_state.h"
#include "probes/host/inventory.h"

/* Less than what the coordinator waits for last words. */
#define LOOK_NS (1500 * NS_PER_MS)

static void add_port_growth(struct agent *a, json_t *facts)
{
	struct port *now = calloc(PORT_MAX, sizeof(*now));
	size_t n = now != NULL ? port_list(a->root, now, PORT_MAX) : 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < a->n_ports; k++) {
			if (strcmp(now[i].name, a->ports[k].name) == 0) {
				port_growth_facts(&a->ports[k], &now[i],
						  facts);
			}
		}
	}
	free(now);
}

static void tell_words(struct agent *a)
{
	json_t *facts = json_array();

	add_port_growth(a, facts);
	gpu_growth_facts(json_object_get(a->inventory, "facts"),
			 a->words.gpus, facts);
	agent_tell(a, message_new(MSG_LAST_FACTS, "{s:o}", "facts", facts));
}

/* Beside the loop: waits for the child, touches nothing but its own facts. */
static void look_at_gpus(uv_work_t *work)
{
	struct agent *a = work->data;
	struct gpu_list list;

	inventory_ask_gpus(a->root, &list, a->words.gpus,
			   clock_now_ns() + LOOK_NS, NULL);
}

static void gpus_looked_at(uv_work_t *work, int status)
{
	struct agent *a = work->data;

	(void)status;
	a->words.asking = false;
	tell_words(a);
	json_decref(a->words.gpus);
	a->words.gpus = NULL;
}

void agent_last_words(struct agent *a)
{
	json_t *gpus = json_object_get(a->inventory, "gpus");

	if (a->words.asking) {
		return;
	}
	if (json_array_size(gpus) == 0) {
		tell_words(a);
		return;
	}
	a->words.gpus = json_array();
	a->words.work.data = a;
	a->words.asking = uv_queue_work(&a->loop, &a->words.work,
					look_at_gpus, gpus_looked_at) == 0;
	if (!a->words.asking) {
		gpus_looked_at(&a->words.work, 0);
	}
}
