/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/lldp.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/host/facts.h"

#define TEXT_MAX (1024 * 1024)
#define PATIENCE_NS NS_PER_S

/* ---- what it prints ------------------------------------------------------ */

/* The first of the array @key of @obj: in json0 each thing is an array. */
static const json_t *first_of(const json_t *obj, const char *key)
{
	return json_array_get(json_object_get(obj, key), 0);
}

static bool take(const json_t *at, struct lldp_neighbour *n)
{
	const json_t *chassis = first_of(at, "chassis");
	const json_t *port = first_of(at, "port");
	const char *name = json_member(first_of(chassis, "name"), "value");
	const char *mac = json_member(first_of(chassis, "id"), "value");

	STR_COPY(n->interface, json_member(at, "name"));
	STR_COPY(n->name, name[0] != '\0' ? name : mac);
	STR_COPY(n->port, json_member(first_of(port, "id"), "value"));
	/* a MAC says nothing to who looks for a cable */
	if (strcmp(json_member(first_of(port, "id"), "type"), "mac") == 0) {
		STR_COPY(n->port, json_member(first_of(port, "descr"),
					      "value"));
	}
	return n->interface[0] != '\0' && n->name[0] != '\0';
}

static bool is_listed(const struct lldp_neighbour *list, size_t n)
{
	size_t i = 0;

	while (i < n && strcmp(list[i].interface, list[n].interface) != 0) {
		i++;
	}
	return i < n;
}

size_t lldp_parse(const char *text, size_t len,
		  struct lldp_neighbour list[LLDP_MAX])
{
	json_t *json = json_parse(text, len, NULL);
	const json_t *interface;
	size_t n = 0, i;

	json_array_foreach(json_object_get(first_of(json, "lldp"), "interface"),
			   i, interface) {
		if (n < LLDP_MAX && take(interface, &list[n]) &&
		    !is_listed(list, n)) {
			n++;
		}
	}
	json_decref(json);
	return n;
}

/* ---- facts --------------------------------------------------------------- */

static void add(json_t *facts, const char *scope, const char *name,
		const char *port)
{
	facts_add(facts, scope, "switch", name, "", "lldpctl");
	if (port[0] != '\0') {
		facts_add(facts, scope, "switch_port", port, "", "lldpctl");
	}
}

/* Is @interface @netdev, or in the bond that is? */
static bool carries(const char *root, const char *interface,
		    const char *netdev)
{
	char path[PATH_MAX], to[PATH_MAX];
	const char *slash;
	ssize_t n;

	if (strcmp(interface, netdev) == 0) {
		return true;
	}
	snprintf(path, sizeof(path), "%.2000s/sys/class/net/%s/master", root,
		 interface);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	slash = strrchr(to, '/');
	return netdev[0] != '\0' && slash != NULL &&
	       strcmp(slash + 1, netdev) == 0;
}

static void add_port(const char *root, const struct port *p,
		     const struct lldp_neighbour *list, size_t n, json_t *facts)
{
	struct str names = STR_INIT, ports = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		if (carries(root, list[i].interface, p->netdev)) {
			str_addf(&names, "%s%s", names.len > 0 ? ", " : "",
				 list[i].name);
			str_addf(&ports, "%s%s", ports.len > 0 ? ", " : "",
				 list[i].port);
		}
	}
	if (names.len > 0) {
		add(facts, p->name, str_text(&names), str_text(&ports));
	}
	str_release(&names);
	str_release(&ports);
}

/* Only root and lldpd's group may ask: others would wait for nothing. */
static void ask(struct str *out)
{
	static const char *const sockets[] = { "/run/lldpd.socket",
					       "/run/lldpd/lldpd.socket" };
	char *const argv[] = { (char *)"lldpctl", (char *)"-f",
			       (char *)"json0", NULL };
	struct spawn_status st;

	for (size_t i = 0; i < 2; i++) {
		if (access(sockets[i], R_OK | W_OK) == 0) {
			spawn_capture(argv, out, NULL, TEXT_MAX,
				      clock_now_ns() + PATIENCE_NS, &st, NULL);
			return;
		}
	}
}

void lldp_facts(const char *root, const struct port *ports, size_t n,
		json_t *facts)
{
	struct lldp_neighbour *list = calloc(LLDP_MAX, sizeof(*list));
	struct str text = STR_INIT;
	char path[PATH_MAX];
	size_t n_list;

	if (list == NULL) {
		return;
	}
	if (root[0] == '\0') {
		ask(&text);
	} else {
		snprintf(path, sizeof(path), "%.2000s/" LLDP_ANSWER, root);
		str_add_file(&text, open(path, O_RDONLY | O_CLOEXEC), TEXT_MAX);
	}
	n_list = lldp_parse(str_text(&text), text.len, list);
	for (size_t i = 0; i < n_list; i++) {
		add(facts, list[i].interface, list[i].name, list[i].port);
	}
	for (size_t i = 0; i < n; i++) {
		add_port(root, &ports[i], list, n_list, facts);
	}
	str_release(&text);
	free(list);
}
