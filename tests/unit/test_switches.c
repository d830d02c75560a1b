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
#include "lib/data/switches.h"

static void links(void **state)
{
	static const struct {
		const char *text, *links;
	} cases[] = {
		/* topology.conf */
		{ "# leaves\nSwitchName=l1 Nodes=n[1-2] LinkSpeed=1\r\n"
		  "switchname=l2 nodes=a,b\nSwitchName=top Switches=l[1-2]\n",
		  "n1,,l1:,|n2,,l1:,|a,,l2:,|b,,l2:,|" },
		/* scontrol show topology */
		{ "SwitchName=l1 Level=0 LinkSpeed=1 Nodes=n1 Switches=(null)\n"
		  "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-9] "
		  "Switches=l[1-2]\n", "n1,,l1:,|" },
		/* ibnetdiscover */
		{ "switchguid=0x1(1)\n"
		  "Switch\t40 \"S-0001\"\t\t# \"MF0;leaf 1:MQM8700/U1\" base "
		  "port 0 lid 2 lmc 0\n"
		  "[1]\t\"H-000a\"[1](B8CEF603001E15F0) \t\t# \"n1 mlx5_0\" "
		  "lid 10 4xHDR\n"
		  "[2]\t\"S-0002\"[1]\t\t# \"spine\" lid 3 4xHDR\n"
		  "[31]\t\"H-000b\"[2](ab) \t\t# \"n2\" lid 11 4xHDR\n\n"
		  "Ca\t1 \"H-000a\"\t\t# \"n1 mlx5_0\"\n"
		  "[1](b8cef603001e15f0) \t\"S-0001\"[1]\t\t# lid 10\n",
		  "n1,mlx5_0,MF0;leaf 1:MQM8700/U1:1,b8cef603001e15f0|"
		  ",,MF0;leaf 1:MQM8700/U1:31,00000000000000ab|" },
		/* what is none of these */
		{ "", "" }, { "\n\n", "" }, { "Switch 1\n[1] \"H-\"", "" },
		{ "SwitchName=l1", "" }, { "SwitchName= Nodes=n[2-1]", "" },
		{ "[1]\t\"H-a\"[1](1) # \"n1 x\"\n", "" },
		{ "Switch\t1 \"S-1\" # \"l\"\n[x] \"H-1\"[1](1)\n[1]\n"
		  "[1] \"H-1\"[1](xyz) # \"n1\n", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct str out = STR_INIT;
		struct switch_link *list;
		const long n = switches_parse(cases[i].text,
					      strlen(cases[i].text), &list);

		for (long k = 0; k < n; k++) {
			str_addf(&out, "%s,%s,%s:%s,%s|", list[k].node,
				 list[k].nic, list[k].name, list[k].port,
				 list[k].guid);
		}
		free(list);
		assert_true(n >= 0);
		assert_string_equal(str_text(&out), cases[i].links);
		str_release(&out);
	}
}

static void links_past_the_limit_are_left_out(void **state)
{
	static const char line[] = "SwitchName=l Nodes=n[1-32768]\n";
	struct switch_link *list;
	struct str text = STR_INIT;

	(void)state;
	for (int i = 0; i < SWITCHES_MAX / 32768 + 1; i++) {
		str_add(&text, line);
	}
	assert_int_equal(switches_parse(str_text(&text), text.len, &list),
			 SWITCHES_MAX);
	assert_string_equal(list[SWITCHES_MAX - 1].node, "n32768");
	free(list);
	str_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links),
		cmocka_unit_test(links_past_the_limit_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
