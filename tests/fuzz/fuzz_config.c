/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/options.h"

static const struct command p2p = { .name = "p2p", .takes = SPEC_CMD_P2P };
static const struct command report = { .name = "report",
				       .takes = SPEC_CMD_REPORT };
static const struct command agent = { .name = "agent", .hidden = true,
				      .takes = SPEC_CMD_INNER };
static const struct command *const commands[] = { &p2p, &report, &agent,
						  NULL };

/* A file of options: what is kept is known, allowed there, and can be set. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config files[CONFIG_FILES] = { { .path = "conf" } };
	struct config *c = &files[0];
	struct err e = { 0 };
	int rc = config_parse((const char *)data, size, commands, c, &e);

	if (rc < 0 && !e.text[0]) {
		abort();
	}
	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		const struct config_value *v = &c->list[i];
		const struct spec_option *o = spec_find(v->name);
		struct spec s;

		spec_init(&s);
		if (!o || o->once || v->line < 1 || v->of == &agent ||
		    strlen(v->text) > CONFIG_MAX_LINE ||
		    spec_set(&s, o, v->text, NULL) < 0) {
			abort();
		}
	}
	config_release(files);
	return 0;
}
