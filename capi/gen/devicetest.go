package main

import (
	"fmt"
	"strings"

	"libshmem/capi/spec"
)

// deviceTests lists the names that kernels call, by family, for the programs of
// tests/gpu that try each of them: a name, its element type and bytes, and who
// calls it. Types that only GPUs have are lists of their own.
func deviceTests(s *spec.Surface) file {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString(`/* clang-format off */
/*
 * zz_functions.h: every name that kernels call: ROW(name, element type, bytes of
 * an element, scope).
 */
#ifndef TESTS_GPU_ZZ_FUNCTIONS_H
#define TESTS_GPU_ZZ_FUNCTIONS_H
`)
	var order []string
	rows := map[string][]string{}
	for _, c := range s.Kernels() {
		for _, f := range c.Families {
			for _, fn := range f.Functions() {
				list := f.Name
				if f.X {
					list += "_x"
				}
				if fn.Type.Kind == spec.Late {
					list += "_late"
				}
				if rows[list] == nil {
					order = append(order, list)
				}
				t := fn.Type.C
				if t == "" {
					t = "void"
				}
				rows[list] = append(rows[list], fmt.Sprintf("ROW(%s, %s, %d, %s)", fn.Name, t, fn.Type.Bits/8, fn.Scope))
			}
		}
	}
	for _, list := range order {
		fmt.Fprintf(&b, "\n#define TEST_%s(ROW) \\\n    %s\n", list, strings.Join(rows[list], " \\\n    "))
	}
	b.WriteString("\n#endif\n")
	return file{Path: made(s, "gpu/zz_functions.h"), Text: b.String()}
}
