package main

import (
	"fmt"
	"strings"

	"libshmem/capi/spec"
)

// The names that C11 has as macros are overloads in C++.

const overloadsTop = `
/* ----------------------------------------------------------------------------- overloads of C++ */

#ifdef __cplusplus
/* shmem_<name>(...) for each shmem_<T>_<name>, and with a context first where there is
 * shmem_ctx_<T>_<name>. */
`

// In a file for nvcc kernels have a function of that name.
const overloadsEnd = `
#ifndef __CUDACC__
inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
#endif
#endif
`

func overloads() string {
	var b strings.Builder
	b.WriteString(overloadsTop)
	// A function of the library with the name and arguments of an overload would be
	// defined anew in every program: shmem_wait_until of long.
	declared := map[string]bool{}
	for _, c := range spec.Chapters {
		for i := range c.Families {
			if f := &c.Families[i]; f.Symbol != "" {
				declared[prototype(f.Functions()[0])] = true
			}
		}
	}
	for _, forms := range allGenericForms() {
		fmt.Fprintln(&b)
		for _, fn := range forms {
			if !declared[named(fn, "shmem_"+generic(fn))] {
				overload(&b, fn)
			}
			if fn.Family.Contexts {
				overload(&b, withContext(fn))
			}
		}
	}
	b.WriteString(overloadsEnd)
	return b.String()
}

// allGenericForms lists the functions behind each generic name.
func allGenericForms() [][]spec.Function {
	var out [][]spec.Function
	for _, c := range spec.Chapters {
		for i := range c.Families {
			out = append(out, genericForms(&c.Families[i])...)
		}
	}
	return out
}

func withContext(fn spec.Function) spec.Function {
	fn.Name, fn.Ctx = onContext(fn), true
	return fn
}

// named is the declaration of a function under another name.
func named(fn spec.Function, name string) string {
	return strings.Replace(prototype(fn), fn.Name+"(", name+"(", 1)
}

func overload(b *strings.Builder, fn spec.Function) {
	var args []string
	for _, p := range fn.Params() {
		args = append(args, p.Name)
	}
	// What is deprecated does what the newer name does, of which nobody is warned.
	callee := fn.Name
	if like := fn.Family.Like; like != "" {
		callee = "shmem_" + fn.Type.Name + "_" + like
	}
	back := ""
	if fn.Result() != "void" {
		back = "return "
	}
	fmt.Fprintf(b, "%sinline %s { %s%s(%s); }\n", warning(fn.Family), named(fn, "shmem_"+generic(fn)), back, callee,
		strings.Join(args, ", "))
}

// pointerTo is the type of pointers to a function.
func pointerTo(fn spec.Function) string {
	var params []string
	for _, p := range fn.Params() {
		params = append(params, cType(p.C, fn.Type))
	}
	return cType(fn.Result(), fn.Type) + " (*)(" + strings.Join(params, ", ") + ")"
}

// overloadChecks makes a C++ file that has a pointer to each overload.
func overloadChecks() file {
	var b strings.Builder
	n := 0
	for _, forms := range allGenericForms() {
		for _, fn := range forms {
			row := func(fn spec.Function) {
				fmt.Fprintf(&b, "    (function)static_cast<%s>(shmem_%s),\n", pointerTo(fn), generic(fn))
				n++
			}
			row(fn)
			if fn.Family.Contexts {
				row(withContext(fn))
			}
		}
	}
	return file{"tests/abi/testdata/zz_overloads.cc", banner("// ", "") + `// clang-format off
#define SHMEM_ALLOW_DEPRECATED
#include <shmem.h>

typedef void (*function)();
extern const function overloads[] = {
` + b.String() + fmt.Sprintf("};\nextern const int overload_count = %d;\n", n)}
}
