/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/engine/agent/agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What is taken for an address is a word of the text, and fits. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char host[32], *text = strndup((const char *)data, size);

	if (text && node_addr_parse(text, host, sizeof(host)) &&
	    (!host[0] || strlen(host) >= sizeof(host) ||
	     strpbrk(host, " \t\r\n") || !strstr(text, host))) {
		abort();
	}
	free(text);
	return 0;
}
