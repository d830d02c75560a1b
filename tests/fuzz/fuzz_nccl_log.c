/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/nccl/log.h"

static void must_be_printable(const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < 0x20) {
			abort();
		}
	}
}

/** Any bytes as NCCL's log: what is found fits and can be printed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[NCCL_PATH_SIZE], nic[NCCL_NIC_SIZE], buf[40];
	const char *text = (const char *)data;
	struct nccl_nics nics = { 0 };
	struct nccl_network net;

	if (nccl_log_find_warning(text, size, buf, sizeof(buf))) {
		must_be_printable(buf);
	}
	if (nccl_log_find_failover(text, size, buf, sizeof(buf))) {
		must_be_printable(buf);
	}
	nccl_path_nics(text, size, &nics);
	nccl_network_find(text, size, &net);
	must_be_printable(net.name);
	must_be_printable(net.why);
	for (int end = 0; end < 2; end++) {
		if (nccl_path_find(text, size, end, !end, end == 0, &nics,
				   path, nic)) {
			must_be_printable(path);
			must_be_printable(nic);
		}
	}
	return 0;
}
