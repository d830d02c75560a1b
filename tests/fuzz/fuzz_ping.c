/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ping reads from others, each by its parser: the first byte says which.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "probes/host/interface.h"
#include "probes/ping/private.h"

static void check(bool good)
{
	if (!good) {
		abort();
	}
}

static void packet(const uint8_t *data, size_t size)
{
	struct ping_mark mark;

	for (int k = 0; k < 8; k++) {
		sa_family_t family = k & 1 ? AF_INET6 : AF_INET;

		if (ping_icmp_read(family, k & 2, k & 4, data, size, &mark)) {
			check(mark.type == PING_ECHO);
		}
	}
	if (ping_mark_read(data, size, &mark)) {
		check(mark.type < PING_MARK_TYPES);
	}
}

static void neighbours(const uint8_t *data, size_t size)
{
	struct ping_neighs all = { 0 };

	if (ping_neigh_parse(&all, (void *)(uintptr_t)data, size, NULL) >= 0) {
		for (size_t i = 0; i < all.n; i++) {
			check(all.list[i].mac_len <= INTERFACE_MAC);
		}
	}
	ping_neigh_release(&all);
}

static void hosts(const uint8_t *data, size_t size)
{
	struct hosts h;

	if (hosts_parse((const char *)data, size, &h, NULL) == 0) {
		check(h.n > 0 && h.n <= HOSTS_MAX);
		for (size_t i = 0; i < h.n; i++) {
			check(h.names[i][0] != '-' && h.names[i][0] != '\0');
		}
		hosts_release(&h);
	}
}

static void mesh(const uint8_t *data, size_t size)
{
	json_t *json = json_parse((const char *)data, size, NULL);
	struct ping_mesh m;

	if (json && ping_mesh_parse(json, &m, NULL) == 0) {
		for (int i = 0; i < m.n_nodes; i++) {
			ping_mesh_paths(&m, i);
		}
		ping_mesh_release(&m);
	}
	json_decref(json);
}

static void address(const uint8_t *data, size_t size)
{
	char text[256], back[IP_TEXT + 8];
	struct ip_net net, again;

	if (size >= sizeof(text) || memchr(data, '\0', size)) {
		return;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	if (ip_net_parse(text, &net, NULL) == 0) {
		ip_net_text(&net, back, sizeof(back));
		check(ip_net_parse(back, &again, NULL) == 0);
		check(again.prefix == net.prefix && ip_in(&net.ip, &again));
	}
}

static void (*const parsers[])(const uint8_t *data, size_t size) = {
	packet, neighbours, hosts, mesh, address,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size == 0) {
		return 0;
	}
	/* a copy that ends where the bytes end */
	copy = malloc(size);
	if (copy) {
		memcpy(copy, data + 1, size - 1);
		parsers[data[0] % (sizeof(parsers) / sizeof(parsers[0]))](
			copy, size - 1);
	}
	free(copy);
	return 0;
}
