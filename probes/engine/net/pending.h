/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_PENDING_H
#define PROBES_ENGINE_NET_PENDING_H

#include <stdint.h>

#include <uv.h>

/**
 * Data connections that came before the task they are for: the two ends of a
 * pair get their orders by different ways, so the one that dials may be early.
 * They wait here for at most PENDING_NS.
 */
#define PENDING_NS  (INT64_C(5) * 1000000000)
#define PENDING_MAX 256

struct pending_conns {
	struct {
		uv_tcp_t *conn;
		char nonce[33];
		int64_t until_ns;
	} conns[PENDING_MAX];
	int n;
};

/** Keep @conn for the task of @nonce; dropped when PENDING_MAX wait. */
void pending_add(struct pending_conns *l, uv_tcp_t *conn, const char *nonce);
/** A connection for @nonce, now the caller's, or NULL. */
uv_tcp_t *pending_take(struct pending_conns *l, const char *nonce);
/** Drop those that waited since before @now_ns; INT64_MAX drops all. */
void pending_expire(struct pending_conns *l, int64_t now_ns);

#endif
