/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ping/private.h"

#include <stddef.h>

/** Sizes that networks are set to, likeliest first. */
static const int32_t usual[] = { 1500, 9000, 1450, 4092, 2044, 1280 };

void ping_mtu_init(struct ping_mtu *m, int32_t passes, int32_t limit,
		   int32_t peer)
{
	*m = (struct ping_mtu){
		.passes = passes, .fails = limit + 1,
		.limit = limit, .peer = peer,
	};
}

static bool is_usual(const struct ping_mtu *m, int32_t size)
{
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
		if (usual[i] == size) {
			return true;
		}
	}
	return size == m->peer;
}

static bool between(const struct ping_mtu *m, int32_t size)
{
	return size > m->passes && size < m->fails;
}

/* The smallest usual size that is not known to pass or to fail; 0 = none. */
static int32_t next_usual(const struct ping_mtu *m)
{
	int32_t least = 0;

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
		if (between(m, usual[i]) && (least == 0 || usual[i] < least)) {
			least = usual[i];
		}
	}
	return least;
}

int32_t ping_mtu_next(struct ping_mtu *m)
{
	if (m->fails - m->passes <= 1) {
		m->size = 0;
	} else if (m->fails == m->limit + 1) {
		m->size = m->limit;
	} else if (m->check) {
		m->size = next_usual(m);
		m->size = m->size == 0 && !m->sure ? m->limit : m->size;
	} else if (is_usual(m, m->passes)) {
		m->size = m->passes + 1;	/* just that, as a rule */
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
