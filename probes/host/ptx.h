/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_PTX_H
#define PROBES_HOST_PTX_H

/** Pieces of PTX text that several kernels begin with. */

/** %i = number of this thread in the grid, %step = threads in the grid;
 *  spoils %r1 to %r4 and %rd1. */
#define PTX_THREAD_INDEX \
	"	mov.u32		%r1, %ctaid.x;\n" \
	"	mov.u32		%r2, %ntid.x;\n" \
	"	mov.u32		%r3, %tid.x;\n" \
	"	mul.wide.u32	%i, %r1, %r2;\n" \
	"	cvt.u64.u32	%rd1, %r3;\n" \
	"	add.u64		%i, %i, %rd1;\n" \
	"	mov.u32		%r4, %nctaid.x;\n" \
	"	mul.wide.u32	%step, %r4, %r2;\n"

#endif
