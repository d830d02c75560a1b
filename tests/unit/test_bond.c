/* SPDX-License-Identifier: BSD-3-Clause */
/* Bonds: which leg does not work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/dcbnl.h>
#include <cmocka.h>

#include "probes/host/interface.h"

#define LACP "Bonding Mode: IEEE 802.3ad Dynamic link aggregation\n" \
	     "MII Status: up\n"
#define BACKUP "Bonding Mode: fault-tolerance (active-backup)\n" \
	       "MII Status: up\n"
#define LEG(name, status, id) "\nSlave Interface: " name "\nMII Status: " \
	status "\nLink Failure Count: 0\nAggregator ID: " id "\n"
/* What root sees besides. */
#define LACP_STATES(own, mac, other) \
	"Actor Churn State: none\ndetails actor lacp pdu:\n" \
	"    system priority: 65535\n    system mac address: 02:00:00:00:00:01\n" \
	"    port state: " own "\ndetails partner lacp pdu:\n" \
	"    system priority: 127\n    system mac address: " mac "\n" \
	"    oper key: 1\n    port state: " other "\n"
#define SWITCH_A "02:00:00:00:0a:00"
#define SWITCH_B "02:00:00:00:0b:00"

static void which_leg_does_not_work(void **state)
{
	static const struct {
		const char *text, *faults[3];
	} cases[] = {
		{ LACP LEG("a", "up", "1") LEG("b", "up", "1"), { "", "" } },
		{ LACP LEG("a", "up", "1") LEG("b", "down", "2"),
		  { "", "b is down" } },
		{ LACP LEG("a", "going down", "1") LEG("b", "up", "1"),
		  { "a is down", "" } },
		{ LACP LEG("a", "up", "3") LEG("b", "up", "1")
		  LEG("c", "up", "1"),
		  { "a is up, but not in the LACP aggregate", "", "" } },
		{ LACP LEG("a", "up", "1") LEG("b", "up", "2"),
		  { "", "b is up, but not in the LACP aggregate" } },
		/* one leg may be on purpose; a backup has no aggregator */
		{ LACP LEG("a", "up", "1"), { "" } },
		{ BACKUP LEG("a", "up", "1") LEG("b", "up", "2"), { "", "" } },
		{ BACKUP LEG("a", "up", "1") LEG("b", "down", "1"),
		  { "", "b is down" } },
		{ LACP LEG("a", "up", "1") LACP_STATES("63", SWITCH_A, "61")
		  LEG("b", "up", "1") LACP_STATES("61", SWITCH_A, "63"),
		  { "", "" } },
		{ LACP LEG("a", "up", "1") LACP_STATES("63", SWITCH_A, "61")
		  LEG("b", "up", "2") LACP_STATES("63", SWITCH_B, "61"),
		  { "", "b is up, but not in the LACP aggregate: it leads to "
			"another switch" } },
		{ LACP LEG("a", "up", "1") LACP_STATES("63", SWITCH_A, "61")
		  LEG("b", "up", "1") LACP_STATES("7", SWITCH_A, "5"),
		  { "", "b is up, but LACP does not use it (port state 7, of "
			"the switch 5)" } },
		/* it is the switch that does not use the leg */
		{ LACP LEG("a", "up", "1") LACP_STATES("61", SWITCH_A, "13")
		  LEG("b", "up", "1") LACP_STATES("61", SWITCH_A, "61"),
		  { "a is up, but LACP does not use it (port state 61, of the "
		    "switch 13)", "" } },
		{ LACP LEG("a", "up", "1")
		  LACP_STATES("69", "00:00:00:00:00:00", "1")
		  LEG("b", "up", "2")
		  LACP_STATES("69", "00:00:00:00:00:00", "1"),
		  { "a is up, but its switch port does not send LACP packets",
		    "b is up, but its switch port does not send LACP "
		    "packets" } },
		/* one leg works without LACP */
		{ LACP LEG("a", "up", "1")
		  LACP_STATES("69", "00:00:00:00:00:00", "1"), { "" } },
	};
	char buf[BOND_FAULT];
	struct bond b;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(bond_parse(cases[i].text, &b));
		for (int k = 0; k < b.n_legs; k++) {
			assert_string_equal(bond_leg_fault(&b, k, buf),
					    cases[i].faults[k]);
		}
	}
}

