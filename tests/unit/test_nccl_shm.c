/* SPDX-License-Identifier: BSD-3-Clause */
/* What NCCL leaves in /dev/shm: the files of this process, nobody else's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "probes/nccl/env.h"

static const char mine[] = "/dev/shm/nccl-XXXXXX";

/* A file as NCCL makes them, of which the name is left in @path. */
static void *make(char *path, bool mapped)
{
	int fd = mkstemp(path);
	void *at = NULL;

	assert_true(fd >= 0 && ftruncate(fd, 4096) == 0);
	if (mapped) {
		at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	}
	close(fd);
	return at;
}

static void unlinks_what_is_mapped(void **state)
{
	char one[sizeof(mine)], two[sizeof(mine)], other[sizeof(mine)];
	void *at[2];

	(void)state;
	memcpy(one, mine, sizeof(mine));
	memcpy(two, mine, sizeof(mine));
	memcpy(other, mine, sizeof(mine));
	at[0] = make(one, true);
	at[1] = make(two, true);
	make(other, false);
	assert_int_equal(nccl_shm_unlink(), 2);
	assert_true(access(one, F_OK) < 0 && access(two, F_OK) < 0);
	/* another process's, which may need it still */
	assert_true(access(other, F_OK) == 0);
	/* "(deleted)" by now */
	assert_int_equal(nccl_shm_unlink(), 0);
	munmap(at[0], 4096);
	munmap(at[1], 4096);
	unlink(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unlinks_what_is_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
