package main

import (
	"fmt"
	"strings"

	"libshmem/capi/spec"
)

const profileTop = `/* clang-format off */
/*
 * %[4]s: the names of OpenSHMEM's functions for tools that watch a program.
 *
 * A tool defines functions of %[1]s itself, in a library that the program is linked
 * with before %[2]s or that LD_PRELOAD names, and calls the library's own by the
 * name with a p in front: @_int_put and p@_int_put, @_init and p@_init.
 * The library calls neither of them, so that a tool sees each call of the program once.
 *
 * The generic names of C11 and the overloads of C++ are macros and inline functions
 * over @_<T>_<name>, and seen as those. @_sync, @_wait_until, @_signal_set and
 * @_signal_add are functions too: a tool in C11 defines them in parentheses,
 * void (@_sync)(...).
 */
#ifndef %[3]s
#define %[3]s

#include <%[1]s>

#ifdef __cplusplus
extern "C" {
#endif

`

// profileHeader returns the header that declares the second name of each function, for profilers:
// pshmem_put for shmem_put.
func profileHeader(s *spec.Surface) string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	fmt.Fprintf(&b, withPrefixes(s, profileTop), s.File, s.Library, guard(profiledFile(s)), profiledFile(s))
	for _, c := range s.Chapters() {
		for i := range c.Families {
			for _, fn := range c.Families[i].Functions() {
				fmt.Fprintf(&b, "%s%s;\n", deprecatedAttribute(fn.Family), prototypeAs(fn, spec.Profiled(fn.Name)))
			}
		}
	}
	b.WriteString("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
	return b.String()
}

// profilingFile makes the file with the profiling names of a chapter's functions. The file of the
// functions includes it, because an alias has to be in the unit that defines its function.
func profilingFile(s *spec.Surface, c spec.Chapter) file {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	for i := range c.Families {
		for _, fn := range c.Families[i].Functions() {
			fmt.Fprintf(&b, "extern __typeof__(%[1]s) %[2]s __attribute__((alias(\"%[1]s\")));\n", fn.Name,
				spec.Profiled(fn.Name))
		}
	}
	return file{Path: buildPath(s, "front/"+aliasFile(c)), Text: b.String()}
}

// aliasFile returns the name of the file that profiled makes.
func aliasFile(c spec.Chapter) string { return "zz_profiled_" + c.File + ".h" }
