/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/host/interface.h"
#include "probes/memlock/look.h"

#define UNLIMITED MEMLOCK_UNLIMITED
#define KIB 1024

static const struct str *str_of(const char *text)
{
	static struct str s;

	s = (struct str){ .data = (char *)(uintptr_t)text,
			  .len = strlen(text) };
	return &s;
}

static void assert_says(const struct err *e, const char *part)
{
	if (!strstr(e->text, part)) {
		fail_msg("no '%s' in '%s'", part, e->text);
	}
}

/* ---- /proc/PID/limits -------------------------------------------------- */

#define LIMITS \
	"Limit                     Soft Limit           Hard Limit           " \
	"Units     \n" \
	"Max cpu time              unlimited            unlimited            " \
	"seconds   \n" \
	"Max locked memory         65536                unlimited            " \
	"bytes     \n" \
	"Max open files            1024                 524288               " \
	"files     \n"

static int limit(const char *text, const char *name, struct limit_pair *out,
		 struct err *e)
{
	return proc_limit_parse(str_of(text), name, out, e);
}

static void limits_are_read_by_name(void **state)
{
	struct limit_pair l;

	(void)state;
	assert_int_equal(limit(LIMITS, "Max locked memory", &l, NULL), 0);
	assert_int_equal(l.soft, 65536);
	assert_true(l.hard == UNLIMITED);
	assert_int_equal(limit(LIMITS, "Max open files", &l, NULL), 0);
	assert_int_equal(l.soft, 1024);
	assert_int_equal(l.hard, 524288);
}

static void bad_limits_say_where(void **state)
{
	struct limit_pair l;
	struct err e = { 0 };
	static char bytes[] = "Max locked memory 1\0 2";
	const struct str nul = { .data = bytes, .len = sizeof(bytes) - 1 };

	(void)state;
	assert_int_equal(limit(LIMITS, "Max rain", &l, &e), -1);
	assert_says(&e, "no line 'Max rain'");
	assert_int_equal(limit("\nMax locked memory 1\n", "Max locked memory",
			       &l, &e), -1);
	assert_says(&e, "line 2: two values");
	assert_int_equal(limit("Max locked memory 1 x\n", "Max locked memory",
			       &l, &e), -1);
	assert_says(&e, "line 1");
	assert_int_equal(limit("Max locked memory -1 2\n",
			       "Max locked memory", &l, &e), -1);
	assert_int_equal(proc_limit_parse(&nul, "Max locked memory", &l, &e),
			 -1);
	assert_says(&e, "NUL");
	/* a longer name is another limit */
	assert_int_equal(limit("Max locked memory of cows 1 2\n",
			       "Max locked", &l, &e), -1);
}

static void texts_have_limits(void **state)
{
	static char huge[MEMLOCK_TEXT_MAX + 2], wide[2000];
	struct limit_pair l;
	struct err e = { 0 };

	(void)state;
	memset(huge, '\n', sizeof(huge) - 1);
	assert_int_equal(limit(huge, "Max", &l, &e), -1);
	assert_says(&e, "larger");
	memset(wide, 'x', sizeof(wide) - 1);
	assert_int_equal(limit(wide, "Max", &l, &e), -1);
	assert_says(&e, "line 1 is longer");
}

/* ---- /proc/PID/status -------------------------------------------------- */

static void status_has_capability_and_user(void **state)
{
	static const char root[] = "Name:\tx\nUid:\t0\t0\t0\t0\n"
				   "CapEff:\t000001ffffffffff\n";
	static const char user[] = "Uid:\t0\t1000\t0\t0\n"
				   "CapEff:\t0000000000000000\n";
	static const char others[] = "Uid:\t1\t1\t1\t1\n"
				     "CapEff:\t00000000ffffbfff\n";
	bool has_ipc_lock;
	int64_t uid;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(
		proc_status_parse(str_of(root), &has_ipc_lock, &uid, NULL), 0);
	assert_true(has_ipc_lock);
	assert_int_equal(uid, 0);
	assert_int_equal(
		proc_status_parse(str_of(user), &has_ipc_lock, &uid, NULL), 0);
	assert_false(has_ipc_lock);
	assert_int_equal(uid, 1000); /* the effective one */
	assert_int_equal(
		proc_status_parse(str_of(others), &has_ipc_lock, &uid, NULL),
		0);
	assert_false(has_ipc_lock); /* all but that one */
	assert_int_equal(proc_status_parse(str_of("Uid:\t1\t1\n"),
					   &has_ipc_lock, &uid, &e),
			 -1);
	assert_says(&e, "CapEff");
	assert_int_equal(proc_status_parse(str_of("CapEff:\txyz\n"),
					   &has_ipc_lock, &uid, &e),
			 -1);
	assert_says(&e, "line 1");
}

