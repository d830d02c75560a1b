/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/cuda.h"

#include <ctype.h>

#include "lib/base/str.h"

#define SYM(field, symbol, args) \
	{ .name = symbol, .offset = offsetof(struct cuda, field) },
#define OPT(field, symbol, args) \
	{ .name = symbol, .offset = offsetof(struct cuda, field), \
	  .optional = true },

static const struct dl_sym cuda_syms[] = {
	CUDA_FUNCTIONS(SYM, OPT) { 0 }
};

static const char *const cuda_names[] = { "libcuda.so.1", NULL };

const struct cuda *dl_cuda(struct err *e)
{
	static struct cuda table;
	static void *handle;

	if (handle == NULL) {
		handle = dl_load("GPUCHECK_CUDA_LIB", cuda_names, cuda_syms,
				 &table, e);
	}
	return handle != NULL ? &table : NULL;
}

const char *dl_cuda_code(const struct cuda *cu, CUresult code,
			 char buf[DL_CUDA_CODE])
{
	static const char prefix[] = "CUDA_ERROR_";
	const char *name = NULL;
	struct str text = STR_INIT;

	if (cu->error_name(code, &name) != CUDA_SUCCESS || name == NULL) {
		name = "unknown";
	}
	if (str_starts(name, prefix)) {
		name += sizeof(prefix) - 1;
	}
	str_add(&text, "cuda_");
	for (; *name != '\0'; name++) {
		str_addch(&text, (char)tolower((unsigned char)*name));
	}
	str_copy(buf, DL_CUDA_CODE, str_text(&text));
	str_release(&text);
	return buf;
}

const char *dl_cuda_text(const struct cuda *cu, CUresult code)
{
	const char *text = NULL;

	if (cu->error_string(code, &text) != CUDA_SUCCESS || text == NULL) {
		text = "unknown CUDA error";
	}
	return text;
}
