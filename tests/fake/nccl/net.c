/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fake/nccl/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_rule(struct net *net, const char *word, const char *rest)
{
	static const char *const words[] = { "hang", "error", "crash",
					     "abort", "port", "slow" };
	struct net_rule *r = &net->rules[net->n_rules];
	size_t i = 0;

	while (i < 6 && strcmp(word, words[i]) != 0) {
		i++;
	}
	if (i == 6 || net->n_rules == 16 ||
	    sscanf(rest, " %15[^- ]-%15s %lf %63s", r->from, r->to, &r->share,
		   r->unless) < (i == 5 ? 3 : 2) ||
	    (i != 5 && r->share != 0)) {
		return false;
	}
	snprintf(r->what, sizeof(r->what), "%s", word);
	net->n_rules++;
	return true;
}

static bool take_line(struct net *net, const char *line)
{
	char word[16] = "";
	int len = 0;
	const char *rest;

	sscanf(line, " %15s%n", word, &len);
	rest = line + len;
	if (word[0] == '\0' || word[0] == '#') {
		return true;
	}
	if (strcmp(word, "network") == 0) {
		return sscanf(rest, " %31[^\n]", net->network) == 1;
	}
	if (strcmp(word, "gpus") == 0) {
		return sscanf(rest, "%d", &net->gpus) == 1 && net->gpus > 0;
	}
	if (strcmp(word, "nics") == 0) {
		return sscanf(rest, "%d %31s", &net->nics, net->nic) >= 1 &&
		       net->nics > 0 && net->nics <= NET_NICS;
	}
	if (strcmp(word, "rate") == 0) {
		return sscanf(rest, "%lf", &net->rate_GB_s) == 1;
	}
	if (strcmp(word, "mnnvl") == 0) {
		return sscanf(rest, "%d", &net->mnnvl) == 1;
	}
	if (strcmp(word, "no_gdr") == 0 || strcmp(word, "rail_only") == 0) {
		*(word[0] == 'n' ? &net->no_gdr : &net->rail_only) = true;
		return true;
	}
	if (strcmp(word, "info") == 0 || strcmp(word, "warn") == 0) {
		if (net->n_says == 32) {
			return false;
		}
		snprintf(net->says[net->n_says++], sizeof(net->says[0]),
			 "%s%.150s", word[0] == 'i' ? "INFO" : "WARN", rest);
		return true;
	}
	return take_rule(net, word, rest);
}

int net_parse(const char *text, struct net *net)
{
	int number = 0;

	*net = (struct net){ .network = "IB", .gpus = 8, .nic = "mlx5_" };
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");
		char line[256];

		number++;
		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		if (!take_line(net, line)) {
			return number;
		}
		text += len + (text[len] == '\n');
	}
	net->nics = net->nics > 0 ? net->nics : net->gpus;
	return 0;
}

int net_nic_of(const struct net *net, struct net_rank r)
{
	return r.gpu % net->gpus * net->nics / net->gpus;
}

/* A rank of @src's node whose NIC has @dst's number. */
static int relay_of(const struct net *net, const struct net_rank *ranks, int n,
		    int src, int dst)
{
	for (int r = 0; r < n; r++) {
		if (ranks[r].node == ranks[src].node &&
		    net_nic_of(net, ranks[r]) == net_nic_of(net, ranks[dst])) {
			return r;
		}
	}
	return -1;
}

struct net_way net_way(const struct net *net, const struct net_rank *ranks,
		       int n, int src, int dst, bool pxn)
{
	struct net_rank s = ranks[src], d = ranks[dst];
	struct net_way way = { .nic = net_nic_of(net, s), .relay = src };

	if (s.node == d.node) {
		way.kind = NET_P2P;
	} else if (net->mnnvl > 0 &&
		   s.node / net->mnnvl == d.node / net->mnnvl) {
		way.kind = NET_NVLINK;
	} else if (way.nic == net_nic_of(net, d)) {
		way.kind = NET_NIC;
	} else if (pxn && relay_of(net, ranks, n, src, dst) >= 0) {
		way.kind = NET_RELAYED;
		way.relay = relay_of(net, ranks, n, src, dst);
		way.nic = net_nic_of(net, d);
	} else {
		way.kind = net->rail_only ? NET_CUT : NET_NIC;
	}
	return way;
}

static bool is_named(const char *name, struct net_rank r)
{
	char own[32];

	snprintf(own, sizeof(own), "%d:%d", r.node, r.gpu);
	return strcmp(name, "*") == 0 || strcmp(name, own) == 0;
}

/* The first rule for them: one with a share if @slow, else another. */
static const struct net_rule *find_rule(const struct net *net, bool slow,
					struct net_rank from,
					struct net_rank to)
{
	for (int i = 0; i < net->n_rules; i++) {
		const struct net_rule *r = &net->rules[i];

		if (is_named(r->from, from) && is_named(r->to, to) &&
		    (r->share > 0) == slow) {
			return r;
		}
	}
	return NULL;
}

const char *net_rule(const struct net *net, struct net_rank from,
		     struct net_rank to)
{
	const struct net_rule *r = find_rule(net, false, from, to);

	return r ? r->what : "";
}

double net_share(const struct net *net, struct net_rank from,
		 struct net_rank to)
{
	const struct net_rule *r = find_rule(net, true, from, to);
	char name[64] = "";
	const char *value, *now;

	if (!r || r->unless[0] == '\0') {
		return r ? r->share : 1;
	}
	value = strchr(r->unless, '=');
	snprintf(name, sizeof(name), "%.*s",
		 (int)strcspn(r->unless, "="), r->unless);
	now = getenv(name);
	return now && value && strcmp(now, value + 1) != 0 ? r->share : 1;
}

void net_via(const struct net *net, struct net_way way, bool receives,
	     char *buf, size_t size)
{
	bool gdr = !net->no_gdr && strcmp(net->network, "Socket") != 0;
	char relay[16] = "";

	if (way.kind == NET_P2P || way.kind == NET_NVLINK) {
		snprintf(buf, size, "P2P/%s", net->mnnvl > 0 ? "MNNVL" :
							       "CUMEM");
		return;
	}
	if (way.kind == NET_RELAYED && !receives) {
		snprintf(relay, sizeof(relay), "(%d)", way.relay);
	}
	snprintf(buf, size, "NET/%s/%d%s%s/Shared", net->network, way.nic,
		 relay, gdr ? "/GDRDMA" : "");
}

int64_t net_take(const struct net *net, atomic_llong *free_ns, int64_t now_ns,
		 uint64_t bytes)
{
	long long was = atomic_load(free_ns), end;

	if (net->rate_GB_s <= 0) {
		return now_ns;
	}
	do {
		end = (was > now_ns ? was : now_ns) +
		      (long long)((double)bytes / net->rate_GB_s);
	} while (!atomic_compare_exchange_weak(free_ns, &was, end));
	return end;
}
