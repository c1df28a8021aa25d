package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"libshmem/capi/spec"
)

// thunkTop begins the file with the public functions of a chapter. It includes the prototypes with
// default visibility, so that the definitions are exported although the library is compiled with
// -fvisibility=hidden. The version script exports only the names of the table.
const thunkTop = `/* clang-format off */
/* %s: the public functions. */
#define @@_ALLOW_DEPRECATED
#define SHMEMI_PUBLIC
#pragma GCC visibility push(default)
#include <%s>
#pragma GCC visibility pop
`

// belowTop includes the headers of another surface, whose functions the file calls.
const belowTop = "\n#define @@_ALLOW_DEPRECATED\n#include <%s>\n#include <%s>\n"

// reduceTop has gcc vectorise reductions: a sum of ints then runs at the speed of memory. -O2 of
// gcc 12 does not vectorise loops of unknown length.
const reduceTop = `
#ifndef __clang__
#pragma GCC optimize("O3")
#endif
`

// ownTop returns the lines that include the headers of capi/front whose functions a chapter calls:
// front.h if the chapter names none.
func ownTop(over []string) string {
	if over == nil {
		over = []string{"front.h"}
	}
	return "\n#include \"" + strings.Join(append(slices.Clone(over), "ranges.h"), "\"\n#include \"") + "\"\n"
}

// includeCalled writes the lines that include the headers of the functions that a surface calls:
// own, or, for a surface such as NVSHMEM's whose functions call those of another one, the headers
// of the other.
func includeCalled(b *strings.Builder, s *spec.Surface, own string) {
	if s.Over == nil {
		b.WriteString(own)
	} else {
		fmt.Fprintf(b, withPrefixes(s.Over, belowTop), s.Over.File, s.Over.Beyond.File)
		if s.Hand != "" {
			fmt.Fprintf(b, "\n#include %q\n", s.Hand)
		}
	}
}

// thunks returns the C files with the public functions of a surface, one for each chapter.
func thunks(s *spec.Surface) []file {
	var out []file
	generic := genericNames(s)
	for _, c := range s.Chapters() {
		if !slices.ContainsFunc(c.Families, func(f spec.Family) bool { return f.Front != "" }) {
			continue // its rows have no functions of the host
		}
		var b strings.Builder
		b.WriteString(banner("/* ", " */"))
		fmt.Fprintf(&b, withPrefixes(s, thunkTop), c.Title, profiledFile(s))
		includeCalled(&b, s, ownTop(c.Over))
		writeWidthAsserts(&b, c)
		if hasReductions(c) {
			b.WriteString(reduceTop)
		}
		for i := range c.Families {
			familyThunks(&b, &c.Families[i], c.Range, generic)
		}
		if s.Profiled {
			fmt.Fprintf(&b, "\n#include %q\n", aliasFile(c))
		}
		out = append(out, file{Path: thunkFile(s, c.File), Text: b.String()})
	}
	return out
}

// familyThunks writes the functions of one row of a chapter. group is the chapter's group of
// profiler ranges.
func familyThunks(b *strings.Builder, f *spec.Family, group string, generic []string) {
	for _, fn := range f.Functions() {
		if f.Reduce != "" {
			writeReducer(b, fn)
		}
		head := prototype(fn)
		if slices.Contains(generic, fn.Name) { // for C11 it is also a macro
			head = strings.Replace(head, fn.Name+"(", "("+fn.Name+")(", 1)
		}
		fmt.Fprintf(b, "\n%s\n{\n%s%s}\n", head, rangeLine(fn, cmp.Or(f.Range, group)), body(fn))
	}
}

// rangeLine returns the line of a public C function that opens a range around it for profilers
// (NVTX); "" if the table puts the function in no group of ranges.
func rangeLine(fn spec.Function, group string) string {
	if group == "" || group == spec.RangeNone {
		return ""
	}
	if fn.Nbi && group == spec.RangeRMA {
		group = spec.RangeRMANbi
	}
	return fmt.Sprintf("    SHMEMI_RANGE(%s, %q);\n", strings.ToUpper(group), fn.Name)
}

// hasReductions reports whether a chapter has reductions.
func hasReductions(c spec.Chapter) bool {
	for _, f := range c.Families {
		if f.Reduce != "" {
			return true
		}
	}
	return false
}

// writeWidthAsserts writes static assertions that C types have the sizes of the table, for rows
// whose C code depends on them ($W and $S in Front).
func writeWidthAsserts(b *strings.Builder, c spec.Chapter) {
	first := true
	seen := map[string]bool{}
	for _, f := range c.Families {
		if !strings.Contains(f.Front, "$W") && !strings.Contains(f.Front, "$S") {
			continue
		}
		for _, t := range f.Types {
			if seen[t.Name] {
				continue
			}
			seen[t.Name] = true
			if first {
				first = false
				fmt.Fprintln(b)
			}
			fmt.Fprintf(b, "_Static_assert(sizeof(%s) == %d, \"%s has %d bits\");\n",
				t.C, t.Bits/8, t.C, t.Bits)
		}
	}
}

// writeReducer writes the function that combines two arrays of one type in a reduction, and its
// struct shmemi_reducer. Signed integers are added and multiplied as unsigned ones, because an
// overflow of the former is undefined.
func writeReducer(b *strings.Builder, fn spec.Function) {
	t, name := fn.Type, reducer(fn)
	operand := t.C
	if t.Mod != "" && (fn.Family.Reduce == "a + b" || fn.Family.Reduce == "a * b") {
		operand = t.Mod
	}
	fmt.Fprintf(b, `
static void combine_%[1]s(void *acc, const void *in, size_t nelems)
{
    %[2]s *restrict to = acc;
    const %[2]s *restrict from = in;
    for (size_t i = 0; i < nelems; i++) {
        %[3]s a = %[4]sto[i], b = %[4]sfrom[i];
        to[i] = (%[2]s)(%[5]s);
    }
}

static const struct shmemi_reducer %[1]s = {combine_%[1]s, sizeof(%[2]s)};
`, name, t.C, operand, cast(operand, t.C), fn.Family.Reduce)
}

// cast returns the C cast to the type `to`, or "" if the expression has that type already.
func cast(to, from string) string {
	if to == from {
		return ""
	}
	return "(" + to + ")"
}

// frontMap returns the version script for the linker of a surface's library: it exports the table's
// names and hides all others.
func frontMap(s *spec.Surface) string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	fmt.Fprintf(&b, "%s {\nglobal:\n", s.Node)
	for _, n := range s.Exported() {
		fmt.Fprintf(&b, "    %s;\n", n)
	}
	b.WriteString("local:\n    *;\n};\n")
	return b.String()
}

// coreMap returns the version script of libshmem_core.so, which exports one name.
func coreMap() string {
	return banner("/* ", " */") + "{\nglobal:\n    " + spec.CoreSymbol + ";\nlocal:\n    *;\n};\n"
}
