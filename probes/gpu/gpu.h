/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_GPU_GPU_H
#define PROBES_GPU_GPU_H

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/spec/spec.h"

/** The gpu probe, as probes/probe.c lists it: see struct probe.  Each GPU is
 *  tested in a process of its own, so that a driver that hangs, or a GPU that
 *  is lost, costs that GPU's rows alone. */
int gpu_child(const json_t *args, struct err *e);
/** What healthy GPUs of a node take, nanoseconds. */
int64_t gpu_takes_ns(const struct spec *s);

#endif
