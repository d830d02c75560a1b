/* SPDX-License-Identifier: BSD-3-Clause */
/* Which NCCL the torch of python3 would load; the python3 here is a script. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "probes/dl/nccl.h"
#include "tests/unit/tree.h"

static char root[] = "/tmp/gpucheck-torch-XXXXXX";

#define SITE	"/venv/lib/python3.11/site-packages"
#define LIBRARY SITE "/nvidia/nccl/lib/libnccl.so.2"

static int set_up(void **state)
{
	char path[2 * PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(root));
	tree_file(root, LIBRARY, "");
	tree_folders(root, SITE "/nvidia_nccl_cu12-2.27.3.dist-info/");
	tree_folders(root, SITE "/nvidia_cublas_cu12-12.8.4.1.dist-info/");
	tree_folders(root, "/bin/");
	snprintf(path, sizeof(path), "%s/bin:%s", root, getenv("PATH"));
	setenv("PATH", path, 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return tree_remove(root);
}

static const struct {
	const char *list, *path;	/* NULL: none */
} lists[] = {
	{ "\tlinux-vdso.so.1 (0x00007ffd)\n"
	  "\tlibtorch.so => /a/libtorch.so (0x00007f12)\n"
	  "\tlibnccl.so.2 => /v env/libnccl.so.2 (0x00007f56)\n",
	  "/v env/libnccl.so.2" },
	/* preloaded */
	{ "\t/opt/x/libnccl.so.2 (0x00007f00)\n", "/opt/x/libnccl.so.2" },
	{ "libnccl.so.2 => /x/libnccl.so.2", "/x/libnccl.so.2" },
	{ "\tlibnccl.so.2 => not found\n", NULL },
	{ "\tlibnccl.so.22 => /x/libnccl.so.22 (0x1)\n", NULL },
	{ "\tmylibnccl.so.2 => /x/mylibnccl.so.2 (0x1)\n", NULL },
	{ "\tlibnccl.so.2 => \n", NULL },
	{ "\tstatically linked\n", NULL },
	{ "libnccl.so.2\n", NULL },
	{ "", NULL },
};

static void the_linker_says_what_it_would_load(void **state)
{
	char path[PATH_MAX];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		int rc = nccl_torch_parse(lists[i].list, path, &e);

		assert_int_equal(rc, lists[i].path != NULL ? 0 : -1);
		if (rc == 0) {
			assert_string_equal(path, lists[i].path);
		} else {
			assert_true(e.text[0] != '\0');
		}
	}
}

static void the_version_is_in_a_name(void **state)
{
	char path[PATH_MAX], version[24];

	(void)state;
	nccl_torch_version("/usr/lib/libnccl.so.2.28.9", version);
	assert_string_equal(version, "2.28.9");
	nccl_torch_version("/usr/lib/libnccl.so.2", version);
	assert_string_equal(version, "");
	nccl_torch_version("libfoo.so", version);
	assert_string_equal(version, "");
	nccl_torch_version("/usr/lib/libnccl.so.2.", version);
	assert_string_equal(version, "");
	snprintf(path, sizeof(path), "%s%s", root, LIBRARY);
	nccl_torch_version(path, version);
	assert_string_equal(version, "2.27.3");
	nccl_torch_version("/none/nvidia/nccl/lib/libnccl.so.2", version);
	assert_string_equal(version, "");
}

/** What a look finds where python3 is @script. */
static int look(const char *script, struct nccl_torch_look *l, struct err *e)
{
	char path[PATH_MAX];

	tree_file(root, "/bin/python3", script);
	snprintf(path, sizeof(path), "%s/bin/python3", root);
	chmod(path, 0700);
	*e = (struct err){ 0 };
	assert_int_equal(nccl_torch_begin(l, e), 0);
	return nccl_torch_end(l, clock_now_ns() + 20 * NS_PER_S, e);
}

