/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/inventory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/host/facts.h"
#include "probes/host/interface.h"
#include "probes/host/lldp.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/node_facts.h"
#include "probes/host/pcie.h"
#include "probes/host/sysfile.h"

#define FILE_TEXT 1024

extern char **environ;

static void read_names(json_t *out, json_t *facts, const char *root)
{
	char text[FILE_TEXT], host[256] = "";
	struct utsname u;

	gethostname(host, sizeof(host) - 1);
	json_object_set_new(out, "host", json_string(host));
	facts_add(facts, "node", "host", host, "", "gethostname");
	sysfile_read(text, sizeof(text), "%s/proc/sys/kernel/random/boot_id",
		     root);
	json_object_set_new(out, "boot_id", json_string(text));
	facts_add(facts, "node", "boot_id", text, "", "/proc");
	if (uname(&u) == 0) {
		facts_add(facts, "node", "kernel", u.release, "", "uname");
	}
}

static void read_driver(json_t *out, json_t *facts, const char *root)
{
	static const char file[] = "/proc/driver/nvidia/version";
	char text[FILE_TEXT], version[64];

	sysfile_read(text, sizeof(text), "%s%s", root, file);
	inventory_driver_version(text, version, sizeof(version));
	if (version[0] != '\0') {
		json_object_set_new(out, "driver", json_string(version));
		facts_add(facts, "node", "driver", version, "", file);
	}
}

static const struct {
	int resource;
	const char *soft, *hard;	/* names of the facts */
	const char *unit;
} limits[] = {
	{ RLIMIT_MEMLOCK, "memlock_soft", "memlock_hard", "B" },
	{ RLIMIT_NOFILE, "nofile_soft", "nofile_hard", "" },
};

static void add_limit(json_t *facts, const char *fact, rlim_t value,
		      const char *unit)
{
	if (value == RLIM_INFINITY) {
		facts_add(facts, "node", fact, "unlimited", "", "getrlimit");
	} else {
		facts_addf(facts, "node", fact, unit, "getrlimit", "%llu",
			   (unsigned long long)value);
	}
}

static void read_limits(json_t *facts)
{
	struct rlimit r;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (getrlimit(limits[i].resource, &r) == 0) {
			add_limit(facts, limits[i].soft, r.rlim_cur,
				  limits[i].unit);
			add_limit(facts, limits[i].hard, r.rlim_max,
				  limits[i].unit);
		}
	}
}

static void add_bus(json_t *j, const char *root, const struct port *p)
{
	struct pcie_place place;
	const char *last;

	pcie_find_hca(root, p->hca, &place);
	last = strrchr(place.path, '/');
	if (last != NULL) {
		json_object_set_new(j, "bus", json_text(last + 1));
	}
}

static json_t *port_json(const char *root, const struct port *p)
{
	double line_GB_s = port_line_GB_s(p);
	json_t *pkeys = json_array();
	json_t *j;

	for (int i = 0; i < p->n_pkeys; i++) {
		json_array_append_new(pkeys, json_integer(p->pkeys[i]));
	}
	j = json_pack("{s:s,s:s,s:b,s:s,s:s,s:o}", "name", p->name, "state",
		      p->state, "software", p->software, "link_layer",
		      p->link_layer, "subnet", p->subnet, "pkeys", pkeys);
	if (isfinite(line_GB_s)) {
		json_object_set_new(j, "line_GB_s", json_real(line_GB_s));
	}
	if (isfinite(p->rate_Gb_s)) {
		json_object_set_new(j, "rate_Gb_s", json_real(p->rate_Gb_s));
	}
	add_bus(j, root, p);
	return j;
}

static void add_ports(json_t *out, json_t *facts, const char *root,
		      const struct port *ports, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_array_append_new(list, port_json(root, &ports[i]));
		port_facts(&ports[i], facts);
	}
	json_object_set_new(out, "ports", list);
}

/* An interface has an entry for each of its addresses. */
static bool is_first(const struct interface *list, size_t i)
{
	size_t k = 0;

	while (strcmp(list[k].name, list[i].name) != 0) {
		k++;
	}
	return k == i;
}

