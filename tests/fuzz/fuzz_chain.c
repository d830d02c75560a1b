/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/chain.h"
#include "lib/data/json.h"

/** What a watch is, from a file that others may have changed: its name is one
 *  of a file and a job, its command is there, and it is written as it was. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str service = STR_INIT, timer = STR_INIT, text = STR_INIT;
	char *env[] = { (char *)"GPUCHECK_X=1", NULL };
	struct chain_place place = { .self = "/bin/gpucheck", .env = env };
	struct chain c, back;

	if (chain_parse((const char *)data, size, &c, NULL) == 0) {
		json_t *json = chain_json(&c);

		json_add(json, JSON_COMPACT, &text);
		json_decref(json);
		if (strpbrk(c.name, "/. \n'\"$") || !c.words[1] ||
		    chain_parse(str_text(&text), text.len, &back, NULL) < 0) {
			abort();
		}
		place.dir = place.cwd = c.words[1];
		chain_units(&c, &place, &service, &timer, NULL);
		chain_release(&back);
	}
	chain_release(&c);
	str_release(&service);
	str_release(&timer);
	str_release(&text);
	return 0;
}
