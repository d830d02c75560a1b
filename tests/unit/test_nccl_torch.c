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

/* Eight ways in which sites and users install it; the first listed counts. */
static void nccl_is_found_where_users_have_it(void **state)
{
	static const struct {
		const char *env, *value, *file;
	} layouts[] = {
		{ "NCCL_HOME", "/apps/nccl", "/apps/nccl/lib64/" SONAME },
		{ "VIRTUAL_ENV", "/venv2",
		  "/venv2/lib/python3.12/site-packages/nvidia/nccl/lib/"
		  SONAME },
		{ "CONDA_PREFIX", "/conda", "/conda/lib/" SONAME },
		{ "NVHPC_ROOT", "/nvhpc", "/nvhpc/comm_libs/nccl/lib/" SONAME },
		{ "SPACK_ROOT", "/spack", "/spack/opt/spack/linux-rocky9-zen3/"
		  "gcc-12.2/nccl-2.18.3-abc/lib/" SONAME },
		{ NULL, NULL, "/usr/lib/python3/dist-packages/nvidia/nccl/lib/"
		  SONAME },
		{ NULL, NULL, "/opt/nvidia/hpc_sdk/Linux_x86_64/24.9/comm_libs/"
		  "nccl/lib/" SONAME },
		{ NULL, NULL, "/opt/nccl-2.28/lib/" SONAME },
	};
	const size_t n = sizeof(layouts) / sizeof(layouts[0]);
	char path[PATH_MAX], want[2 * PATH_MAX], tree[] = "/tmp/nccl-XXXXXX";
	char old[2 * PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(tree));
	snprintf(old, sizeof(old), "%s", getenv("PATH"));
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(nccl_find(tree, path), 0);
	assert_string_equal(path, "");
	/* from the last on, each comes before those that are there */
	for (size_t i = n; i-- > 0;) {
		tree_file(tree, layouts[i].file, "");
		if (layouts[i].env) {
			assert_int_equal(nccl_find(tree, path), n - 1 - i);
			setenv(layouts[i].env, layouts[i].value, 1);
		}
		assert_int_equal(nccl_find(tree, path), n - i);
		snprintf(want, sizeof(want), "%s%s", tree, layouts[i].file);
		assert_string_equal(path, want);
	}
	/* of several versions the last */
	for (size_t i = 0; i < n; i++) {
		if (layouts[i].env) {
			unsetenv(layouts[i].env);
		}
	}
	tree_file(tree, "/opt/nvidia/hpc_sdk/Linux_x86_64/24.11/comm_libs/nccl/"
		  "lib/" SONAME, "");
	assert_int_equal(nccl_find(tree, path), 4);
	assert_non_null(strstr(path, "dist-packages"));
	setenv("PATH", old, 1);
	snprintf(want, sizeof(want), "%s/usr/lib/python3", tree);
	assert_int_equal(tree_remove(want), 0);
	assert_int_equal(nccl_find(tree, path), 3);
	assert_non_null(strstr(path, "/24.11/"));
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
