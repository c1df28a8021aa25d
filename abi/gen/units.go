package main

import (
	"fmt"
	"math"
	"strings"

	"libshmem/abi/table"
)

// unitHeader returns the C header of a unit.
func unitHeader(u *table.Unit) string {
	var b strings.Builder
	guard := "SHMEMI_ZZ_" + strings.ToUpper(u.Name) + "_H"
	b.WriteString(banner("/* ", " */"))
	fmt.Fprintf(&b, "/* clang-format off */\n/*\n * zz_%s.h: %s\n */\n#ifndef %s\n#define %s\n\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n", u.Name, u.Doc, guard, guard)
	for i, other := range u.Includes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "#include \"zz_%s.h\"\n", other)
	}
	if len(u.Constants) > 0 {
		b.WriteString("\n")
	}
	for _, c := range u.Constants {
		if c.Name != "" {
			fmt.Fprintf(&b, "#define SHMEMI_%s %s /* %s */\n", c.Name, cNumber(c.Value), c.Doc)
		}
	}
	for i := range u.Enums {
		cEnum(&b, &u.Enums[i])
	}
	for i := range u.Structs {
		cStruct(&b, &u.Structs[i], staticAssert)
	}
	cNumbers(&b, u)
	b.WriteString("\n#endif\n")
	return b.String()
}

// staticAssert returns a static assertion of C that a condition holds.
func staticAssert(what, name string) string {
	return fmt.Sprintf("_Static_assert(%s, \"%s\");\n", what, name)
}

// cNumber returns a number as a C expression of type int. C has no negative literals: the least int
// has to be computed, and the others are in parentheses because of their minus operator.
func cNumber(n int) string {
	switch {
	case n == math.MinInt32:
		return "(-2147483647 - 1)"
	case n < 0:
		return fmt.Sprintf("(%d)", n)
	}
	return fmt.Sprint(n)
}

// cEnum writes an enumeration.
func cEnum(b *strings.Builder, e *table.Enum) {
	name := ""
	if e.Name != "" {
		name = " shmemi_" + e.Name
	}
	fmt.Fprintf(b, "\n/* %s */\nenum%s {\n", sentence(e.Doc), name)
	for i, v := range e.Values {
		fmt.Fprintf(b, "    SHMEMI_%s%s = %d,%s\n", e.Prefix, v.Name, e.Number(i), cComment(v.Doc))
	}
	b.WriteString("};\n")
}

// cComment returns a text as a C comment that follows a declaration; "" for no text.
func cComment(doc string) string {
	if doc == "" {
		return ""
	}
	return " /* " + doc + " */"
}

// cNumbers writes assertions that each name of a unit still has its number, which fails if another
// header has defined a macro of that name.
func cNumbers(b *strings.Builder, u *table.Unit) {
	var numbers strings.Builder
	for _, c := range u.Constants {
		if c.Name != "" {
			numbers.WriteString(staticAssert(fmt.Sprintf("SHMEMI_%s == %s", c.Name, cNumber(c.Value)), c.Name))
		}
	}
	for i := range u.Enums {
		e := &u.Enums[i]
		for j, v := range e.Values {
			numbers.WriteString(staticAssert(fmt.Sprintf("SHMEMI_%s%s == %d", e.Prefix, v.Name, e.Number(j)), e.Prefix+v.Name))
		}
	}
	if numbers.Len() > 0 {
		b.WriteString("\n/* No macro has taken a name. */\n" + numbers.String())
	}
}

// cTypes has the C types of the table's basic types.
var cTypes = map[string]string{
	"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
	"i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
	"bool": "bool", "char": "char", "size": "size_t", "uptr": "uintptr_t", "ptr": "void *",
}

// cMember returns the C declaration of a member, without the semicolon.
func cMember(m *table.Member) string {
	var align, array string
	if m.Align > 0 {
		align = fmt.Sprintf("_Alignas(%d) ", m.Align)
	}
	if m.Count > 0 {
		array = fmt.Sprintf("[%d]", m.Count)
	}
	if strings.Contains(m.C, "%s") {
		return align + fmt.Sprintf(m.C, m.Name+array)
	}
	typ := m.C
	if typ == "" {
		if s := table.Find(m.Type); s != nil {
			typ = "struct shmemi_" + s.Name
		} else {
			typ = cTypes[m.Type]
		}
	}
	if !strings.HasSuffix(typ, "*") {
		typ += " "
	}
	return align + typ + m.Name + array
}

// cStruct writes a struct, with explicit padding, and the assertions of its layout. assert returns
// one assertion for a condition, with a name for messages.
func cStruct(b *strings.Builder, s *table.Struct, assert func(what, name string) string) {
	fmt.Fprintf(b, "\n/* %s */\nstruct shmemi_%s {\n", s.Doc, s.Name)
	end, pads := 0, 0
	pad := func(to int) {
		if to > end {
			pads++
			fmt.Fprintf(b, "    unsigned char pad%d[%d];\n", pads, to-end)
		}
	}
	offsets := s.Offsets()
	for i := range s.Members {
		m := &s.Members[i]
		pad(offsets[i])
		fmt.Fprintf(b, "    %s;%s\n", cMember(m), cComment(m.Doc))
		end = offsets[i] + m.Size()
	}
	pad(s.Bytes())
	b.WriteString("};\n")
	b.WriteString(assert(fmt.Sprintf("sizeof(struct shmemi_%s) == %d", s.Name, s.Bytes()), "sizeof_"+s.Name))
	for i, m := range s.Members {
		b.WriteString(assert(fmt.Sprintf("offsetof(struct shmemi_%s, %s) == %d", s.Name, m.Name, offsets[i]), s.Name+"_"+m.Name))
	}
}