/** The text is a recorded form of ethtool's output; its numbers are made up. */
static void drivers_count(void **state)
{
	static const char text[] = "NIC statistics:\n"
		"     rx_corrected_bits_phy_high: 7\n"
		"     tx_rx_corrected_bits_phy: 8\n"
		"     rx_corrected_bits_phy: 123456\n"
		"     rx_crc_errors_phy: -1\n"
		"     rx_discards_phy: 99999999999999999999\n"
		"Configured FEC encodings: Auto\nActive FEC encoding: RS\n";
	uint64_t n = 0;
	char fec[16];

	(void)state;
	assert_true(interface_stat(text, "rx_corrected_bits_phy", &n));
	assert_int_equal(n, 123456);
	assert_false(interface_stat(text, "rx_crc_errors_phy", &n));
	assert_false(interface_stat(text, "rx_discards_phy", &n));
	assert_false(interface_stat(NULL, "rx_discards_phy", &n));
	assert_true(interface_said(text, INTERFACE_FEC, fec, sizeof(fec)));
	assert_string_equal(fec, "RS");
	assert_false(interface_said("", INTERFACE_FEC, fec, sizeof(fec)));
	assert_string_equal(fec, "");
}

/** An answer of the kernel about priorities: flow control on 3 and 4, and two
 *  entries of which one is a DSCP. */
static void priorities_are_read(void **state)
{
	static const unsigned char answer[] = {
		6, 0, 1, 0, 'e', '0', 0, 0,	/* its name */
		56, 0, DCB_ATTR_IEEE, 0x80,
		12, 0, DCB_ATTR_IEEE_ETS, 0, 8, 0, 0, 0, 0, 0, 0, 0,
		10, 0, DCB_ATTR_IEEE_PFC, 0, 8, 0x18, 0, 0, 0, 0, 0, 0,
		28, 0, DCB_ATTR_IEEE_APP_TABLE, 0x80,
		8, 0, DCB_ATTR_IEEE_APP, 0, 1, 2, 0x15, 0x89,
		8, 0, DCB_ATTR_IEEE_APP, 0,
		IEEE_8021QAZ_APP_SEL_DSCP, 3, 26, 0,
		8, 0, DCB_ATTR_IEEE_APP, 0,
		IEEE_8021QAZ_APP_SEL_DSCP, 0, 0, 0,
		0, 0, 0, 0,	/* behind the table */
	};
	struct str out = STR_INIT;
	char text[64];

	(void)state;
	interface_dcb_parse(answer, sizeof(answer), &out);
	assert_true(interface_said(str_text(&out), INTERFACE_PFC, text, 64));
	assert_string_equal(text, "3 4");
	assert_true(interface_said(str_text(&out), INTERFACE_DSCP, text, 64));
	assert_string_equal(text, "26=3 0=0");
	/* cut anywhere, it has less, and nothing else */
	for (size_t n = 0; n < sizeof(answer) - 4; n++) {
		unsigned char *copy = malloc(n + 1);

		memcpy(copy, answer, n);
		str_reset(&out);
		interface_dcb_parse(copy, n, &out);
		assert_false(interface_said(str_text(&out), INTERFACE_DSCP,
					    text, 64));
		free(copy);
	}
	str_release(&out);
}

static void other_text_is_no_bond(void **state)
{
	struct bond b;

	(void)state;
	assert_false(bond_parse("", &b));
	assert_false(bond_parse(LACP, &b));
	assert_false(bond_parse("MII Status: down\nAggregator ID: 1\n", &b));
	assert_true(bond_parse(LEG("0", "up", "1") LEG("1", "up", "1")
			       LEG("2", "up", "1") LEG("3", "up", "1")
			       LEG("4", "up", "1") LEG("5", "up", "1")
			       LEG("6", "up", "1") LEG("7", "up", "1")
			       LEG("8", "up", "1"), &b));
	assert_int_equal(b.n_legs, BOND_LEGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_leg_does_not_work),
		cmocka_unit_test(drivers_count),
		cmocka_unit_test(priorities_are_read),
		cmocka_unit_test(other_text_is_no_bond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
