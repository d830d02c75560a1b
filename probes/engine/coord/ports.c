/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which HCA ports are ranks.  A port that is up on no node at all is there for
 * something else, or for nothing; one that is up elsewhere is missed here.
 */
#include "probes/engine/coord/ranks.h"

#include <string.h>

#include "lib/data/json.h"

static const json_t *ports_of(const struct coord_agent *a)
{
	return json_object_get(a->inventory, "ports");
}

static const char *name_of(const json_t *port)
{
	return json_member(port, "name");
}

static bool is_up(const json_t *port)
{
	return strcmp(json_member(port, "state"), "ACTIVE") == 0;
}

static bool up_somewhere(const struct coord *c, const char *name)
{
	const struct coord_agent *a = NULL;

	while ((a = agents_next(c->agents, a)) != NULL) {
		const json_t *port;
		size_t i;

		json_array_foreach(ports_of(a), i, port) {
			if (is_up(port) && strcmp(name_of(port), name) == 0) {
				return true;
			}
		}
	}
	return false;
}

static bool takes_part(const struct coord *c, const json_t *port)
{
	return port_matches(c->spec.hca, name_of(port)) &&
	       up_somewhere(c, name_of(port));
}

bool ports_any(const struct coord *c)
{
	const struct coord_agent *a = NULL;

	while ((a = agents_next(c->agents, a)) != NULL) {
		if (json_array_size(ports_of(a)) > 0) {
			return true;
		}
	}
	return false;
}

void ports_count(struct coord *c)
{
	struct coord_agent *a = NULL;

	while ((a = agents_next(c->agents, a)) != NULL) {
		const json_t *port;
		size_t i;

		a->gpus_found = 0;
		json_array_foreach(ports_of(a), i, port) {
			a->gpus_found += takes_part(c, port);
		}
	}
}

void ports_take(const struct coord *c, struct rank *k, int slot)
{
	const json_t *port;
	size_t i;

	json_array_foreach(ports_of(k->agent), i, port)
	{
		if (takes_part(c, port) && slot-- == 0) {
			json_opt_text(port, "name", k->part, sizeof(k->part),
				      NULL);
			json_opt_real(port, "line_GB_s", 0, 1e6, &k->line_GB_s,
				      NULL);
			json_opt_bool(port, "software", &k->software, NULL);
			return;
		}
	}
}
