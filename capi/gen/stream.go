package main

import (
	"fmt"
	"strings"

	"libshmem/capi/spec"
)

// streamFiles makes the header of the extensions and the functions behind it.
func streamFiles() []file {
	return []file{
		{Path: "include/" + spec.ExtensionHeader, Text: extensionHeader()},
		{Path: "capi/front/zz_stream.c", Text: extensionThunks()},
	}
}

const extensionTop = `/* clang-format off */
/*
 * shmemx.h: what libshmem has beyond OpenSHMEM: jobs that the program brings together
 * itself, buffers of the program as symmetric memory, counters, the errors of calls that
 * return although a PE is lost, and calls for programs with a GPU.
 *
 * shmemx_..._on_stream puts a call into a CUDA stream: it returns at once, and is
 * done when the stream comes to it. Such calls may be captured in a graph, which
 * may be replayed. A collective is one call in a stream of each PE; the PEs make
 * their collectives in the same order, and one at a time.
 *
 * The symmetric heap has to be in memory that the GPU reaches (SHMEM_HEAP=device
 * or pinned). docs/gpu-host-calls.md says which calls work while kernels of the
 * program occupy the whole GPU.
 *
 * Neither this header nor the program needs CUDA's: a cudaStream_t and a CUstream
 * are a struct CUstream_st *.
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>

struct CUstream_st;
struct CUmod_st;
struct CUlib_st;
struct __half;
struct __nv_bfloat16;

#ifdef __cplusplus
extern "C" {
#endif
`

func extensionHeader() string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString(extensionTop)
	constants(&b, spec.ExtensionConstants)
	b.WriteString(spec.ExtensionTypes)
	for i := range spec.Extensions {
		c := &spec.Extensions[i]
		fmt.Fprintf(&b, "\n/*\n")
		comment(&b, strings.Join(extensionSpellings(c), ", "), "")
		fmt.Fprintln(&b, " *")
		comment(&b, c.Doc, "")
		arguments(&b, &c.Family)
		fmt.Fprintln(&b, " *")
		for _, s := range []struct{ label, text string }{{"Result", c.Returns}, {"Errors", c.Errors}, {"Order", c.Order}} {
			if s.text != "" {
				comment(&b, s.label+": "+s.text, "")
			}
		}
		fmt.Fprintln(&b, " *")
		comment(&b, "Since libshmem "+c.Since+".", "")
		fmt.Fprintln(&b, " */")
		nbi := false
		for _, fn := range c.Functions() {
			if fn.Nbi && !nbi {
				nbi = true
				fmt.Fprintf(&b, "\n/* Nonblocking. %s */\n", c.DocNbi)
			}
			fmt.Fprintf(&b, "%s;\n", prototype(fn))
		}
	}
	b.WriteString("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
	return b.String()
}

// extensionSpellings is spellings for a row of extensions.
func extensionSpellings(c *spec.Call) []string {
	var out []string
	for _, s := range spellings(&c.Family) {
		out = append(out, "shmemx_"+strings.TrimPrefix(s, "shmem_")+c.Suffix)
	}
	return out
}

func extensionThunks() string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString(`/* clang-format off */
/* The extensions: the public functions, over stream.h. */
#pragma GCC visibility push(default)
#include <shmemx.h>
#pragma GCC visibility pop

#include "buffers.h"
#include "colls.h"
#include "counters.h"
#include "failure.h"
#include "ranges.h"
#include "start.h"
#include "stream.h"
`)
	for i := range spec.Extensions {
		for _, fn := range spec.Extensions[i].Functions() {
			row := *fn.Family
			row.Front = strings.ReplaceAll(row.Front, "$element", spec.Element(fn.Type))
			fn.Family = &row
			fmt.Fprintf(&b, "\n%s\n{\n%s%s}\n", prototype(fn), ranged(fn, row.Range), body(fn))
		}
	}
	return b.String()
}
