package main

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/capi/spec"
)

// A testList is a macro for tests/gpu with a row for each of a family's functions for kernels. A
// family has separate lists for functions on a queue and for extensions.
type testList struct {
	name        string
	rows, alike []string // names for one type of each kind and size, and names for the other types
}

// testLists returns the lists of a surface, and the names of its functions in the order of the
// lists. A name from alike is followed by that word.
func testLists(s *spec.Surface) ([]*testList, []string) {
	type kind struct {
		list  string
		kind  spec.Kind
		bits  int
		scope spec.Scope
	}
	var lists []*testList
	var names []string
	seen := map[kind]bool{}
	for _, c := range s.Kernels() {
		for _, f := range c.Families {
			for _, fn := range f.Functions() {
				name := f.Name
				switch {
				case strings.HasPrefix(fn.Type.Name, "qp_"):
					name += "_qp"
				case f.X:
					name += "_x"
				}
				at := slices.IndexFunc(lists, func(l *testList) bool { return l.name == name })
				if at < 0 {
					at, lists = len(lists), append(lists, &testList{name: name})
				}
				t := fn.Type.C
				if t == "" {
					t = "void"
				}
				row := fmt.Sprintf("ROW(%s, %s, %d, %s)", fn.Name, t, fn.Type.Bits/8, fn.Scope)
				if k := (kind{name, fn.Type.Kind, fn.Type.Bits, fn.Scope}); fn.Type.Name != "" && seen[k] {
					lists[at].alike = append(lists[at].alike, row)
					names = append(names, fn.Name+" alike")
				} else {
					seen[k] = true
					lists[at].rows = append(lists[at].rows, row)
					names = append(names, fn.Name)
				}
			}
		}
	}
	return lists, names
}

// deviceTests makes the lists of the functions that kernels call, for the programs of tests/gpu
// that try each of them. A row has the name, the element type, its bytes, and the scope of threads
// that makes the call. With FEWER_TYPES a list has one type of each kind and size. A list that only
// another surface (set of names) has is empty, so that the programs are the same for all surfaces.
func deviceTests(s *spec.Surface) []file {
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
	lists, names := testLists(s)
	for _, l := range lists {
		const next = " \\\n    "
		if l.alike == nil {
			fmt.Fprintf(&b, "\n#define TEST_%s(ROW)%s%s\n", l.name, next, strings.Join(l.rows, next))
			continue
		}
		fmt.Fprintf(&b, "\n#ifdef FEWER_TYPES\n#define ALIKE_%s(ROW)\n#else\n#define ALIKE_%s(ROW)%s%s\n#endif\n", l.name, l.name, next, strings.Join(l.alike, next))
		fmt.Fprintf(&b, "#define TEST_%s(ROW)%s%s\n", l.name, next, strings.Join(append(l.rows, "ALIKE_"+l.name+"(ROW)"), next))
	}
	b.WriteString("\n")
	for _, other := range spec.Surfaces {
		more, _ := testLists(other)
		for _, l := range more {
			if !slices.ContainsFunc(lists, func(own *testList) bool { return own.name == l.name }) {
				fmt.Fprintf(&b, "#define TEST_%s(ROW)\n", l.name)
			}
		}
	}
	b.WriteString("\n#endif\n")
	return []file{
		{Path: buildPath(s, "gpu/zz_functions.h"), Text: b.String()},
		{Path: buildPath(s, "gpu/zz_names.txt"), Text: banner("# ", "") + strings.Join(names, "\n") + "\n"},
	}
}
