/* SPDX-License-Identifier: BSD-3-Clause */
/* Which port of which switch a finding is about, where somebody knows it. */
#include "report/judge/says.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"

/** What facts say of one NIC; NULL where they do not. */
struct plug {
	const struct fact_row *name, *port;
};

/** Is @nic, a name, one of @names, joined by '+'? */
static bool is_of(const char *names, const char *nic)
{
	size_t n = strlen(nic), m;

	for (; *names; names += m + (names[m] == '+')) {
		m = strcspn(names, "+");
		if (m == n && memcmp(names, nic, n) == 0) {
			return true;
		}
	}
	return false;
}

static struct plug find_plug(const struct run *run, int node, const char *nics)
{
	struct plug p = { .name = NULL };

	for (size_t i = 0; nics[0] && i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		bool name = strcmp(f->fact, "switch") == 0;

		if ((!name && strcmp(f->fact, "switch_port") != 0) ||
		    strcmp(f->node, run->nodes[node].name) != 0 ||
		    !is_of(nics, f->scope)) {
			continue;
		}
		if (name && !p.name) {
			p.name = f;
		} else if (!name && !p.port && p.name &&
			   strcmp(p.name->scope, f->scope) == 0) {
			p.port = f;
		}
	}
	return p;
}

static void append(struct finding *f, const char *text)
{
	size_t n = strlen(f->says);

	if (n + strlen(text) < sizeof(f->says)) {
		memcpy(f->says + n, text, strlen(text) + 1);
	}
}

static void say_nic(const struct run *run, struct finding *f)
{
	const char *nic = part_nic_name(run, &f->part);
	struct plug p = f->part.node >= 0 ?
				find_plug(run, f->part.node, nic) :
				(struct plug){ .name = NULL };
	char text[400];

	if (!p.name) {
		return;
	}
	snprintf(text, sizeof(text), "; connected to switch %.100s%s%.100s",
		 p.name->value, p.port ? ", port " : "",
		 p.port ? p.port->value : "");
	append(f, text);
	finding_add_evidence(f, "%s of %s%s (%s)", nic,
			     run->nodes[f->part.node].name, text + 1,
			     p.name->source);
}

/** Where all ports of the rail that are known are of one switch. */
static void say_rail(const struct run *run, struct finding *f)
{
	const struct fact_row *one = NULL;
	char text[200];
	int n = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		const struct part nic = part_at(PART_NIC, i, f->part.index);
		struct plug p = find_plug(run, i, part_nic_name(run, &nic));

		if (!p.name) {
			continue;
		}
		if (one && strcmp(one->value, p.name->value) != 0) {
			return;
		}
		one = p.name;
		n++;
	}
	if (n > 1) {
		snprintf(text, sizeof(text), "; connected to switch %.100s",
			 one->value);
		append(f, text);
		finding_add_evidence(f, "%d of its ports%s (%s)", n, text + 1,
				     one->source);
	}
}

void says_switch(const struct run *run, struct finding *f)
{
	enum part_kind kind = f->part.kind;

	if (kind == PART_NIC || (kind == PART_GPU && run->ports)) {
		say_nic(run, f);
	} else if (kind == PART_RAIL) {
		say_rail(run, f);
	}
}
