/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/switches.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/data/allocation.h"
#include "lib/data/hosts.h"

#define LINE_MAX_BYTES (64 * 1024)

#define FULL 1	/* what is left is left out */

static int add_link(struct switch_link **links, size_t *n,
		    const struct switch_link *link)
{
	if (*n == SWITCHES_MAX) {
		return FULL;
	}
	return grow_add(links, n, link, sizeof(*link)) ? 0 : -1;
}

/* ---- Slurm --------------------------------------------------------------- */

/** A switch of nodes: one of switches lists theirs once more. */
static int read_slurm(const char *line, struct switch_link **links,
		      size_t *found)
{
	char *name = slurm_value(line, "SwitchName");
	char *nodes = slurm_value(line, "Nodes");
	char *below = slurm_value(line, "Switches");
	bool leaf = below == NULL || strcmp(below, "(null)") == 0;
	struct switch_link link = { .nic = "" };
	char **list = NULL;
	size_t n = 0;
	int rc = 0;

	if (name != NULL && nodes != NULL && leaf) {
		list = hostlist_expand(nodes, &n, NULL);
	}
	for (size_t i = 0; list != NULL && i < n && rc == 0; i++) {
		STR_COPY(link.name, name);
		STR_COPY(link.node, list[i]);
		rc = add_link(links, found, &link);
	}
	if (list != NULL) {
		hostlist_free(list, n);
	}
	free(name);
	free(nodes);
	free(below);
	return rc;
}

/* ---- ibnetdiscover ------------------------------------------------------- */

/** Copy the quoted text after '#' of @line, a comment line, into @buf; false if
 *  there is none. */
static bool comment_of(const char *line, char *buf, size_t size)
{
	const char *at = strchr(line, '#');

	at = at != NULL ? strchr(at, '"') : NULL;
	if (at == NULL || strchr(at + 1, '"') == NULL) {
		return false;
	}
	snprintf(buf, size, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
	return buf[0] != '\0';
}

/** [7] "H-0c42"[1](0c43) # "n1 mlx5_0" lid 4 4xHDR: a port of @name. */
static int read_port(const char *line, const char *name,
		     struct switch_link **links, size_t *found)
{
	struct switch_link link = { .nic = "" };
	char words[128] = "";
	size_t n = strspn(line + 1, "0123456789"), len;
	const char *peer = strchr(line, '"'), *guid;

	if (n == 0 || n >= sizeof(link.port) || line[1 + n] != ']' ||
	    peer == NULL || strncmp(peer, "\"H-", 3) != 0) {
		return 0;	/* another switch */
	}
	snprintf(link.port, sizeof(link.port), "%.*s", (int)n, line + 1);
	STR_COPY(link.name, name);
	/* the GUID in the brackets, in 16 digits */
	guid = strchr(peer, '(');
	n = guid ? strspn(guid + 1, "0123456789abcdefABCDEF") : 0;
	if (n > 0 && n <= 16 && guid[1 + n] == ')') {
		memset(link.guid, '0', 16 - n);
		for (size_t i = 0; i < n; i++) {
			link.guid[16 - n + i] =
				(char)tolower((unsigned char)guid[1 + i]);
		}
	}
	comment_of(line, words, sizeof(words));
	len = strcspn(words, " ");
	if (words[len] != '\0' && len < sizeof(link.node)) {
		snprintf(link.node, sizeof(link.node), "%.*s", (int)len, words);
		STR_COPY(link.nic, words + len + 1);
		link.nic[strcspn(link.nic, " ")] = '\0';
	}
	return link.guid[0] != '\0' || link.nic[0] != '\0' ?
		       add_link(links, found, &link) : 0;
}

/* ---- both ---------------------------------------------------------------- */

long switches_parse(const char *text, size_t len, struct switch_link **links)
{
	char *line = malloc(LINE_MAX_BYTES), *at;
	char name[64] = "";	/* the switch whose ports are being listed */
	int rc = line != NULL ? 0 : -1;
	size_t found = 0;

	*links = NULL;
	while (rc == 0 && len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t n = end != NULL ? (size_t)(end - text) : len;

		at = line;
		at[0] = '\0';
		if (n < LINE_MAX_BYTES && memchr(text, '\0', n) == NULL) {
			memcpy(line, text, n);
			line[n] = '\0';
			line[strcspn(line, "\r")] = '\0';
			at += strspn(line, " \t");
		}
		if (strncasecmp(at, "SwitchName=", 11) == 0) {
			rc = read_slurm(at, links, &found);
		} else if (at[0] == '[' && name[0] != '\0') {
			rc = read_port(at, name, links, &found);
		} else if (at[0] != '\0' && at[0] != '#') {
			/* a node of another kind has no ports of a switch */
			name[0] = '\0';
			if (strncmp(at, "Switch", 6) == 0 &&
			    isspace((unsigned char)at[6])) {
				comment_of(at, name, sizeof(name));
			}
		}
		n += end != NULL;
		text += n;
		len -= n;
	}
	free(line);
	if (rc == -1) {
		free(*links);
		*links = NULL;
	}
	return rc == -1 ? -1 : (long)found;
}
