/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/nccl_told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/transport/worker.h"

void nccl_told_read(struct nccl_told *t, const struct nccl_log *log)
{
	size_t len = 0;
	char *text = t->read ? NULL : nccl_log_since(log, 0, &len);

	if (text != NULL) {
		t->read = true;
		nccl_path_nics(text, len, &t->nics);
		nccl_network_find(text, len, &t->net);
	}
	free(text);
}

void nccl_told_say(struct nccl_told *t, const struct xport_self *self,
		   const char *nic)
{
	bool sockets = strcmp(t->nics.net, "Socket") == 0;
	const char *const facts[][2] = {
		{ "network", t->net.name },
		{ "network_nic", nic[0] == '\0' && sockets ? t->nics.name[0] :
							     nic },
		{ "network_why", t->net.why },
	};
	char gpu[24];

	if (t->said) {
		return;
	}
	t->said = true;
	snprintf(gpu, sizeof(gpu), "gpu%d", self->local_rank);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (facts[i][1][0] != '\0') {
			worker_fact(self->worker, gpu, facts[i][0],
				    facts[i][1], "NCCL's log");
		}
	}
}
