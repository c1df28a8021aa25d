package main

import (
	"fmt"
	"strings"

	"libshmem/capi/spec"
)

// deviceTests lists the names that kernels call, by family, for the programs of
// tests/gpu that try each of them: a name, its element type and bytes, and who
// calls it. Types that only GPUs have are lists of their own. With FEWER_TYPES a list has one type of
// each kind and size.
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
	rows, alike := map[string][]string{}, map[string][]string{}
	type kind struct {
		list  string
		kind  spec.Kind
		bits  int
		scope spec.Scope
	}
	seen := map[kind]bool{}
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
				into := rows
				if k := (kind{list, fn.Type.Kind, fn.Type.Bits, fn.Scope}); fn.Type.Name != "" && seen[k] {
					into = alike
				} else {
					seen[k] = true
				}
				into[list] = append(into[list], fmt.Sprintf("ROW(%s, %s, %d, %s)", fn.Name, t, fn.Type.Bits/8, fn.Scope))
			}
		}
	}
	for _, list := range order {
		const next = " \\\n    "
		if alike[list] == nil {
			fmt.Fprintf(&b, "\n#define TEST_%s(ROW)%s%s\n", list, next, strings.Join(rows[list], next))
			continue
		}
		fmt.Fprintf(&b, "\n#ifdef FEWER_TYPES\n#define ALIKE_%s(ROW)\n#else\n#define ALIKE_%s(ROW)%s%s\n#endif\n", list, list, next, strings.Join(alike[list], next))
		fmt.Fprintf(&b, "#define TEST_%s(ROW)%s%s\n", list, next, strings.Join(append(rows[list], "ALIKE_"+list+"(ROW)"), next))
	}
	b.WriteString("\n#endif\n")
	return file{Path: made(s, "gpu/zz_functions.h"), Text: b.String()}
}
