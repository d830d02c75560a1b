/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librdmacm, for GPUCHECK_RDMACM_LIB, in whose rdma_listen() strangers ask for
 * a connection before anybody else can: at $STRANGER_TO, an IPv4 address of
 * this machine.  Linked with the real one, which has everything else.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "probes/dl/verbs.h"

#define DECLARE(type, name, args) extern type rdma_##name args;
#define DECLARE_NEW(version, type, name, args) DECLARE(type, name, args)
RDMACM_FUNCTIONS(DECLARE, DECLARE_NEW)

static void next(struct rdma_event_channel *channel)
{
	struct rdmacm_event *event;

	if (rdma_get_cm_event(channel, &event) == 0) {
		rdma_ack_cm_event(event);
	}
}

/** It never hears the answer; what it has ends with the process. */
static void ask(struct sockaddr_in *to, const void *word, size_t n)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdmacm_param param = {
		.private_data = word, .private_data_len = (uint8_t)n,
		.retry_count = 7, .rnr_retry_count = 7, .qp_num = 99,
	};
	struct rdma_cm_id *id;

	if (channel == NULL ||
	    rdma_create_id(channel, &id, NULL, RDMACM_PS_TCP) != 0 ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)to, 2000) != 0) {
		return;
	}
	next(channel);
	if (rdma_resolve_route(id, 2000) == 0) {
		next(channel);
		rdma_connect(id, &param);
	}
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int (*listen)(struct rdma_cm_id *, int);
	void *real = dlvsym(RTLD_NEXT, "rdma_listen", "RDMACM_1.0");
	int rc;

	memcpy(&listen, &real, sizeof(listen));
	rc = listen(id, backlog);
	to.sin_port = rdma_get_src_port(id);
	if (rc == 0 && inet_pton(AF_INET, getenv("STRANGER_TO"),
				 &to.sin_addr) == 1) {
		ask(&to, NULL, 0);
		ask(&to, "a wrong word", 12);
	}
	return rc;
}
