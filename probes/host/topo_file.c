/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/topo_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/nccl_conf.h"

#define DEPTH_MAX 16

/** Open elements; of a <cpu> or <pci> what it is called, else "". */
struct stack {
	char name[DEPTH_MAX][32];
	int depth, numa;
};

/** The value of @key in the tag @at ... @end into @buf, "" without one. */
static void attribute(const char *at, const char *end, const char *key,
		      char *buf, size_t size)
{
	size_t n = strlen(key);

	buf[0] = '\0';
	for (; at + n + 2 < end; at++) {
		if (at[0] == ' ' && strncmp(at + 1, key, n) == 0 &&
		    at[1 + n] == '=' && at[2 + n] == '"') {
			const char *value = at + 3 + n;
			const char *quote = memchr(value, '"',
						   (size_t)(end - value));

			if (quote != NULL) {
				snprintf(buf, size, "%.*s",
					 (int)(quote - value), value);
			}
			return;
		}
	}
}

/** Of the tag, or comment, whose '<' is before @at; NULL without one. */
static const char *end_of_tag(const char *at)
{
	return str_starts(at, "!--") ? strstr(at, "-->") : strchr(at, '>');
}

static void open_tag(struct stack *s, const char *at, const char *end)
{
	char *name = s->name[s->depth++], text[16];
	int64_t numa = -1;

	name[0] = '\0';
	if (str_starts(at, "cpu ")) {
		attribute(at, end, "numaid", text, sizeof(text));
		units_parse_int(text, -1, 4095, &numa, NULL);
		s->numa = (int)numa;
		snprintf(name, sizeof(s->name[0]), "cpu%d", s->numa);
	} else if (str_starts(at, "pci ")) {
		attribute(at, end, "busid", name, sizeof(s->name[0]));
	}
}

/** What is open, as a path below /sys/devices would be. */
static void take_place(const struct stack *s, struct pcie_place *place)
{
	size_t len = 0;

	for (int i = 0; i < s->depth; i++) {
		if (s->name[i][0] != '\0') {
			len += (size_t)snprintf(place->path + len,
						sizeof(place->path) - len,
						"%s%s", len > 0 ? "/" : "",
						s->name[i]);
		}
	}
	place->numa = s->numa;
}

bool topo_file_find(const char *text, const char *bus,
		    struct pcie_place *place)
{
	struct stack s = { .numa = -1 };
	const char *at = text, *end;

	while ((at = strchr(at, '<')) != NULL) {
		at++;
		end = end_of_tag(at);
		if (end == NULL) {
			return false;
		}
		if (*at == '!' || *at == '?') {
			at = end;
			continue;
		}
		if (*at == '/') {
			s.depth -= s.depth > 0;
			continue;
		}
		if (s.depth == DEPTH_MAX) {
			return false;
		}
		open_tag(&s, at, end);
		if (bus[0] != '\0' &&
		    strcasecmp(s.name[s.depth - 1], bus) == 0) {
			take_place(&s, place);
			return true;
		}
		s.depth -= end[-1] == '/';
	}
	return false;
}

void topo_file_plain(const char *text, struct str *out)
{
	static const char *const plain[] = {
		"version", "numaid", "affinity", "arch", "vendor", "familyid",
		"modelid", "busid", "class", "link_speed", "link_width", "dev",
		"sm", "gdr", "name", "speed", "port", "latency", "maxconn",
		"target", "tclass", "count", "bw", NULL
	};
	const char *at = text, *end;
	char value[128];

	while ((at = strchr(at, '<')) != NULL &&
	       (end = end_of_tag(++at)) != NULL) {
		if (*at != '!' && *at != '?') {
			size_t skip = *at == '/';

			str_addf(out, "<%.*s",
				 (int)(skip + strcspn(at + skip,
						      " \t\r\n/>")), at);
			for (int i = 0; plain[i] != NULL; i++) {
				attribute(at, end, plain[i], value,
					  sizeof(value));
				if (value[0] != '\0') {
					str_addf(out, " %s=\"%s\"", plain[i],
						 value);
				}
			}
			str_add(out, end[-1] == '/' ? "/>\n" : ">\n");
		}
		at = end;
	}
}

char *topo_file_read(const char *root)
{
	json_t *conf = nccl_conf_read(root, 0);
	const char *named = nccl_conf_get(conf, "NCCL_TOPO_FILE", NULL);
	struct str text = STR_INIT;
	char path[PATH_MAX], *all = NULL;

	snprintf(path, sizeof(path), "%.1500s%.2000s", root,
		 named != NULL ? named : TOPO_FILE_USUAL);
	json_decref(conf);
	if (str_add_file(&text, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
			 TOPO_FILE_MAX) == 0 && text.len > 0) {
		all = strdup(str_text(&text));
	}
	str_release(&text);
	return all;
}