/* What an interface is, whatever addresses it has. */
static void add_interface(json_t *facts, const char *root,
			  const struct interface *i)
{
	double line_GB_s = interface_line_GB_s(root, i->name);

	if (i->mtu_B > 0) {
		facts_addf(facts, i->name, "mtu", "B", "getifaddrs", "%lld",
			   (long long)i->mtu_B);
	}
	if (isfinite(line_GB_s)) {
		facts_addf(facts, i->name, "line_rate", "GB/s",
			   "/sys/class/net", "%.6g", line_GB_s);
	}
	if (interface_is_ipoib(root, i->name)) {
		facts_add(facts, i->name, "ipoib", "yes", "",
			  "/sys/class/net");
	}
}

/* Of the machine that runs; a recorded one (@root) has none. */
static void read_interfaces(json_t *out, json_t *facts, const char *root,
			    const struct port *ports, size_t n_ports)
{
	struct interface *list = calloc(INTERFACE_MAX, sizeof(*list));
	json_t *entries = json_array();
	size_t n = list != NULL && root[0] == '\0' ?
			   interface_list(list, INTERFACE_MAX) :
			   0;
	char ip[IP_TEXT];

	for (size_t i = 0; i < n; i++) {
		json_array_append_new(entries, interface_json(&list[i]));
		facts_addf(facts, list[i].name, "address", "", "getifaddrs",
			   "%s/%d, mtu %lld, %s",
			   ip_text(&list[i].net.ip, ip, sizeof(ip)),
			   list[i].net.prefix, (long long)list[i].mtu_B,
			   list[i].state);
		if (is_first(list, i)) {
			add_interface(facts, root, &list[i]);
		}
	}
	port_route_facts(ports, n_ports, list, n, facts);
	json_object_set_new(out, "interfaces", entries);
	free(list);
}

/* Of libraries that carry a job's data; what else stands in an environment
 * may be a secret. */
static bool is_setting(const char *variable)
{
	return str_starts(variable, "NCCL_") || str_starts(variable, "UCX_");
}

static void read_env(json_t *out, json_t *facts)
{
	json_t *env = json_object();
	char name[128];

	for (char **at = environ; *at != NULL; at++) {
		const char *equals = strchr(*at, '=');

		if (!is_setting(*at) || equals == NULL ||
		    (size_t)(equals - *at) >= sizeof(name)) {
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(equals - *at), *at);
		/* null without memory or valid UTF-8: then it is left out */
		json_object_set_new(env, name, json_string(equals + 1));
		facts_add(facts, "node", name, equals + 1, "", "environment");
	}
	json_object_set_new(out, "env", env);
}

/* What counts for NCCL, whose version nobody knows here. */
static void read_nccl(json_t *out, json_t *facts, const char *root)
{
	json_t *conf = nccl_conf_read(root, 0);

	nccl_conf_facts(conf, root, facts);
	json_object_set_new(out, "nccl", conf);
}

size_t inventory_read_host(json_t *out, const char *root,
			   struct port ports[PORT_MAX])
{
	json_t *facts = json_array();
	size_t n = port_list(root, ports, PORT_MAX);

	read_names(out, facts, root);
	read_driver(out, facts, root);
	read_limits(facts);
	add_ports(out, facts, root, ports, n);
	read_interfaces(out, facts, root, ports, n);
	lldp_facts(root, ports, n, facts);
	read_nccl(out, facts, root);
	node_facts(root, facts);
	read_env(out, facts);
	json_object_set_new(out, "facts", facts);
	return n;
}

void inventory_driver_version(const char *text, char *buf, size_t size)
{
	const char *at = text;

	/* the first word like 580.159.04; "x86_64" is none */
	while (*at != '\0') {
		size_t len = strcspn(at, " \t\n");

		if (strspn(at, "0123456789.") == len &&
		    isdigit((unsigned char)*at) &&
		    memchr(at, '.', len) != NULL) {
			snprintf(buf, size, "%.*s", (int)len, at);
			return;
		}
		at += len;
		at += strspn(at, " \t\n");
	}
	buf[0] = '\0';
}
