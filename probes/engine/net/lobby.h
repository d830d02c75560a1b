/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_LOBBY_H
#define PROBES_ENGINE_NET_LOBBY_H

#include <stdint.h>

#include <uv.h>

/**
 * Data connections that came before the task they are for: the two ends of a
 * pair get their orders by different ways, so the one that dials may be early.
 * They wait here for at most LOBBY_NS.
 */
#define LOBBY_NS  (INT64_C(5) * 1000000000)
#define LOBBY_MAX 256

struct lobby {
	struct {
		uv_tcp_t *conn;
		char nonce[33];
		int64_t until_ns;
	} seats[LOBBY_MAX];
	int n;
};

/** Keep @conn for the task of @nonce; dropped when the lobby is full. */
void lobby_add(struct lobby *l, uv_tcp_t *conn, const char *nonce);
/** A connection for @nonce, now the caller's, or NULL. */
uv_tcp_t *lobby_take(struct lobby *l, const char *nonce);
/** Drop those that waited since before @now_ns; INT64_MAX drops all. */
void lobby_expire(struct lobby *l, int64_t now_ns);

#endif
