/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/tar.h"

#include <stdio.h>
#include <string.h>

#define BLOCK 512

/** POSIX.1-2001, pax(1), "ustar Interchange Format": octal digits, ended by a
 *  NUL; names may fill their field. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
	char type, link[100], magic[6], version[2], user[32], group[32];
	char major[8], minor[8], prefix[155], pad[12];
};

_Static_assert(sizeof(struct tar_header) == BLOCK, "a header is one block");

static const char zeros[2 * BLOCK];
const size_t tar_end_size = sizeof(zeros);

/** To the end of the last block. */
static size_t padding(size_t len)
{
	return (BLOCK - len % BLOCK) % BLOCK;
}

size_t tar_size(size_t len)
{
	return BLOCK + len + padding(len);
}

#define OCTAL(field, value) \
	snprintf((field), sizeof(field), "%0*llo", (int)sizeof(field) - 1, \
		 (unsigned long long)(value))

bool tar_add(struct str *out, const char *name, const void *data, size_t len,
	     int64_t mtime_s)
{
	const uint64_t most = UINT64_C(077777777777);	/* 11 digits */
	struct tar_header h = { .type = '0', .magic = "ustar",
			    .version = { '0', '0' } };
	const unsigned char *byte = (const unsigned char *)&h;
	const size_t n = strlen(name);
	const char *rest = name;	/* fits the field of the name */
	unsigned sum = 0;

	if (len > most || n == 0) {
		return false;
	}
	if (n > sizeof(h.name)) {
		/* from the first slash that leaves a rest which fits */
		rest = strchr(name + n - sizeof(h.name) - 1, '/');
		if (!rest || !rest[1] || rest == name ||
		    (size_t)(rest - name) > sizeof(h.prefix)) {
			return false;
		}
		memcpy(h.prefix, name, (size_t)(rest - name));
		rest++;
	}
	memcpy(h.name, rest, strlen(rest));
	OCTAL(h.mode, 0644);
	OCTAL(h.uid, 0);
	OCTAL(h.gid, 0);
	OCTAL(h.size, len);
	OCTAL(h.mtime, mtime_s < 0 ? 0 : (uint64_t)mtime_s & most);
	memset(h.sum, ' ', sizeof(h.sum));	/* as it is summed up */
	for (size_t i = 0; i < BLOCK; i++) {
		sum += byte[i];
	}
	snprintf(h.sum, sizeof(h.sum) - 1, "%06o", sum);
	str_addmem(out, &h, sizeof(h));
	str_addmem(out, data, len);
	str_addmem(out, zeros, padding(len));
	return true;
}

void tar_end(struct str *out)
{
	str_addmem(out, zeros, sizeof(zeros));
}
