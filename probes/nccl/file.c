/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/nccl/file.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/input.h"
/* Every NCCL has it, and whatever takes its place. */
#define NAME "ncclCommInitRank"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

static bool is_library(const Elf64_Ehdr *h, size_t len)
{
	return len >= sizeof(*h) && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
	       h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_type == ET_DYN &&
	       h->e_machine == MACHINE;
}

/** 1: the rest of @f has the name, 0: it has not, -1: it cannot be read. */
static int has_name(FILE *f, char *buf, size_t size, size_t len)
{
	size_t keep;

	while (!memmem(buf, len, NAME, strlen(NAME))) {
		/* a name may lie across the end of what was read */
		keep = len < strlen(NAME) ? len : strlen(NAME) - 1;
		memmove(buf, buf + len - keep, keep);
		len = fread(buf + keep, 1, size - keep, f);
		if (len == 0) {
			return ferror(f) ? -1 : 0;
		}
		len += keep;
	}
	return 1;
}

int nccl_file_check_stream(FILE *f, const char *path, struct err *e)
{
	char buf[65536];
	size_t len = fread(buf, 1, sizeof(buf), f);
	Elf64_Ehdr head = { 0 };
	int rc;

	memcpy(&head, buf, len < sizeof(head) ? len : sizeof(head));
	if (!ferror(f) && !is_library(&head, len)) {
		return err_set(e, 0, "'%s' is not a shared library for this "
				     "architecture", path);
	}
	rc = has_name(f, buf, sizeof(buf), len);
	if (rc < 0 || ferror(f)) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	return rc > 0 ? 0 :
			err_set(e, 0, "'%s' has no " NAME ": it is not NCCL, "
				      "nor a replacement for it", path);
}

int nccl_file_check(const char *path, struct err *e)
{
	FILE *f = input_open(path, 0, e);
	int rc;

	if (!f) {
		return -1;
	}
	rc = nccl_file_check_stream(f, path, e);
	fclose(f);
	return rc;
}
