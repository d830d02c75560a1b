/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which HCA ports are ranks.  A port that is up on no node at all is there for
 * something else, or for nothing; one that is up elsewhere is missed here.
 */
#include "probes/engine/coord/coordinator.h"

#include <math.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/str.h"

static const json_t *ports_of(const struct coord_agent *a)
{
	return json_object_get(a->inventory, "ports");
}

static const char *name_of(const json_t *port)
{
	const char *name = json_string_value(json_object_get(port, "name"));

	return name != NULL ? name : "";
}

static bool is_up(const json_t *port)
{
	const char *s = json_string_value(json_object_get(port, "state"));

	return s != NULL && strcmp(s, "ACTIVE") == 0;
}

static bool up_somewhere(const struct coord *c, const char *name)
{
	for (const struct coord_agent *a = c->agents; a != NULL; a = a->next) {
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

bool coord_has_ports(const struct coord *c)
{
	for (const struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		if (json_array_size(ports_of(a)) > 0) {
			return true;
		}
	}
	return false;
}

void coord_count_ports(struct coord *c)
{
	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		const json_t *port;
		size_t i;

		a->gpus_found = 0;
		json_array_foreach(ports_of(a), i, port) {
			a->gpus_found += takes_part(c, port);
		}
	}
}

void coord_take_port(struct coord *c, struct coord_rank *r, int slot)
{
	const json_t *port;
	size_t i;

	json_array_foreach(ports_of(r->agent), i, port) {
		if (takes_part(c, port) && slot-- == 0) {
			json_opt_text(port, "name", r->part, sizeof(r->part),
				      NULL);
			json_opt_real(port, "line_GB_s", 0, 1e6, &r->line_GB_s,
				      NULL);
			json_opt_bool(port, "software", &r->software, NULL);
			return;
		}
	}
}
