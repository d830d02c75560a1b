/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/record_rows.h"
#include "probes/memlock/look.h"

#define PAGE 4096
#define MIB  (INT64_C(1) << 20)

/* ---- the search -------------------------------------------------------- */

static int64_t breaks_above;
static int attempts;

static int attempt(int64_t size_B, void *arg)
{
	(void)arg;
	assert_int_equal(size_B % PAGE, 0);
	attempts++;
	return size_B > breaks_above ? ENOMEM : 0;
}

static struct trial search(int64_t limit, int64_t first, int64_t ceiling)
{
	struct trial b = {
		.unit_B = PAGE,
		.first_B = first,
		.ceiling_B = ceiling,
		.attempt = attempt,
	};

	breaks_above = limit;
	attempts = 0;
	trial_bisect(&b);
	return b;
}

/** For every page of a small range, and the limits that clusters have. */
static void the_break_is_found_to_the_page(void **state)
{
	static const int64_t limits[] = { 16 << 10, 64 << 10, 8 << 20 };
	struct trial r;

	(void)state;
	for (int64_t limit = 0; limit < 64 * PAGE; limit += PAGE) {
		r = search(limit, 16 * PAGE, 64 * PAGE);
		assert_int_equal(r.max_ok_B, limit);
		assert_int_equal(r.min_fail_B, limit + PAGE);
		assert_int_equal(r.error, ENOMEM);
		assert_true(attempts < 16);
	}
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		r = search(limits[i] + 5, 32 * MIB, 32 * MIB);
		assert_int_equal(r.max_ok_B, limits[i]);
		assert_int_equal(r.min_fail_B, limits[i] + PAGE);
	}
}

static void nothing_breaks(void **state)
{
	struct trial r;

	(void)state;
	r = search(INT64_MAX, PAGE, 6 * PAGE);
	assert_int_equal(r.max_ok_B, 6 * PAGE);
	assert_true(r.min_fail_B == RECORD_NONE);
	assert_int_equal(attempts, 4);	/* 1 2 4 6 */
}

/* ---- what was refused -------------------------------------------------- */

static const struct refusal usual = {
	.check = CHECK_CQ, .error = ENOMEM, .tried_B = 256 << 10,
	.limit_B = MEMLOCK_UNLIMITED, .cgroup_B = MEMLOCK_UNLIMITED,
	.maps = 50, .max_maps = 65530, .device_max = 1000,
};

static void is_called(const struct refusal *r, const char *code)
{
	char detail[400];

	assert_string_equal(refusal_explain(r, detail, sizeof(detail)), code);
	assert_non_null(strstr(detail, r->error ? strerror(r->error) :
						  "no reason given"));
}

#define IS_CALLED(code, ...) do { \
	struct refusal r = usual; \
	const struct refusal with = { __VA_ARGS__ }; \
	(void)with; \
	set(&r, &with); \
	is_called(&r, code); \
} while (0)

/** Members of @with that are not zero replace those of @r. */
static void set(struct refusal *r, const struct refusal *with)
{
	r->check = with->check ? with->check : r->check;
	r->error = with->error ? with->error : r->error;
	r->tried_B = with->tried_B ? with->tried_B : r->tried_B;
	r->nothing_works = with->nothing_works;
	r->limit_B = with->limit_B ? with->limit_B : r->limit_B;
	r->cgroup_B = with->cgroup_B ? with->cgroup_B : r->cgroup_B;
	r->maps = with->maps ? with->maps : r->maps;
}

static void enomem_at_the_limit_is_memlock(void **state)
{
	(void)state;
	IS_CALLED("memlock_enomem", .limit_B = 64 << 10);
	IS_CALLED("memlock_enomem", .limit_B = 8 * MIB,
		  .tried_B = 8 * MIB + PAGE);
	IS_CALLED("memlock_enomem", .limit_B = 1, .tried_B = PAGE,
		  .nothing_works = true);
	IS_CALLED("memlock_enomem", .check = CHECK_MLOCK, .error = EPERM,
		  .limit_B = 1);
	IS_CALLED("memlock_enomem", .check = CHECK_MLOCK, .error = EAGAIN,
		  .limit_B = 1);
}

static void enomem_elsewhere_is_not(void **state)
{
	(void)state;
	IS_CALLED("enomem_not_memlock", .tried_B = 16 * MIB);
	IS_CALLED("enomem_not_memlock", .limit_B = 64 * MIB);
	IS_CALLED("device_full", .nothing_works = true);
	IS_CALLED("device_full", .nothing_works = true, .error = ENOSPC);
	IS_CALLED("cgroup_memory", .cgroup_B = 1 << 17);
	IS_CALLED("map_count", .maps = 65530);
	IS_CALLED("fd_limit", .error = EMFILE);
	IS_CALLED("infiniband_denied", .error = EACCES);
	IS_CALLED("infiniband_denied", .error = EPERM);
	IS_CALLED("infiniband_missing", .error = ENOENT);
	IS_CALLED("infiniband_missing", .error = ENODEV);
	IS_CALLED("refused", .error = EINVAL);
}

static void what_gives_no_errno_denies_nothing(void **state)
{
	struct refusal r = usual;

	(void)state;
	r.error = 0;
	is_called(&r, "refused");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_break_is_found_to_the_page),
		cmocka_unit_test(nothing_breaks),
		cmocka_unit_test(enomem_at_the_limit_is_memlock),
		cmocka_unit_test(enomem_elsewhere_is_not),
		cmocka_unit_test(what_gives_no_errno_denies_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
