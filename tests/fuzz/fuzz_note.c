/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/run.h"

/** What an agent has left behind; a note that is taken says of what node. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event_row row;

	if (run_note_parse((const char *)data, size, &row, NULL) == 0 &&
	    (!row.node[0] || strcmp(row.event, "coordinator_lost") != 0)) {
		abort();
	}
	return 0;
}