/* ---- /proc/PID/cgroup, mounts ------------------------------------------ */

static void group(const char *text, struct proc_cgroup *g)
{
	assert_int_equal(proc_cgroup_parse(str_of(text), g, NULL), 0);
}

static void cgroups_tell_containers_and_units(void **state)
{
	struct proc_cgroup g;
	struct err e = { 0 };

	(void)state;
	group("0::/system.slice/slurmd.service\n", &g);
	assert_string_equal(g.unit, "slurmd.service");
	assert_string_equal(g.container, "");
	assert_string_equal(g.group, "/system.slice/slurmd.service");
	assert_true(g.v2);
	group("12:memory:/docker/12ab\n1:name=systemd:/docker/12ab\n0::/x\n",
	      &g);
	assert_string_equal(g.container, "docker");
	assert_string_equal(g.group, "/docker/12ab");
	assert_false(g.v2);
	group("0::/kubepods.slice/a/b\n", &g);
	assert_string_equal(g.container, "kubernetes");
	group("", &g);
	assert_string_equal(g.group, "/");
	assert_int_equal(proc_cgroup_parse(str_of("nonsense"), &g, &e), -1);
	assert_says(&e, "line 1");
}

static int64_t shm(const char *text)
{
	int64_t size;

	assert_int_equal(proc_mount_size(str_of(text), "/dev/shm", &size,
					 NULL), 0);
	return size;
}

static void mounts_tell_sizes(void **state)
{
	int64_t size;
	struct err e = { 0 };
	static const char bad[] = "shm /dev/shm tmpfs rw,size=9Q 0 0\n";

	(void)state;
	assert_int_equal(shm("shm /dev/shm tmpfs rw,size=65536k 0 0\n"),
			 65536 * KIB);
	assert_int_equal(shm("shm /dev/shm tmpfs rw,nosuid 0 0\n"), 0);
	assert_int_equal(shm("shm /dev/shmx tmpfs rw,size=1k 0 0\n"), -1);
	/* what is mounted over it counts */
	assert_int_equal(shm("a /dev/shm tmpfs size=1k 0 0\n"
			     "b /dev/shm tmpfs size=2k 0 0\n"), 2 * KIB);
	assert_int_equal(proc_mount_size(str_of(bad), "/dev/shm", &size,
					 &e), -1);
	assert_says(&e, "line 1");
}

/* ---- systemd ----------------------------------------------------------- */

static struct unit_limit unit(const char *text)
{
	struct unit_limit u = { .source = "" };
	struct err e = { 0 };

	if (unit_parse(str_of(text), "f", &u, &e) < 0) {
		fail_msg("%s", e.text);
	}
	return u;
}

static void units_set_limits(void **state)
{
	struct unit_limit u;

	(void)state;
	u = unit("[Unit]\nLimitMEMLOCK=1\n[Service]\n# LimitMEMLOCK=2\n"
		 "LimitMEMLOCK = infinity\n");
	assert_string_equal(u.source, "f:5");
	assert_true(u.limit.soft == UNLIMITED && u.limit.hard == UNLIMITED);
	u = unit("[Service]\nLimitMEMLOCK=64K:1G\n");
	assert_int_equal(u.limit.soft, 64 * KIB);
	assert_int_equal(u.limit.hard, 1 << 30);
	u = unit("[Service]\nLimitMEMLOCK=8M\nLimitMEMLOCK=65536\n");
	assert_int_equal(u.limit.soft, 65536);
	assert_string_equal(u.source, "f:3");
	u = unit("[Service]\nLimitMEMLOCK=8M\nLimitMEMLOCK=\n");
	assert_string_equal(u.source, "");	/* taken back */
	u = unit("[Service]\nLimitMEMLOCK=8M\n");
	assert_int_equal(unit_parse(str_of("[Service]\nLimitMEMLOCK=1M\n"
					   "LimitMEMLOCK=\n"), "g", &u, NULL),
			 0);
	assert_string_equal(u.source, "f:2");	/* as another file has it */
	assert_int_equal(u.limit.hard, 8 << 20);
	u = unit("[Service]\nExecStart=x \\\nLimitMEMLOCK=1\n");
	assert_string_equal(u.source, "");	/* a word of the command */
	u = unit("[Service]\nLimitMEMLOCKED=1\n");
	assert_string_equal(u.source, "");
	u = unit("[Manager]\nDefaultLimitMEMLOCK=16M\n");
	assert_int_equal(u.limit.hard, 16 << 20);
	u = unit("[Service]\nLimitMEMLOCK=1.5G:1T 512M\n");
	assert_true(u.limit.soft == 3 << 29);
	assert_true(u.limit.hard == (INT64_C(1) << 40) + (512 << 20));
}

