/* SPDX-License-Identifier: BSD-3-Clause */
/* The largest packet that passes whole, once it is known that small ones do. */
#include "probes/ping/private.h"

#include <stddef.h>
#include <string.h>

/* ---- mtu ----------------------------------------------------------------- */

/* Sizes that networks are set to, likeliest first. */
static const int32_t usual[] = { 1500, 9000, 1450, 4092, 2044, 1280 };

void ping_mtu_init(struct ping_mtu *m, int32_t passes, int32_t limit,
		   int32_t peer)
{
	*m = (struct ping_mtu){
		.passes = passes,
		.fails = limit + 1,
		.limit = limit,
		.peer = peer,
	};
}

static bool between(const struct ping_mtu *m, int32_t size)
{
	return size > m->passes && size < m->fails;
}

int32_t ping_mtu_next(struct ping_mtu *m)
{
	bool is_usual = m->passes == m->peer;
	int32_t least = 0; /* usual size that may pass or fail; 0 = none */

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
		is_usual |= usual[i] == m->passes;
		if (between(m, usual[i]) && (least == 0 || usual[i] < least)) {
			least = usual[i];
		}
	}
	if (m->fails - m->passes <= 1) {
		m->size = 0;
	} else if (m->fails == m->limit + 1) {
		m->size = m->limit;
	} else if (m->check) {
		m->size = least == 0 && !m->sure ? m->limit : least;
	} else if (is_usual) {
		m->size = m->passes + 1; /* just that, as a rule */
	} else {
		m->size = m->passes + (m->fails - m->passes) / 2;
		for (size_t i = sizeof(usual) / sizeof(*usual); i-- > 0;) {
			m->size = between(m, usual[i]) ? usual[i] : m->size;
		}
		m->size = between(m, m->peer) ? m->peer : m->size;
	}
	return m->size;
}

void ping_mtu_result(struct ping_mtu *m, bool passed)
{
	if (passed && m->size > m->passes) {
		m->passes = m->size;
		/* it was chance that it did not */
		m->fails = m->size < m->fails ? m->fails : m->size + 1;
	} else if (!passed && m->size < m->fails) {
		m->fails = m->size;
	} else if (!passed) {
		m->sure = true;
	}
}

/* ---- sizing -------------------------------------------------------------- */

/*
 * Large packets that may be on their way: their answers have to find room in
 * the socket even where this process does not get to run for a while.  One that
 * has no answer after this long has left its place.
 */
#define FLIGHT_BYTES (128 * 1024)
#define FLIGHT_NS    (50 * NS_PER_MS)

enum ping_method ping_method_of(const struct ping_child *c,
				const struct ping_path *p)
{
	bool v6 = c->mesh.ends[p->dst].at.net.ip.family == AF_INET6;

	return c->tcp_fds != NULL ? PING_TCP : c->method[v6];
}

/*
 * By --find-mtu all that have answers.  Without it a wire has to carry what its
 * ends are set to: where chance loses packets one large one proves nothing,
 * what routers do is not known, and agents that answer in place of the kernel
 * have no room for so much.
 */
static bool is_sized(const struct ping_child *c, const struct ping_path *p,
		     const struct ping_flow *flow)
{
	enum ping_method method = ping_method_of(c, p);
	int own = c->own[p->own].end;

	if (flow->received == 0 || method == PING_TCP) {
		return false;
	}
	return c->spec.df ||
	       (flow->received == flow->sent && method != PING_UDP &&
		ping_is_near(&c->mesh, own, p->dst) &&
		strcmp(c->mesh.ends[own].at.name, "lo") != 0);
}

void ping_size_send(struct ping_child *c, int64_t now_ns, int64_t *wake_ns)
{
	while (c->waiting.n > 0) {
		uint32_t path = c->waiting.paths[c->waiting.at];
		struct ping_path *p = &c->paths[path];
		int n = FLIGHT_BYTES / p->mtu.size, i = 0;
		int64_t first_ns = INT64_MAX;

		n = n < 1 ? 1 : n > PING_PLACES ? PING_PLACES : n;
		while (i < n && now_ns < c->places[i].until_ns) {
			if (c->places[i].until_ns < first_ns) {
				first_ns = c->places[i].until_ns;
			}
			i++;
		}
		if (i == n) {
			*wake_ns = first_ns < *wake_ns ? first_ns : *wake_ns;
			return;
		}
		c->places[i] = (struct ping_place){
			.path = path, .until_ns = now_ns + FLIGHT_NS,
		};
		ping_ring_pop(&c->waiting, c->n_paths);
		ping_engine_more(&c->engine, path, 1);
		*wake_ns = 0;
	}
}

bool ping_size_next(struct ping_child *c, uint32_t path)
{
	struct ping_path *p = &c->paths[path];
	const struct ping_flow *flow = &c->engine.flows[path];
	const struct ping_end *dst = &c->mesh.ends[p->dst];
	int passes = PING_MARK_BYTES + ping_overhead(dst->at.net.ip.family);
	int64_t limit, peer = dst->at.mtu_B;

	if (p->sizing) {
		for (int i = 0; i < PING_PLACES; i++) {
			if (c->places[i].path == path) {
				c->places[i].until_ns = 0;
			}
		}
		ping_mtu_result(&p->mtu, flow->received > p->answers);
	} else if (is_sized(c, p, flow)) {
		/* only a packet that must not be fragmented proves that its
		 * size passes; without --find-mtu the question is whether what
		 * both ends can do passes */
		limit = c->mesh.ends[c->own[p->own].end].at.mtu_B;
		limit = !c->spec.df && peer > 0 && peer < limit ? peer : limit;
		p->sizing = limit > passes; /* or there is nothing to try */
		p->counted = *flow;
		ping_mtu_init(&p->mtu, passes, (int32_t)limit, (int32_t)peer);
		p->mtu.check = !c->spec.df;
	}
	if (!p->sizing) {
		return false;
	}
	if (ping_mtu_next(&p->mtu) > 0) {
		p->answers = flow->received;
		ping_ring_push(&c->waiting, c->n_paths, path);
		return true;
	}
	/* what passes as it should is not measured further */
	p->sights.mtu_B = c->spec.df || p->mtu.passes < p->mtu.limit ?
				  p->mtu.passes : 0;
	return false;
}
