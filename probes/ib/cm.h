/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_CM_H
#define PROBES_IB_CM_H

#include "probes/ib/link.h"

/**
 * --rdma-cm: the connection manager finds the way between two ports and opens
 * the connection, as it does for ib_send_bw -R and for storage.  It goes by IP
 * addresses, so it may fail where queue pairs that are set up by hand work, and
 * says at which step.  Queue pairs remain our own; they take their path from
 * it.
 *
 * The lead listens, the other end calls; each call returns 0, or -1 with @r.
 */

/** The address of an InfiniBand port, of IPoIB; family 0: it has none.  That of
 *  a RoCE port is the GID of each pair. */
struct ip_addr cm_address(const struct verbs_device *d);

/** Can it be used for @d at all?  0, or -1 with @e and *@code. */
int cm_check(const struct verbs_device *d, const char **code, struct err *e);

/** The lead: listen, for the peer to be told of l->own.cm_port. */
int cm_listen(struct xport_link *l, struct xport_result *r);
/** The other end: find the way to the lead and ask it for a connection, without
 *  waiting for its answer. */
int cm_call(struct xport_link *l, struct xport_result *r);
/** The lead: wait until the other end asks, whoever else does; the other end:
 *  until there is an answer.  Then the path is known. */
int cm_hear(struct xport_link *l, bool lead, int64_t deadline_ns,
	    struct xport_result *r);
/** Both ends, queue pairs being ready: the connection stands.  The lead waits
 *  until the other end says so. */
int cm_finish(struct xport_link *l, bool lead, int64_t deadline_ns,
	      struct xport_result *r);

struct ibv_ah_attr;
/** The path that cm_hear() has found. */
const struct ibv_ah_attr *cm_path(const struct cm *cm);

/** Safe on NULL. */
void cm_free(struct cm *cm);

#endif
