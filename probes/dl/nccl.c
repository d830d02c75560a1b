/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/nccl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"

#define LIBRARY	 "GPUCHECK_NCCL_LIB"
/* Python and its folders may be on a slow file system. */
#define TORCH_NS (30 * NS_PER_S)

#define SYM(type, fn, args) DL_SYM(struct nccl, fn),
#define OPT(type, fn, args) DL_OPT(struct nccl, fn),

static const struct dl_sym nccl_syms[] = {
	NCCL_FUNCTIONS(SYM, OPT) { 0 }
};

/** Load the first library of nccl_find() that loads into @table.  NULL with @e:
 *  if no place has a library, @why and the names of the places. */
static void *load_found(struct nccl *table, const struct err *why,
			struct err *e)
{
	struct nccl_files *f = nccl_find("");
	const char *names[NCCL_FILES + 1] = { NULL };
	char path[PATH_MAX];
	void *handle = NULL;

	for (size_t i = 0; f && i < f->n; i++) {
		names[i] = f->list[i].path;
	}
	if (names[0]) {
		handle = dl_load(NULL, names, nccl_syms, table, e);
	} else {
		const bool absent = why->code == ENOENT;

		err_set(e, 0, "%s%s" NCCL_PLACES,
			absent ? "cannot load 'libnccl.so.2'" : why->text,
			absent ? ": it is not in " : "; searched: ");
	}
	for (size_t i = 0; handle && i < f->n; i++) {
		dl_path((void *)table->ncclGetVersion, path);
		if (strcmp(path, f->list[i].path) == 0) {
			table->in = f->list[i].in;
		}
	}
	free(f);
	return handle;
}

const struct nccl *dl_nccl(struct err *e)
{
	static struct nccl table;
	static void *handle;
	const char *names[] = { "libnccl.so.2", NULL };
	const char *wanted = getenv(LIBRARY);
	struct nccl_torch_look look;
	struct err why;

	if (handle != NULL) {
		return &table;
	}
	/* "torch" stands for the library that PyTorch loads: find its path */
	if (wanted != NULL && strcmp(wanted, "torch") == 0 &&
	    (nccl_torch_begin(&look, e) < 0 ||
	     nccl_torch_end(&look, clock_now_ns() + TORCH_NS, e) < 0 ||
	     setenv(LIBRARY, look.path, 1) < 0)) {
		return NULL;
	}
	table.in = wanted != NULL && wanted[0] != '\0' ? LIBRARY : NCCL_LOADER;
	handle = dl_load(LIBRARY, names, nccl_syms, &table, &why);
	if (handle == NULL && strcmp(table.in, NCCL_LOADER) == 0) {
		handle = load_found(&table, &why, e);
	} else if (handle == NULL && e != NULL) {
		*e = why;
	}
	return handle != NULL ? &table : NULL;
}

const char *dl_nccl_code(ncclResult_t result)
{
	static const char *const codes[] = {
		[ncclSuccess] = "nccl_success",
		[ncclUnhandledCudaError] = "nccl_unhandled_cuda_error",
		[ncclSystemError] = "nccl_system_error",
		[ncclInternalError] = "nccl_internal_error",
		[ncclInvalidArgument] = "nccl_invalid_argument",
		[ncclInvalidUsage] = "nccl_invalid_usage",
		[ncclRemoteError] = "nccl_remote_error",
		[ncclInProgress] = "nccl_in_progress",
	};
	size_t i = (size_t)result;

	return i < sizeof(codes) / sizeof(codes[0]) ? codes[i] : "nccl_error";
}

const char *dl_nccl_version_text(int code, char buf[DL_NCCL_VERSION])
{
	int major_unit = code < 10000 ? 1000 : 10000;	/* 2804, then 20900 */

	snprintf(buf, DL_NCCL_VERSION, "%d.%d.%d", code / major_unit,
		 code % major_unit / 100, code % 100);
	return buf;
}
