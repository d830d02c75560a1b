/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/plan/layout.h"

/** A fabric by a letter: InfiniBand, storage on Ethernet, a second subnet of
 *  InfiniBand, another partition; i and e at half of the rate; G and g, which
 *  GPUs use, and O and o, which none does, on Ethernet. */
static struct port_class class_of(char letter)
{
	struct port_class c = { .rate_Gb_s = 400 };

	bool ethernet = strchr("EeGgOo", letter) != NULL;

	STR_COPY(c.link_layer, ethernet ? "Ethernet" : "InfiniBand");
	c.use = strchr("Gg", letter) ? USE_GPUS :
		strchr("Oo", letter) ? USE_OTHER : USE_UNKNOWN;
	if (!ethernet) {
		STR_COPY(c.subnet, letter == 'S' ? "fec0:0000:0000:0001" :
						   "fe80:0000:0000:0000");
		c.pkey = letter == 'P' ? 1 : 0x7fff;
	}
	c.rate_Gb_s = strchr("iego", letter) != NULL ? 200 : 400;
	return c;
}

/** "m0:I m1:E m3:-" is a node: names and fabrics, "-" for a port that is down,
 *  on InfiniBand. */
static struct port_set node_of(const char *text)
{
	struct port_seen *ports = calloc(PORT_MAX, sizeof(*ports));
	struct port_set node = { .ports = ports };

	while (*text != '\0') {
		size_t n = strcspn(text, ":");
		struct port_seen *p = &ports[node.n++];

		memcpy(p->name, text, n);
		p->up = text[n + 1] != '-';
		p->class = class_of(text[n + 1]);
		text += n + 2;
		text += *text == ' ';
	}
	return node;
}

#define NODES_MAX 4

/** Slots of the nodes, "m0:0 m1:1" with their groups, then each node's ports by
 *  slot, "0 1" or "-" where it lacks one. */
static const char *slots_of(const char *const *texts, char *out, size_t size)
{
	struct port_set nodes[NODES_MAX];
	static struct port_slots s;
	int n = 0, at[PORT_MAX];
	size_t used = 0;

	for (; n < NODES_MAX && texts[n] != NULL; n++) {
		nodes[n] = node_of(texts[n]);
	}
	port_slots_make(&s, nodes, n);
	out[0] = '\0';
	for (int i = 0; i < s.n; i++) {
		used += (size_t)snprintf(out + used, size - used, "%s%s:%d",
					 i ? " " : "", s.slot[i].name,
					 s.slot[i].group);
	}
	for (int k = 0; k < n; k++) {
		port_slots_match(&s, &nodes[k], at);
		used += (size_t)snprintf(out + used, size - used, " |");
		for (int i = 0; i < s.n; i++) {
			used += (size_t)snprintf(
				out + used, size - used, " %s",
				at[i] < 0 ? "-" : nodes[k].ports[at[i]].name);
		}
		free((void *)(uintptr_t)nodes[k].ports);
	}
	return out;
}

static void slots_and_groups(void **state)
{
	static const struct {
		const char *nodes[NODES_MAX + 1];
		const char *slots;
	} cases[] = {
		/* compute and storage, in the order of their names */
		{ { "a:I b:E c:I d:E", "a:I b:E c:I d:E" },
		  "a:0 b:1 c:0 d:1 | a b c d | a b c d" },
		/* two InfiniBand fabrics, and a partition */
		{ { "a:I b:I c:S d:S e:P", "a:I b:I c:S d:S e:P" },
		  "a:0 b:0 c:1 d:1 e:2 | a b c d e | a b c d e" },
		/* two rates of two ports each are two fabrics */
		{ { "a:I b:I c:i d:i" }, "a:0 b:0 c:1 d:1 | a b c d" },
		/* one port at half of the rate is a slow one, on all nodes, on
		 * one of two and on the only one */
		{ { "a:I b:I c:i", "a:I b:I c:i" },
		  "a:0 b:0 c:0 | a b c | a b c" },
		{ { "a:I b:i c:I", "a:I b:I c:I" },
		  "a:0 b:0 c:0 | a b c | a b c" },
		{ { "a:i b:I" }, "a:0 b:0 | a b" },
		/* storage is no rail, whatever its rate; a slow rail is one */
		{ { "a:G b:G c:O", "a:G b:G c:O" },
		  "a:0 b:0 c:1 | a b c | a b c" },
		{ { "a:G b:G c:g d:O" }, "a:0 b:0 c:0 d:1 | a b c d" },
		/* nor are storage and management of one fabric */
		{ { "a:o b:G c:G d:O", "a:o b:G c:G d:O" },
		  "a:0 b:1 c:1 d:2 | a b c d | a b c d" },
		/* what is missing on a node is missing there, and shifts
		 * nothing */
		{ { "a:I b:I c:I", "a:I c:I", "a:I b:I c:I" },
		  "a:0 b:0 c:0 | a b c | a - c | a b c" },
		/* so is what is down, or set up as Ethernet */
		{ { "a:I b:I c:E", "a:I b:- c:E" },
		  "a:0 b:0 c:1 | a b c | a b c" },
		{ { "a:I b:I c:e d:e", "a:I b:E c:e d:e", "a:I b:I c:e d:e" },
		  "a:0 b:0 c:1 d:1 | a b c d | a b c d | a b c d" },
		/* a node that counts its ports in another order */
		{ { "a:I b:E", "a:E b:I", "a:I b:E" },
		  "a:0 b:1 | a b | b a | a b" },
		/* one of other names */
		{ { "a:I b:I", "x:I y:I" }, "a:0 b:0 | a b | x y" },
		{ { "a:I b:I", "x:i y:i", "a:I b:I" },
		  "a:0 b:0 | a b | x y | a b" },
		/* an HCA that was replaced; but storage is no replacement */
		{ { "a:I b:I", "a:I z:I", "a:I b:I" },
		  "a:0 b:0 | a b | a z | a b" },
		{ { "a:I b:I", "a:I z:E", "a:I b:I" },
		  "a:0 b:0 | a b | a - | a b" },
		/* more than the others have is left out; nodes without any do
		 * not count */
		{ { "a:I", "a:I b:I", "a:I" }, "a:0 | a | a | a" },
		{ { "", "", "a:I" }, "a:0 | - | - | a" },
		{ { "", "" }, " | |" },
	};
	char out[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_string_equal(slots_of(cases[i].nodes, out, sizeof(out)),
				    cases[i].slots);
	}
}

static void groups_in_words(void **state)
{
	struct port_set node = node_of("a:E b:i c:I d:I");
	static struct port_slots s;
	char text[PORT_GROUP_TEXT];

	(void)state;
	port_slots_make(&s, &node, 1);
	assert_int_equal(s.n_groups, 2);
	assert_string_equal(port_group_text(&s, 0, text),
			    "Ethernet, 400 Gb/s");
	assert_string_equal(port_group_text(&s, 1, text),
			    "InfiniBand, 400 Gb/s, subnet fe80:0000:0000:0000, "
			    "P_Key 0x7fff");
	free((void *)(uintptr_t)node.ports);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_and_groups),
		cmocka_unit_test(groups_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
