/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/pending.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "probes/engine/net/door.h"

void pending_add(struct pending_conns *l, uv_tcp_t *conn, const char *nonce)
{
	if (l->n == PENDING_MAX) {
		door_drop(conn);
		return;
	}
	l->conns[l->n].conn = conn;
	l->conns[l->n].until_ns = clock_now_ns() + PENDING_NS;
	STR_COPY(l->conns[l->n].nonce, nonce);
	l->n++;
}

static uv_tcp_t *take(struct pending_conns *l, int i)
{
	uv_tcp_t *conn = l->conns[i].conn;

	l->conns[i] = l->conns[--l->n];
	return conn;
}

uv_tcp_t *pending_take(struct pending_conns *l, const char *nonce)
{
	for (int i = 0; i < l->n; i++) {
		if (strcmp(l->conns[i].nonce, nonce) == 0) {
			return take(l, i);
		}
	}
	return NULL;
}

void pending_expire(struct pending_conns *l, int64_t now_ns)
{
	for (int i = l->n - 1; i >= 0; i--) {
		if (l->conns[i].until_ns < now_ns) {
			door_drop(take(l, i));
		}
	}
}
