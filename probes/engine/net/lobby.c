/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/lobby.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "probes/engine/net/door.h"

void lobby_add(struct lobby *l, uv_tcp_t *conn, const char *nonce)
{
	if (l->n == LOBBY_MAX) {
		door_drop(conn);
		return;
	}
	l->seats[l->n].conn = conn;
	l->seats[l->n].until_ns = clock_now_ns() + LOBBY_NS;
	STR_COPY(l->seats[l->n].nonce, nonce);
	l->n++;
}

static uv_tcp_t *take(struct lobby *l, int i)
{
	uv_tcp_t *conn = l->seats[i].conn;

	l->seats[i] = l->seats[--l->n];
	return conn;
}

uv_tcp_t *lobby_take(struct lobby *l, const char *nonce)
{
	for (int i = 0; i < l->n; i++) {
		if (strcmp(l->seats[i].nonce, nonce) == 0) {
			return take(l, i);
		}
	}
	return NULL;
}

void lobby_expire(struct lobby *l, int64_t now_ns)
{
	for (int i = l->n - 1; i >= 0; i--) {
		if (l->seats[i].until_ns < now_ns) {
			door_drop(take(l, i));
		}
	}
}
