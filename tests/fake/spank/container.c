/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A SPANK plugin with the options of pyxis, and what its containers are to a
 * program in them: Slurm's commands and configuration are gone, the host has
 * another name, variables of the image win over those of the user, and with an
 * image of PyTorch there are those of torchrun.  The file system stays.
 *
 *   --container-image=NAME      one called absent cannot be imported
 *   --container-image=slow:S    importing it takes S seconds on every node but
 *                               that of the first task
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(container, 1)

static char image[256];

static int take_image(int val, const char *arg, int remote)
{
	(void)val;
	(void)remote;
	snprintf(image, sizeof(image), "%s", arg);
	return 0;
}

static int take_any(int val, const char *arg, int remote)
{
	(void)val;
	(void)arg;
	(void)remote;
	return 0;
}

struct spank_option spank_options[] = {
	{ (char *)"container-image", (char *)"IMAGE", (char *)"an image", 1, 0,
	  take_image },
	{ (char *)"container-mounts", (char *)"LIST", (char *)"mounts", 1, 0,
	  take_any },
	SPANK_OPTIONS_TABLE_END
};

/* Its image is there before the first task of a node starts. */
int slurm_spank_user_init(spank_t sp, int ac, char **av)
{
	uint32_t node = 0;

	(void)ac;
	(void)av;
	if (!spank_remote(sp) || !image[0]) {
		return 0;
	}
	spank_get_item(sp, S_JOB_NODEID, &node);
	slurm_spank_log("pyxis: importing docker image: %s", image);
	if (strcmp(image, "absent") == 0 ||
	    (strcmp(image, "absent1") == 0 && node == 1)) {
		slurm_error("pyxis: failed to import docker image");
		return -1;
	}
	if (strncmp(image, "slow:", 5) == 0 && node > 0) {
		sleep((unsigned)strtoul(image + 5, NULL, 10));
	}
	return 0;
}

static void set_number(spank_t sp, const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	spank_setenv(sp, name, text, 1);
}

static void set_variables(spank_t sp)
{
	static const char *const of_image[][2] = {
		{ "HOME", "/nonexistent" }, { "PATH", "/usr/bin:/bin" },
		{ "LD_LIBRARY_PATH", "/opt/image/lib" },
		{ "NCCL_SOCKET_IFNAME", "eth0" }, { "MASTER_ADDR", "image" },
		{ "MASTER_PORT", "29500" }, { "LOCAL_RANK", "0" },
	};
	uint32_t rank = 0, tasks = 1;

	for (size_t i = 0; i < sizeof(of_image) / sizeof(*of_image); i++) {
		spank_setenv(sp, of_image[i][0], of_image[i][1], 1);
	}
	spank_get_item(sp, S_TASK_GLOBAL_ID, &rank);
	spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &tasks);
	set_number(sp, "RANK", rank);
	set_number(sp, "WORLD_SIZE", tasks);
	spank_unsetenv(sp, "SLURM_CONF");
}

static void hide(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		return;
	}
	if (S_ISDIR(st.st_mode)) {
		mount("hidden", path, "tmpfs", 0, NULL);
	} else {
		mount("/dev/null", path, NULL, MS_BIND, NULL);
	}
}

int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	static const char *const hidden[] = {
		"/etc/slurm", "/run/munge", "/run/gpucheck-cluster/slurm.conf",
		"/usr/bin/srun", "/usr/bin/scontrol", "/usr/bin/sinfo",
		"/usr/bin/squeue", "/usr/bin/scancel",
	};

	(void)ac;
	(void)av;
	if (!image[0]) {
		return 0;
	}
	if (unshare(CLONE_NEWNS | CLONE_NEWUTS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    sethostname("container", 9) < 0) {
		slurm_error("pyxis: no container can be made");
		return -1;
	}
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++) {
		hide(hidden[i]);
	}
	set_variables(sp);
	return 0;
}
