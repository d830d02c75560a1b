/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/pin.h"

#include <ctype.h>
#include <stdlib.h>

#include "probes/host/sysfile.h"

#define LIST_MAX 4096

/* A CPU's number at *@at, which moves behind it; -1 when there is none. */
static long cpu_at(const char **at)
{
	char *end;
	long n;

	if (!isdigit((unsigned char)**at)) {
		return -1;
	}
	n = strtol(*at, &end, 10);
	*at = end;
	return n < CPU_SETSIZE ? n : -1;
}

int pin_parse(const char *text, cpu_set_t *set)
{
	const char *at = text;

	CPU_ZERO(set);
	while (*at != '\0') {
		long first = cpu_at(&at), last = first;

		if (*at == '-') {
			at++;
			last = cpu_at(&at);
		}
		if (first < 0 || last < first ||
		    (*at != ',' && *at != '\0') ||
		    (*at == ',' && at[1] == '\0')) {
			CPU_ZERO(set);
			return -1;
		}
		for (long c = first; c <= last; c++) {
			CPU_SET((size_t)c, set);
		}
		at += *at == ',';
	}
	return CPU_COUNT(set);
}

/* @list: CPUs, as the kernel writes them */
static void pin_to_list(const char *list)
{
	cpu_set_t near, allowed;

	if (pin_parse(list, &near) <= 0 ||
	    sched_getaffinity(0, sizeof(allowed), &allowed) < 0) {
		return;
	}
	CPU_AND(&near, &near, &allowed);
	if (CPU_COUNT(&near) > 0) {
		sched_setaffinity(0, sizeof(near), &near);
	}
}

void pin_to_device(const char *bus)
{
	char list[LIST_MAX];

	sysfile_read(list, sizeof(list),
		     "/sys/bus/pci/devices/%s/local_cpulist", bus);
	pin_to_list(list);
}

void pin_to_hca(const char *hca)
{
	char list[LIST_MAX];

	sysfile_read(list, sizeof(list),
		     "/sys/class/infiniband/%s/device/local_cpulist", hca);
	pin_to_list(list);
}

bool pin_far_from(const char *bus)
{
	char list[LIST_MAX];
	cpu_set_t near, far;

	if (sysfile_read(list, sizeof(list), "/sys/bus/pci/devices/%s/"
			 "local_cpulist", bus) <= 0 ||
	    pin_parse(list, &near) <= 0) {
		return false;
	}
	CPU_ZERO(&far);
	for (size_t c = 0; c < CPU_SETSIZE; c++) {
		if (!CPU_ISSET(c, &near)) {
			CPU_SET(c, &far);
		}
	}
	return sched_setaffinity(0, sizeof(far), &far) == 0;
}
