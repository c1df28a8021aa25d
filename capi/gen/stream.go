package main

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"libshmem/capi/spec"
)

const extensionTop = `
#include %s

struct CUstream_st;
struct CUmod_st;
struct CUlib_st;
struct __half;
struct __nv_bfloat16;

#ifdef __cplusplus
extern "C" {
#endif
`

// includeName returns the name by which the header of a surface's extensions includes the surface's
// main header. A header in a folder below include/ is named relative to that folder, because
// programs may have either of the two in their search path.
func includeName(s *spec.Surface) string {
	if path.Dir(s.File) == "." {
		return "<" + s.File + ">"
	}
	return strconv.Quote(path.Base(s.File))
}

// extensionHeader returns the header with the extensions of a surface: shmemx.h.
func extensionHeader(s *spec.Surface) string {
	var b strings.Builder
	writeHeaderTop(&b, s.Beyond)
	fmt.Fprintf(&b, extensionTop, includeName(s))
	constants(&b, s.ExtensionConstants())
	b.WriteString(s.Beyond.Types)
	b.WriteString("\n/* Host code is not for NVRTC. */\n#ifndef __CUDACC_RTC__\n")
	extensions := s.Extensions()
	for i := range extensions {
		c := &extensions[i]
		fmt.Fprintf(&b, "\n/*\n")
		comment(&b, strings.Join(nameForms(c), ", "), "")
		fmt.Fprintln(&b, " *")
		comment(&b, c.Doc, "")
		arguments(&b, c)
		fmt.Fprintln(&b, " *")
		for _, s := range []struct{ label, text string }{{"Result", c.Returns}, {"Errors", c.Errors}, {"Order", c.Order}} {
			if s.text != "" {
				comment(&b, s.label+": "+s.text, "")
			}
		}
		fmt.Fprintln(&b, " *")
		comment(&b, "Since libshmem "+c.Since+".", "")
		fmt.Fprintln(&b, " */")
		nbi, ctx, halves := false, false, false
		for _, fn := range c.Functions() {
			if fn.Nbi && !nbi {
				nbi = true
				fmt.Fprintf(&b, "\n/* Nonblocking. %s */\n", c.DocNbi)
			}
			if fn.Ctx && !ctx {
				ctx = true
				fmt.Fprintf(&b, "\n/* %s */\n", contextComment(c))
			}
			silenceClassWarnings(&b, &halves, fn)
			fmt.Fprintf(&b, "%s;\n", prototype(fn))
		}
		silenceClassWarnings(&b, &halves, spec.Function{})
	}
	b.WriteString("\n#endif\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
	return b.String()
}

const extensionThunkTop = `/* clang-format off */
/* The public functions of the extensions. Each calls a function of one of the headers that are
 * included below. Their own header is included with default visibility, so that they are
 * exported. */
#pragma GCC visibility push(default)
#include <%s>
#pragma GCC visibility pop
`

const ownExtensionTop = `
#include "buffer_register.h"
#include "broadcast.h"
#include "coll.h"
#include "counters.h"
#include "eager.h"
#include "failure.h"
#include "lifecycle.h"
#include "mesh_calls.h"
#include "modules.h"
#include "notification.h"
#include "query.h"
#include "ranges.h"
#include "receive.h"
#include "send.h"
#include "start.h"
#include "stream.h"
#include "survivors.h"
#include "wait.h"
`

// extensionThunks returns the C file with the public functions of a surface's extensions, each of
// which calls the front.
func extensionThunks(s *spec.Surface) string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	fmt.Fprintf(&b, extensionThunkTop, s.Beyond.File)
	includeCalled(&b, s, ownExtensionTop)
	extensions := s.Extensions()
	for i := range extensions {
		extensionThunk(&b, &extensions[i])
	}
	return b.String()
}

// extensionThunk writes the public C functions of one extension, such as shmemx_putmem_on_stream.
func extensionThunk(b *strings.Builder, f *spec.Family) {
	for _, fn := range f.Functions() {
		row := *fn.Family
		row.Front = strings.ReplaceAll(row.Front, "$element", spec.Element(fn.Type))
		fn.Family = &row
		fmt.Fprintf(b, "\n%s\n{\n%s%s}\n", prototype(fn), rangeLine(fn, row.Range), body(fn))
	}
}
