/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "probes/nccl/log.h"

#define ROUTES_MAX 4	/* kinds of path of one direction */
#define NICS_MAX   8	/* of one kind */

/** One kind of path, and the NICs that its channels use. */
struct route {
	char before[NCCL_NET_SIZE + 8];	/* "NET/IB", "P2P/CUMEM" */
	char after[24];		/* "/GDRDMA+PXN" */
	int nics[NICS_MAX];
	int n_nics;
};

/* Return the text after @word, NULL if @text does not begin with it. */
static const char *after(const char *text, const char *word)
{
	return text != NULL && str_starts(text, word) ? text + strlen(word) :
							NULL;
}

/* ---- one channel ------------------------------------------------------ */

/*
 * "Channel 01/1 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA": what follows "via
 * " when the line is about @src -> @dst and is that end's, else NULL.
 */
static const char *via(const char *line, int src, int dst, bool sends)
{
	const char *at = strstr(line, "NCCL INFO Channel ");
	int from, to, len = 0;

	at = at != NULL ? strstr(at, " : ") : NULL;
	if (at == NULL ||
	    sscanf(at, " : %9d[%*[^]]] -> %9d[%*[^]]] %n", &from, &to, &len) !=
		    2 ||
	    len == 0 || from != src || to != dst) {
		return NULL;
	}
	at += len;
	if (str_starts(at, "[receive] ")) {
		return sends ? NULL : after(at, "[receive] via ");
	}
	if (!sends) {
		return NULL;
	}
	return after(str_starts(at, "[send] ") ? at + strlen("[send] ") : at,
		     "via ");
}

static bool parse_route(const char *text, struct route *r)
{
	const char *net = after(text, "NET/");
	int name_len, nic, end = 0;
	size_t len;

	memset(r, 0, sizeof(*r));
	if (net != NULL) {
		/* "IB/0(1)/GDRDMA/Shared": network, NIC, the rank that sends;
		 * the network is the name of its plugin: "AWS Libfabric" */
		name_len = (int)strcspn(net, "/");
		if (name_len == 0 || name_len >= NCCL_NET_SIZE ||
		    sscanf(net + name_len, "/%3d%n", &nic, &end) != 1 ||
		    nic < 0) {
			return false;
		}
		snprintf(r->before, sizeof(r->before), "NET/%.*s", name_len,
			 net);
		r->nics[r->n_nics++] = nic;
		text = net + name_len + end;
		snprintf(r->after, sizeof(r->after), "%s%s",
			 strstr(text, "/GDRDMA") != NULL ? "/GDRDMA" : "",
			 *text == '(' ? "+PXN" : ""); /* by another rank */
		return true;
	}
	/* "SHM/direct/direct" and "P2P/CUMEM/read" say how, not which way */
	len = strcspn(text, "/ ");
	if (after(text, "P2P/") != NULL) {
		len += 1 + strcspn(text + len + 1, "/ ");
	}
	snprintf(r->before, sizeof(r->before), "%.*s",
		 (int)(len < 24 ? len : 24), text);
	return r->before[0] != '\0';
}

/* ---- all channels ------------------------------------------------------- */

static int add_route(struct route *routes, int n, const struct route *new)
{
	int i = 0, k = 0;

	while (i < n && (strcmp(routes[i].before, new->before) != 0 ||
			 strcmp(routes[i].after, new->after) != 0)) {
		i++;
	}
	if (i == n) {
		if (n < ROUTES_MAX) {
			routes[n++] = *new;
		}
		return n;
	}
	while (k < routes[i].n_nics && routes[i].nics[k] != new->nics[0]) {
		k++;
	}
	if (new->n_nics > 0 && k == routes[i].n_nics && k < NICS_MAX) {
		routes[i].nics[routes[i].n_nics++] = new->nics[0];
	}
	return n;
}

static void add_nic_names(const struct nccl_nics *nics, const struct route *r,
			  struct str *out)
{
	const char *net = after(r->before, "NET/");

	/* the plugin IBext_v8 lists its NICs as those of IB */
	if (nics->net[0] == '\0' || after(net, nics->net) == NULL) {
		return;
	}
	for (int i = 0; i < r->n_nics; i++) {
		int nic = r->nics[i];

		if (nic < NCCL_NICS_MAX && nics->name[nic][0] != '\0') {
			str_addf(out, "%s%s", out->len > 0 ? "+" : "",
				 nics->name[nic]);
		}
	}
}

