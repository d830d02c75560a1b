/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/nccl.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "lib/base/dl.h"

#define SONAME	  "libnccl.so.2"
#define LIST_MAX  (256 * 1024)
#define DIGITS	  "0123456789."

/* No module of the working directory: "" leaves sys.path before any import
 * but that of sys, which is built in. */
static const char find_torch[] =
	"import sys\n"
	"sys.path[:] = [p for p in sys.path if p]\n"
	"import os, importlib.util as u\n"
	"s = u.find_spec('torch')\n"
	"d = list(s.submodule_search_locations or []) if s else []\n"
	"if not d: raise SystemExit('it has no torch')\n"
	"lib = os.path.join(d[0], 'lib', 'libtorch_cuda.so')\n"
	"if not os.path.exists(lib): raise SystemExit('it has no ' + lib)\n"
	"os.execv(sys.argv[1], [sys.argv[1], '--list', lib])\n";

int nccl_torch_begin(struct nccl_torch_look *l, struct err *e)
{
	char linker[PATH_MAX];
	/* where the kernel has put the dynamic linker of this process */
	const void *base = (const void *)getauxval(AT_BASE);
	char *const argv[] = { (char *)"python3", (char *)"-c",
			       (char *)(uintptr_t)find_torch, linker, NULL };

	*l = (struct nccl_torch_look){ .out = STR_INIT, .why = STR_INIT };
	dl_path(base, linker);
	return spawn_start(&l->child, argv, &l->out, &l->why, LIST_MAX, e);
}

int nccl_torch_parse(const char *text, char path[PATH_MAX], struct err *e)
{
	while (*text != '\0') {
		const char *line = text + strspn(text, " \t");
		size_t len = strcspn(line, "\n"), n = strcspn(line, " \n");
		const char *arrow = memmem(line, len, " => ", 4);
		const char *file = arrow != NULL ? arrow + 4 : line;

		text = line + len + (line[len] == '\n');
		/* one that is preloaded by its path has no arrow */
		if (n < strlen(SONAME) ||
		    strncmp(line + n - strlen(SONAME), SONAME,
			    strlen(SONAME)) != 0 ||
		    (n > strlen(SONAME) &&
		     line[n - strlen(SONAME) - 1] != '/')) {
			continue;
		}
		n = strcspn(file, "\n");
		arrow = memmem(file, n, " (", 2);
		n = arrow != NULL ? (size_t)(arrow - file) : n;
		if (file[0] != '/' || n >= PATH_MAX) {
			return err_set(e, 0, "its torch needs " SONAME
					     ", which is not found");
		}
		snprintf(path, PATH_MAX, "%.*s", (int)n, file);
		return 0;
	}
	return err_set(e, 0, "its torch has NCCL built in, or none");
}

static int take_list(struct nccl_torch_look *l, const struct spawn_status *st,
		     char path[PATH_MAX], struct err *e)
{
	const char *why = str_text(&l->why), *line = why;
	size_t len = strlen(why);
	char text[96];

	if (st->exit_code == 0) {
		return nccl_torch_parse(str_text(&l->out), path, e);
	}
	while (len > 0 && why[len - 1] == '\n') {
		len--;
	}
	if (len == 0) {
		return err_set(e, 0, "%s", spawn_status_text(st, text,
							     sizeof(text)));
	}
	line = memrchr(why, '\n', len);	/* the last says it */
	line = line != NULL ? line + 1 : why;
	return err_set(e, 0, "%.*s", (int)(why + len - line), line);
}

int nccl_torch_end(struct nccl_torch_look *l, int64_t deadline_ns,
		   struct nccl_torch *t, struct err *e)
{
	struct spawn_status st;
	char path[PATH_MAX];
	struct err why = { 0 };
	int rc;

	spawn_finish(&l->child, deadline_ns, &st);
	rc = take_list(l, &st, path, &why);
	if (rc < 0) {
		err_set(e, 0, "python3: %s", why.text);
	} else {
		if (realpath(path, t->path) == NULL) {
			snprintf(t->path, sizeof(t->path), "%s", path);
		}
		nccl_torch_version(t->path, t->version);
	}
	str_release(&l->out);
	str_release(&l->why);
	return rc;
}

/* ---- the version --------------------------------------------------------- */

/* "2.28.9" of @text, which is that and @end. */
static void take_version(const char *text, const char *end, char version[24])
{
	size_t n = strspn(text, DIGITS);

	n -= n > 0 && text[n - 1] == '.';
	if (n > 0 && n < 24 && strcmp(text + n, end) == 0) {
		snprintf(version, 24, "%.*s", (int)n, text);
	}
}

/* Read name and version of a library that pip installed: it is
 * PREFIX/nvidia/nccl/lib/libnccl.so.2, and a folder in PREFIX carries its
 * package's name and version. */
static void ask_package(const char *path, char version[24])
{
	static const char inside[] = "/nvidia/nccl/lib/" SONAME;
	static const char name[] = "nvidia_nccl_cu";
	size_t len = strlen(path), n = strlen(inside);
	char prefix[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	if (len <= n || len >= PATH_MAX || !str_ends(path, inside)) {
		return;
	}
	snprintf(prefix, sizeof(prefix), "%.*s", (int)(len - n), path);
	dir = opendir(prefix);
	while (dir != NULL && version[0] == '\0' &&
	       (d = readdir(dir)) != NULL) {
		if (str_starts(d->d_name, name)) {
			const char *dash = strchr(d->d_name, '-');

			take_version(dash != NULL ? dash + 1 : "",
				     ".dist-info", version);
		}
	}
	if (dir != NULL) {
		closedir(dir);
	}
}

void nccl_torch_version(const char *path, char version[24])
{
	const char *name = strrchr(path, '/');

	version[0] = '\0';
	name = strstr(name != NULL ? name : path, ".so.");
	if (name != NULL) {
		take_version(name + strlen(".so."), "", version);
	}
	if (strchr(version, '.') == NULL) {
		version[0] = '\0';	/* "2" of libnccl.so.2 is none */
		ask_package(path, version);
	}
}