/** Line @line is passed over, because of what has @why in it. */
static void is_ignored(const char *text, int line, const char *why)
{
	struct unit_limit u = unit(text);
	char at[16];

	snprintf(at, sizeof(at), "f:%d", line);
	assert_memory_equal(u.ignored, at, strlen(at));
	assert_int_equal(u.ignored[strlen(at)], ':');
	assert_string_not_equal(u.source, at);
	assert_non_null(strstr(u.ignored, why));
}

static void lines_that_systemd_ignores(void **state)
{
	static const char *const sizes[] = {
		"infinty", "unlimited", "-1", "64KB", "64KiB", "8g", "1M:",
		"M", "1 2", "0x10",
	};
	char text[80];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		snprintf(text, sizeof(text), "[Service]\nLimitMEMLOCK=%s\n",
			 sizes[i]);
		is_ignored(text, 2, "neither a size");
	}
	is_ignored("[Service]\nLimitMEMLOCK=8M\nLimitMEMLOCK=2M:1M\n", 3,
		   "above the hard one");
	is_ignored("[Unit]\nLimitMEMLOCK=infinity\n[Service]\n", 2,
		   "wrong section");
	is_ignored("LimitMEMLOCK=infinity\n", 1, "in no section");
	is_ignored("[Service]\nLimitMemlock=infinity\n", 2, "spelled");
	is_ignored("[Service]\nDefaultLimitMEMLOCK=1M\n", 2, "wrong section");
	/* the last one counts, and what is meant to be ignored is no mistake */
	assert_string_equal(unit("[Service]\nLimitMEMLOCK=all\n"
				 "LimitMEMLOCK=1M\n").ignored, "");
	assert_string_equal(unit("[X-Old]\nLimitMEMLOCK=1\n").ignored, "");
}

/* ---- limits.conf ------------------------------------------------------- */

static const char *const groups[] = { "users", "rdma", NULL };
static const struct conf_user ada = {
	.name = "ada", .uid = 1000, .groups = groups,
};
static const struct conf_user root_user = { .name = "root", .uid = 0 };

/* The values of the last conf(). */
static struct conf_value soft, hard;

static void conf(const char *text, const struct conf_user *user)
{
	struct err e = { 0 };

	soft = hard = (struct conf_value){ .match = CONF_NONE };
	if (conf_parse(str_of(text), "c", user, &soft, &hard, &e) < 0) {
		fail_msg("%s", e.text);
	}
}

static void limits_conf_knows_who_is_meant(void **state)
{
	(void)state;
	conf("# * - memlock 1\n\n*  soft  memlock  64 # why\n"
	     "* hard memlock unlimited\n",
	     &ada);
	assert_int_equal(soft.value_B, 64 * KIB);
	assert_string_equal(soft.source, "c:3");
	assert_true(hard.value_B == UNLIMITED);
	assert_string_equal(soft.text, "*  soft  memlock  64 ");
	/* closer beats later */
	conf("ada - memlock 1\n@rdma - memlock 2\n* - memlock 3\n", &ada);
	assert_int_equal(soft.value_B, 1 * KIB);
	conf("@rdma - memlock 2\n* - memlock 3\n", &ada);
	assert_int_equal(soft.value_B, 2 * KIB);
	/* later beats earlier */
	conf("* - memlock 3\n* soft memlock 4\n", &ada);
	assert_int_equal(soft.value_B, 4 * KIB);
	assert_int_equal(hard.value_B, 3 * KIB);
	conf("1000:2000 - memlock 5\n", &ada);
	assert_int_equal(soft.value_B, 5 * KIB);
	conf("2000: - memlock 5\n@nobodies - memlock 5\n"
	     "* - nofile 5\n",
	     &ada);
	assert_int_equal(soft.match, CONF_NONE);
	/* only its own name means root */
	conf("* - memlock 5\n0:10 - memlock 5\n", &root_user);
	assert_int_equal(soft.match, CONF_NONE);
	conf("root - memlock -1\n", &root_user);
	assert_true(soft.value_B == UNLIMITED);
}