static void python_is_asked_once(void **state)
{
	char script[PATH_MAX];
	struct nccl_torch_look t;
	struct err e;

	(void)state;
	/* the dynamic linker is named to it, for it to become that */
	snprintf(script, sizeof(script), "#!/bin/sh\ntest -x \"$3\" || exit 9\n"
		 "echo 'libnccl.so.2 => %s%s (0x1)'\n", root, LIBRARY);
	assert_int_equal(look(script, &t, &e), 0);
	assert_string_equal(t.version, "2.27.3");
	assert_non_null(strstr(t.path, LIBRARY));
	assert_int_equal(look("#!/bin/sh\necho it has no torch >&2\nexit 1\n",
			      &t, &e), -1);
	assert_string_equal(e.text, "python3: it has no torch");
	assert_int_equal(look("#!/bin/sh\nprintf 'Traceback\\n  x\\n"
			      "SyntaxError: y\\n' >&2\nexit 1\n", &t, &e), -1);
	assert_string_equal(e.text, "python3: SyntaxError: y");
	assert_int_equal(look("#!/bin/sh\nexit 3\n", &t, &e), -1);
	assert_string_equal(e.text, "python3: exit code 3");
}

static void a_real_python_without_torch(void **state)
{
	struct nccl_torch_look l;
	char path[PATH_MAX];
	struct err e = { 0 };

	(void)state;
	snprintf(path, sizeof(path), "%s/bin/python3", root);
	unlink(path);
	/* one that stands in its directory is no torch of a job */
	tree_folders(root, "/torch/");
	if (chdir(root) < 0 || nccl_torch_begin(&l, &e) < 0) {
		skip();
	}
	setenv("PYTHONPATH", "", 1);
	if (nccl_torch_end(&l, clock_now_ns() + 60 * NS_PER_S, &e) < 0) {
		assert_string_equal(e.text, "python3: it has no torch");
	}
	assert_int_equal(chdir("/"), 0);
}

/* Its __init__.py is not run, and the program of this test, which stands in for
 * its library, needs no NCCL. */
static void a_real_python_with_a_torch(void **state)
{
	char path[64], lib[128], self[PATH_MAX];
	struct nccl_torch_look l;
	struct err e = { 0 };

	(void)state;
	snprintf(path, sizeof(path), "%s/site", root);
	tree_file(root, "/site/torch/__init__.py", "raise SystemExit(7)\n");
	tree_folders(root, "/site/torch/lib/");
	snprintf(lib, sizeof(lib), "%s/torch/lib/libtorch_cuda.so", path);
	assert_int_equal(spawn_self(self, sizeof(self), &e), 0);
	assert_int_equal(symlink(self, lib), 0);
	setenv("PYTHONPATH", path, 1);
	if (nccl_torch_begin(&l, &e) < 0) {
		skip();
	}
	assert_int_equal(nccl_torch_end(&l, clock_now_ns() + 60 * NS_PER_S, &e),
			 -1);
	assert_string_equal(e.text,
			    "python3: its torch has NCCL built in, or none");
	unsetenv("PYTHONPATH");
}

#define SONAME "libnccl.so.2"

/** Check that a search below @tree finds the @n files @want, in that order. */
static void finds(const char *tree, const char *const want[], size_t n)
{
	struct nccl_files *f = nccl_find(tree);

	assert_non_null(f);
	assert_int_equal(f->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_true(str_starts(f->list[i].path, tree));
		assert_string_equal(f->list[i].path + strlen(tree), want[i]);
	}
	free(f);
}