bool nccl_path_find(const char *text, size_t len, int src, int dst, bool sends,
		    const struct nccl_nics *nics, char path[NCCL_PATH_SIZE],
		    char nic[NCCL_NIC_SIZE])
{
	char line[NCCL_LINE];
	struct str paths = STR_INIT, names = STR_INIT;
	struct route routes[ROUTES_MAX], one;
	int n = 0;

	while (nccl_line_next(&text, &len, line)) {
		const char *way = via(line, src, dst, sends);

		if (way != NULL && parse_route(way, &one)) {
			n = add_route(routes, n, &one);
		}
	}
	for (int i = 0; i < n; i++) {
		str_addf(&paths, "%s%s", paths.len > 0 ? "|" : "",
			 routes[i].before);
		for (int k = 0; k < routes[i].n_nics; k++) {
			str_addf(&paths, "%c%d", k == 0 ? '/' : '+',
				 routes[i].nics[k]);
		}
		str_add(&paths, routes[i].after);
		add_nic_names(nics, &routes[i], &names);
	}
	str_copy(path, NCCL_PATH_SIZE, str_text(&paths));
	str_copy(nic, NCCL_NIC_SIZE, str_text(&names));
	str_release(&paths);
	str_release(&names);
	return n > 0;
}

/* ---- NICs --------------------------------------------------------------- */

/* NIC @nic of @nics is called @name, up to one of @stops; false: not that. */
static bool name_nic(struct nccl_nics *nics, int nic, const char *name,
		     const char *stops)
{
	size_t len = strcspn(name, stops);

	if (nic < 0 || nic >= NCCL_NICS_MAX || len == 0) {
		return false;
	}
	/* libfabric names an endpoint of the device */
	if (len > 4 && str_starts(name + len - 4, "-rdm")) {
		len -= 4;
	}
	snprintf(nics->name[nic], NCCL_NIC_SIZE, "%.*s",
		 (int)(len < 48 ? len : 48), name);
	return true;
}

/* Name the NICs of "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB ..."; returns how
 * many there are. */
static int parse_nics(const char *text, struct nccl_nics *nics)
{
	int found = 0, nic, len;

	while ((text = strchr(text, '[')) != NULL) {
		len = 0;
		if (sscanf(text, "[%3d]%n", &nic, &len) == 1 && len > 0) {
			found += name_nic(nics, nic, text + len, ":/ <");
		}
		text++;
	}
	return found;
}

bool nccl_path_nics(const char *text, size_t len, struct nccl_nics *nics)
{
	char line[NCCL_LINE];
	struct nccl_nics listed = { 0 }, hcas = { 0 };

	while (nccl_line_next(&text, &len, line)) {
		struct nccl_nics one = { 0 };
		const char *name = strstr(line, " NET/"), *says;
		int nic, end = 0;
		bool same;

		/* the text of a network: "NET/IB : Using ..." */
		name = name != NULL ? name + strlen(" NET/") : NULL;
		says = name != NULL ? strstr(name, " : ") : NULL;
		if (says == NULL || says - name >= NCCL_NET_SIZE) {
			continue;
		}
		snprintf(one.net, NCCL_NET_SIZE, "%.*s", (int)(says - name),
			 name);
		says += strlen(" : ");
		if (listed.net[0] == '\0' && str_starts(says, "Using ") &&
		    parse_nics(says, &one) > 0) {
			listed = one;
			continue;
		}
		/* "GPU Direct RDMA Enabled for HCA 0 'mlx5_0'": one more, of
		 * any network */
		same = strcmp(hcas.net, one.net) == 0;
		if (sscanf(says, "GPU Direct RDMA %*8s for HCA %3d '%n", &nic,
			   &end) == 1 && end > 0 &&
		    name_nic(same ? &hcas : &one, nic, says + end, "'")) {
			hcas = same ? hcas : one;
		}
	}
	/* these are of the network that is used */
	if (hcas.net[0] != '\0') {
		listed = hcas;
	}
	if (listed.net[0] != '\0') {
		*nics = listed;
	}
	return listed.net[0] != '\0';
}
