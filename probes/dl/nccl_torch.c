/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/nccl.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "lib/base/dl.h"
#include "lib/base/str.h"

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

int nccl_torch_end(struct nccl_torch_look *l, int64_t deadline_ns,
		   struct err *e)
{
	const char *says, *line;
	struct spawn_status st;
	char path[PATH_MAX], text[96];
	struct err why = { 0 };
	size_t len;
	int rc;

	spawn_finish(&l->child, deadline_ns, &st);
	says = str_text(&l->why);
	for (len = strlen(says); len > 0 && says[len - 1] == '\n'; len--) {
	}
	line = len > 0 ? memrchr(says, '\n', len) : NULL;
	line = line != NULL ? line + 1 : says; /* the last line tells why */
	if (st.exit_code == 0) {
		rc = nccl_torch_parse(str_text(&l->out), path, &why);
	} else if (len == 0) {
		rc = err_set(&why, 0, "%s",
			     spawn_status_text(&st, text, sizeof(text)));
	} else {
		rc = err_set(&why, 0, "%.*s", (int)(says + len - line), line);
	}
	if (rc < 0) {
		err_set(e, 0, "python3: %s", why.text);
	} else {
		if (realpath(path, l->path) == NULL) {
			snprintf(l->path, sizeof(l->path), "%s", path);
		}
		nccl_torch_version(l->path, l->version);
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

void nccl_torch_version(const char *path, char version[24])
{
	const char *name = strrchr(path, '/');
	static const char inside[] = "/nvidia/nccl/lib/" SONAME;
	static const char package[] = "nvidia_nccl_cu";
	size_t len = strlen(path), n = strlen(inside);
	char prefix[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	version[0] = '\0';
	name = strstr(name != NULL ? name : path, ".so.");
	if (name != NULL) {
		take_version(name + strlen(".so."), "", version);
	}
	if (strchr(version, '.') != NULL) {
		return;
	}
	version[0] = '\0'; /* "2" of libnccl.so.2 is none */
	/* a library that pip installed is PREFIX/nvidia/nccl/lib/libnccl.so.2,
	 * and a folder in PREFIX carries its package's name and version */
	if (len <= n || len >= PATH_MAX || !str_ends(path, inside)) {
		return;
	}
	snprintf(prefix, sizeof(prefix), "%.*s", (int)(len - n), path);
	dir = opendir(prefix);
	while (dir != NULL && version[0] == '\0' &&
	       (d = readdir(dir)) != NULL) {
		if (str_starts(d->d_name, package)) {
			const char *dash = strchr(d->d_name, '-');

			take_version(dash != NULL ? dash + 1 : "",
				     ".dist-info", version);
		}
	}
	if (dir != NULL) {
		closedir(dir);
	}
}

/* ---- other places -------------------------------------------------------- */

#define WHEEL "/lib/python3*/*-packages/nvidia/nccl/lib/" SONAME

/** Where NCCL is installed outside of the loader's path: a pattern of glob(7),
 *  behind the value of a variable, or, for PATH, behind the folder above that
 *  of python3.  What a user has activated comes before what a site installs. */
static const struct {
	const char *env, *pattern;
} places[] = {
	{ "NCCL_HOME", "/lib*/" SONAME },
	{ "NCCL_ROOT", "/lib*/" SONAME },
	{ "EBROOTNCCL", "/lib*/" SONAME },
	{ "VIRTUAL_ENV", WHEEL },
	{ "CONDA_PREFIX", WHEEL },
	{ "CONDA_PREFIX", "/lib/" SONAME },
	{ "PATH", WHEEL },
	{ "NVHPC_ROOT", "/comm_libs/nccl/lib/" SONAME },
	{ "SPACK_ROOT", "/opt/spack/*/*/nccl-*/lib/" SONAME },
	{ NULL, "/usr" WHEEL },
	{ NULL, "/usr/local" WHEEL },
	{ NULL, "/opt/conda/lib/" SONAME },
	{ NULL, "/opt/conda" WHEEL },
	{ NULL, "/opt/nvidia/hpc_sdk/Linux_*/*/comm_libs/nccl/lib/" SONAME },
	{ NULL, "/opt/spack/opt/spack/*/*/nccl-*/lib/" SONAME },
	{ NULL, "/usr/local/nccl*/lib*/" SONAME },
	{ NULL, "/usr/local/cuda*/lib64/" SONAME },
	{ NULL, "/opt/nccl*/lib*/" SONAME },
};

/** The folder that the variable @env names, "" for none, into @prefix. */
static void prefix_of(const char *env, char prefix[PATH_MAX])
{
	const char *value = env != NULL ? getenv(env) : "";
	char program[PATH_MAX] = "";

	prefix[0] = '\0';
	if (env == NULL || value == NULL || value[0] != '/') {
		return;
	}
	if (strcmp(env, "PATH") == 0) {
		spawn_find("python3", program, sizeof(program));
		for (int i = 0; i < 2; i++) {
			*(strrchr(program, '/') != NULL ?
				  strrchr(program, '/') : program) = '\0';
		}
		value = program;
	}
	snprintf(prefix, PATH_MAX, "%.4000s", value);
}

size_t nccl_find(const char *root, char path[PATH_MAX])
{
	size_t found = 0;

	path[0] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char prefix[PATH_MAX], pattern[2 * PATH_MAX];
		size_t last = 0;
		glob_t g;

		prefix_of(places[i].env, prefix);
		if (places[i].env != NULL && prefix[0] == '\0') {
			continue;
		}
		snprintf(pattern, sizeof(pattern), "%s%s%s", root, prefix,
			 places[i].pattern);
		if (glob(pattern, 0, NULL, &g) != 0) {
			continue;
		}
		/* of several versions the last one */
		for (size_t k = 1; k < g.gl_pathc; k++) {
			last = str_order(g.gl_pathv[k], g.gl_pathv[last]) > 0 ?
				       k : last;
		}
		if (found == 0) {
			snprintf(path, PATH_MAX, "%s", g.gl_pathv[last]);
		}
		found += g.gl_pathc;
		globfree(&g);
	}
	return found;
}