/* Where sites and users install it, in the order of precedence. */
static void nccl_is_found_where_users_have_it(void **state)
{
	static const struct {
		const char *env, *value, *file, *in;
	} layouts[] = {
		{ "NCCL_HOME", "/apps/nccl", "/apps/nccl/lib64/" SONAME,
		  "$NCCL_HOME" },
		{ "EBROOTNCCL", "/eb/[NCCL]", "/eb/[NCCL]/lib/" SONAME,
		  "modules" },
		{ "PYTHONPATH", "lib:/none:/site",
		  "/site/nvidia/nccl/lib/" SONAME, "Python" },
		{ "VIRTUAL_ENV", "/venv2",
		  "/venv2/lib/python3.12/site-packages/nvidia/nccl/lib/"
		  SONAME, "Python" },
		{ "CONDA_PREFIX", "/conda", "/conda/lib/" SONAME, "conda" },
		{ "HOME", "/home/a", "/home/a/.local/lib/python3.12/"
		  "site-packages/torch/lib/" SONAME, "~/.local" },
		{ "NVHPC_ROOT", "/nvhpc", "/nvhpc/comm_libs/nccl/lib/" SONAME,
		  "HPC SDK" },
		{ "SPACK_ROOT", "/spack", "/spack/opt/spack/linux-rocky9-zen3/"
		  "gcc-12.2/nccl-2.18.3-abc/lib/" SONAME, "spack" },
		{ "MODULEPATH", "/none:/apps/modules/all",
		  "/apps/software/NCCL/2.18.3-GCCcore-12.3.0-CUDA-12.1.1/lib/"
		  SONAME, "modules" },
		{ NULL, NULL, "/usr/lib/python3/dist-packages/nvidia/nccl/lib/"
		  SONAME, "/usr" },
		{ NULL, NULL, "/opt/nvidia/hpc_sdk/Linux_x86_64/24.9/comm_libs/"
		  "nccl/lib/" SONAME, "/opt" },
		{ NULL, NULL, "/opt/spack/opt/spack/linux-zen4/nccl-2.27.5-x/"
		  "lib/" SONAME, "/opt" },
		{ NULL, NULL, "/opt/nccl-2.28/lib/" SONAME, "/opt" },
	};
	enum { N = sizeof(layouts) / sizeof(layouts[0]) };
	char link[2 * PATH_MAX], to[2 * PATH_MAX], tree[] = "/tmp/nccl-XXXXXX";
	const char *want[N];
	struct nccl_files *f;
	char *old = strdup(getenv("PATH"));

	(void)state;
	assert_non_null(mkdtemp(tree));
	setenv("PATH", "/nowhere", 1);
	setenv("HOME", "/nowhere", 1);
	finds(tree, NULL, 0);
	tree_folders(tree, "/apps/modules/all/");
	/* from the last on, each comes before those that are there */
	for (size_t i = N; i-- > 0;) {
		const size_t n = N - i < NCCL_FILES ? N - i : NCCL_FILES;

		want[i] = layouts[i].file;
		tree_file(tree, layouts[i].file, "");
		if (layouts[i].env) {
			finds(tree, want + i + 1,
			      N - 1 - i < n ? N - 1 - i : n);
			setenv(layouts[i].env, layouts[i].value, 1);
		}
		finds(tree, want + i, n);
		f = nccl_find(tree);
		assert_string_equal(f->list[0].in, layouts[i].in);
		free(f);
		assert_non_null(strstr(NCCL_PLACES, layouts[i].in));
	}
	for (size_t i = 0; i < N; i++) {
		if (layouts[i].env) {
			unsetenv(layouts[i].env);
		}
	}
	/* of several versions the last one is first */
	tree_file(tree, "/opt/nvidia/hpc_sdk/Linux_x86_64/24.11/comm_libs/nccl/"
		  "lib/" SONAME, "");
	want[8] = want[9];
	want[9] = "/opt/nvidia/hpc_sdk/Linux_x86_64/24.11/comm_libs/nccl/lib/"
		  SONAME;
	finds(tree, want + 8, 5);
	/* a link is the file that it leads to, and counts once */
	tree_file(tree, "/usr/local/cuda-12.9/lib64/libnccl.so.2.27.3", "");
	snprintf(link, sizeof(link), "%s/usr/local/cuda-12.9/lib64/" SONAME,
		 tree);
	assert_int_equal(symlink("libnccl.so.2.27.3", link), 0);
	snprintf(link, sizeof(link), "%s/usr/local/cuda", tree);
	assert_int_equal(symlink("cuda-12.9", link), 0);
	snprintf(to, sizeof(to), "%s/opt/nccl-2.28/lib/" SONAME, tree);
	unlink(to);
	assert_int_equal(symlink("/nowhere", to), 0);
	f = nccl_find(tree);
	assert_int_equal(f->n, 5);
	assert_string_equal(f->list[1].version, "2.27.3");
	assert_string_equal(f->list[1].in, "/usr/local");
	free(f);
	setenv("PATH", old, 1);
	free(old);
	assert_int_equal(tree_remove(tree), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_linker_says_what_it_would_load),
		cmocka_unit_test(the_version_is_in_a_name),
		cmocka_unit_test(python_is_asked_once),
		cmocka_unit_test(a_real_python_without_torch),
		cmocka_unit_test(a_real_python_with_a_torch),
		cmocka_unit_test(nccl_is_found_where_users_have_it),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
