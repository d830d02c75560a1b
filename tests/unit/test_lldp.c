/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/host/inventory.h"

#define PORT(type, value) "\"port\":[{\"id\":[{\"type\":\"" type \
	"\",\"value\":\"" value "\"}],\"descr\":[{\"value\":\"descr\"}]}]"
#define SWITCH(name) "\"chassis\":[{\"id\":[{\"type\":\"mac\",\"value\":" \
	"\"50:6b\"}]" name "}],"
#define NAMED(name) SWITCH(",\"name\":[{\"value\":\"" name "\"}]")
#define ALL(list) "{\"lldp\":[{\"interface\":[" list "]}]}"

static void neighbours(void **state)
{
	static const struct {
		const char *text, *list;
	} cases[] = {
		{ ALL("{\"name\":\"eth0\"," NAMED("leaf1") PORT("ifname", "E1")
		      "},{\"name\":\"eth1\"," NAMED("leaf2")
		      PORT("local", "7") "}"),
		  "eth0=leaf1 E1;eth1=leaf2 7;" },
		/* no name; a port that is called by its MAC */
		{ ALL("{\"name\":\"eth0\"," SWITCH("")
		      PORT("mac", "00:11") "}"),
		  "eth0=50:6b descr;" },
		/* two neighbours of one interface */
		{ ALL("{\"name\":\"eth0\"," NAMED("a") PORT("ifname", "1")
		      "},{\"name\":\"eth0\"," NAMED("b") PORT("ifname", "2")
		      "}"), "eth0=a 1;" },
		{ ALL("{\"name\":\"eth0\"}"), "" },
		{ ALL("{" NAMED("leaf1") PORT("ifname", "E1") "}"), "" },
		{ ALL("7"), "" }, { "{\"lldp\":{\"interface\":{}}}", "" },
		{ "", "" }, { "[]", "" }, { "{", "" },
	};
	static struct lldp_neighbour list[LLDP_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct str out = STR_INIT;
		size_t n = lldp_parse(cases[i].text, strlen(cases[i].text),
				      list);

		for (size_t k = 0; k < n; k++) {
			str_addf(&out, "%s=%s %s;", list[k].interface,
				 list[k].name, list[k].port);
		}
		assert_string_equal(str_text(&out), cases[i].list);
		str_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