static void limits_conf_says_where_it_is_wrong(void **state)
{
	struct err e = { 0 };
	static const char bad[] = "\n* soft memlock plenty\n";

	(void)state;
	assert_int_equal(conf_parse(str_of(bad), "c", &ada, &soft, &hard, &e),
			 -1);
	assert_says(&e, "line 2");
	/* nobody asks what others have */
	conf("eve soft memlock plenty\n", &ada);
}

/* ---- Slurm ------------------------------------------------------------- */

static bool propagates(const char *limits, const char *except)
{
	char text[400];
	struct slurm_limits s;
	struct err e = { 0 };

	snprintf(text, sizeof(text), "Configuration data as of now\n"
		 "PropagatePrioProcess    = 0\n"
		 "PropagateResourceLimits = %s\n"
		 "PropagateResourceLimitsExcept = %s\n", limits, except);
	if (slurm_config_parse(str_of(text), &s, &e) < 0) {
		fail_msg("%s", e.text);
	}
	return s.propagates;
}

static void slurm_propagates_unless_told(void **state)
{
	struct slurm_limits s;
	struct err e = { 0 };

	(void)state;
	assert_true(propagates("ALL", "(null)"));
	assert_true(propagates("(null)", "(null)"));
	assert_true(propagates("CPU,MEMLOCK", "(null)"));
	assert_false(propagates("CPU,NOFILE", "(null)"));
	assert_false(propagates("NONE", "(null)"));
	assert_false(propagates("(null)", "MEMLOCK"));
	assert_false(propagates("NONE", "CPU,MEMLOCK"));
	assert_false(propagates("ALL", "memlock"));
	assert_true(propagates("(null)", "CPU"));
	assert_true(propagates("NONE", "NOFILE"));
	assert_int_equal(slurm_config_parse(str_of("x = y\n"), &s, &e), -1);
	assert_says(&e, "PropagateResourceLimits");
}

/* ---- ACS --------------------------------------------------------------- */

static void acs_is_of_bridges(void **state)
{
	unsigned char c[512] = { [0x0a] = 0x04, [0x0b] = 0x06 };

	(void)state;
	assert_int_equal(acs_of_config(c, 64), ACS_UNKNOWN);
	assert_int_equal(acs_of_config(c, 8), ACS_UNKNOWN);
	assert_int_equal(acs_of_config(c, sizeof(c)), ACS_NONE);
	/* another capability, then ACS at 0x140 */
	c[0x100] = 0x01;
	c[0x102] = 0x01;
	c[0x103] = 0x14;
	c[0x140] = 0x0d;
	assert_int_equal(acs_of_config(c, sizeof(c)), ACS_OFF);
	c[0x146] = 0x01;	/* source validation alone redirects nothing */
	assert_int_equal(acs_of_config(c, sizeof(c)), ACS_OFF);
	c[0x146] = 0x1d;
	assert_int_equal(acs_of_config(c, sizeof(c)), ACS_REDIRECTS_ON);
	c[0x0b] = 0x02;		/* a NIC */
	assert_int_equal(acs_of_config(c, sizeof(c)), ACS_NONE);
	/* a chain that bites its tail ends */
	c[0x0b] = 0x06;
	c[0x140] = 0x02;
	c[0x142] = 0x01;
	c[0x143] = 0x14;
	assert_int_equal(acs_of_config(c, sizeof(c)), ACS_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_read_by_name),
		cmocka_unit_test(bad_limits_say_where),
		cmocka_unit_test(texts_have_limits),
		cmocka_unit_test(status_has_capability_and_user),
		cmocka_unit_test(cgroups_tell_containers_and_units),
		cmocka_unit_test(mounts_tell_sizes),
		cmocka_unit_test(units_set_limits),
		cmocka_unit_test(lines_that_systemd_ignores),
		cmocka_unit_test(limits_conf_knows_who_is_meant),
		cmocka_unit_test(limits_conf_says_where_it_is_wrong),
		cmocka_unit_test(slurm_propagates_unless_told),
		cmocka_unit_test(acs_is_of_bridges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
