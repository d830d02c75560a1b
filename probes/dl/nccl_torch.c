/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/nccl.h"

#include <dirent.h>
#include <glob.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "lib/base/dl.h"
#include "lib/base/net.h"
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

#define LIB	 "/lib{,64}/" SONAME
#define PACKAGES "{nvidia/nccl,torch}/lib/" SONAME
#define PYTHON	 "/lib/python3*/*-packages/" PACKAGES
#define SPACK	 "/opt/spack/{*,*/*}/nccl-*/lib/" SONAME
#define SDK	 "/comm_libs/nccl/lib/" SONAME

/* A library on a file system that does not answer is not found. */
#define SEARCH_S 10

/** Where NCCL is installed outside of the loader's path: a pattern of glob(7),
 *  after each folder in the value of a variable, or, for PATH, after the folder
 *  above that of python3.  What a user has activated comes before what a site
 *  installs.  @in names the place to users. */
static const struct {
	const char *in, *env, *pattern;
} places[] = {
	{ "$NCCL_HOME", "NCCL_HOME", LIB },
	{ "$NCCL_ROOT", "NCCL_ROOT", LIB },
	{ "modules", "EBROOTNCCL", LIB },
	{ "Python", "PYTHONPATH", "/" PACKAGES },
	{ "Python", "VIRTUAL_ENV", PYTHON },
	{ "conda", "CONDA_PREFIX", PYTHON },
	{ "conda", "CONDA_PREFIX", LIB },
	{ "Python", "PATH", PYTHON },
	{ "~/.local", "HOME", "/.local" PYTHON },
	{ "HPC SDK", "NVHPC_ROOT", SDK },
	{ "spack", "SPACK_ROOT", SPACK },
	/* of EasyBuild and spack, whose modules are beside their software */
	{ "modules", "MODULEPATH", "/../../software/NCCL/*" LIB },
	{ "modules", "MODULEPATH", "/../../../.." SPACK },
	{ "/usr", NULL, "/usr" PYTHON },
	{ "/usr/local", NULL, "/usr/local" PYTHON },
	{ "/usr/local", NULL, "/usr/local/nccl*" LIB },
	{ "/usr/local", NULL, "/usr/local/cuda*" LIB },
	{ "/opt", NULL, "/opt/conda" LIB },
	{ "/opt", NULL, "/opt/conda" PYTHON },
	{ "/opt", NULL, "/opt/nvidia/hpc_sdk/Linux_*/*" SDK },
	{ "/opt", NULL, "/opt/spack" SPACK },
	{ "/opt", NULL, "/opt/nccl*" LIB },
};
#define N_PLACES (sizeof(places) / sizeof(places[0]))

/** Add the files of @pattern to @f, the last version first, without those that
 *  it has by another path. */
static void add_files(struct nccl_files *f, const char *pattern, const char *in)
{
	char path[PATH_MAX];
	glob_t g;

	if (glob(pattern, GLOB_BRACE | GLOB_NOSORT, NULL, &g) != 0) {
		return;
	}
	qsort(g.gl_pathv, g.gl_pathc, sizeof(*g.gl_pathv), str_order_text);
	for (size_t i = g.gl_pathc; i-- > 0 && f->n < NCCL_FILES;) {
		size_t k = 0;

		if (!realpath(g.gl_pathv[i], path)) {
			continue;
		}
		while (k < f->n && strcmp(f->list[k].path, path) != 0) {
			k++;
		}
		if (k == f->n) {
			STR_COPY(f->list[k].path, path);
			nccl_torch_version(path, f->list[k].version);
			f->list[f->n++].in = in;
		}
	}
	globfree(&g);
}

static void *search(void *arg)
{
	struct nccl_files *f = arg;
	char program[PATH_MAX];

	for (size_t i = 0; i < N_PLACES; i++) {
		const char *env = places[i].env;
		const char *at = env ? getenv(env) : "/";
		size_t len;

		if (at && env && strcmp(env, "PATH") == 0) {
			at = spawn_find("python3", program, sizeof(program)) ?
				     dirname(dirname(program)) : "";
		}
		for (; at && *at; at += len + (at[len] == ':')) {
			struct str pattern = STR_INIT;

			len = strcspn(at, ":");
			str_add(&pattern, f->root);
			for (size_t k = 0; env && k < len; k++) {
				str_addf(&pattern, "\\%c", at[k]);
			}
			str_add(&pattern, places[i].pattern);
			if (at[0] == '/' && !pattern.failed) {
				add_files(f, str_text(&pattern), places[i].in);
			}
			str_release(&pattern);
		}
	}
	return NULL;
}

struct nccl_files *nccl_find(const char *root)
{
	struct nccl_files *f = calloc(1, sizeof(*f));

	if (f) {
		f->root = root;
	}
	/* an unfinished search keeps its memory */
	return f && within(SEARCH_S, search, f) ? f : NULL;
}
