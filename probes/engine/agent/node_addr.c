/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/agent/node_addr.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/ip.h"

/* Of one node; with comments and lists of features it may be long. */
#define TEXT_MAX (64 * 1024)

bool node_addr_parse(const char *text, char *host, size_t size)
{
	static const char key[] = "NodeAddr=";
	const char *at = text;
	size_t n;

	/* at the begin of a word: others may end so */
	while ((at = strstr(at, key)) != NULL && at > text &&
	       strchr(" \t\n", at[-1]) == NULL) {
		at++;
	}
	at = at != NULL ? at + strlen(key) : "";
	n = strcspn(at, " \t\r\n");
	if (n == 0 || n >= size) {
		return false;
	}
	snprintf(host, size, "%.*s", (int)n, at);
	return true;
}

static bool is_loopback(const struct sockaddr_storage *sa)
{
	const struct ip_addr ip = ip_of_sockaddr((const struct sockaddr *)sa);

	return ip.family == AF_INET ? ip.bytes[0] == 127 :
		memcmp(ip.bytes, &in6addr_loopback, sizeof(ip.bytes)) == 0;
}

/* @addr first, what stood before it one place on. */
static void put_first(struct boot_contact *c, const char *addr)
{
	int i = 0;

	while (i < c->n_addrs && strcmp(c->addrs[i], addr) != 0) {
		i++;
	}
	if (i == NET_MAX_ADDRS) {
		i--;		/* the last one has to go */
	} else if (i == c->n_addrs) {
		c->n_addrs++;
	}
	memmove(c->addrs[1], c->addrs[0], (size_t)i * sizeof(c->addrs[0]));
	str_copy(c->addrs[0], sizeof(c->addrs[0]), addr);
}

void node_addr_prefer(struct boot_contact *c, const char *host)
{
	struct sockaddr_storage found[NET_MAX_ADDRS];
	char text[NET_HOST_SIZE + 16], addr[NET_ADDR_TEXT];
	int n;

	snprintf(text, sizeof(text), strchr(host, ':') ? "[%.255s]%s" : "%.255s%s",
		 host, strrchr(c->addrs[0], ':'));
	n = net_lookup(text, found, NET_MAX_ADDRS, NULL);
	/* a machine may call itself 127.0.1.1; others do not */
	while (n-- > 0) {
		if (!is_loopback(&found[n])) {
			put_first(c, net_addr_text((struct sockaddr *)&found[n],
						   addr, sizeof(addr)));
		}
	}
}

void node_addr_begin(struct node_addr *n)
{
	const char *node = getenv("SLURMD_NODENAME");
	char *argv[] = { (char *)"scontrol", (char *)"--oneliner",
			 (char *)"show", (char *)"node", (char *)node, NULL };

	*n = (struct node_addr){ .text = STR_INIT };
	n->asked = node != NULL && spawn_find(argv[0], NULL, 0) &&
		   spawn_start(&n->child, argv, &n->text, NULL, TEXT_MAX,
			       NULL) == 0;
}

void node_addr_end(struct node_addr *n, struct boot_contact *c,
		   int64_t deadline_ns)
{
	char host[NET_HOST_SIZE];
	struct spawn_status st;

	if (n->asked) {
		spawn_finish(&n->child, deadline_ns, &st);
	}
	if (n->asked && st.exit_code == 0 && c->n_addrs > 0 &&
	    node_addr_parse(str_text(&n->text), host, sizeof(host))) {
		node_addr_prefer(c, host);
	}
	str_release(&n->text);
	n->asked = false;
}
