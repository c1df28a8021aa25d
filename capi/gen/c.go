package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"libshmem/capi/spec"
)

// withPrefixes replaces the placeholders in a text by the prefixes of a surface, a set of names
// such as OpenSHMEM's: @_ and @@_ begin its public functions and constants, @i_ and @@I_ its
// private ones.
func withPrefixes(s *spec.Surface, text string) string {
	return strings.NewReplacer("@_", s.Prefix(), "@i_", s.PrivatePrefix(), "@@_", s.Capitals()+"_",
		"@@I_", s.Capitals()+"I_").Replace(text)
}

// cType returns the C type c, in which T stands for the element type t.
func cType(c string, t spec.Type) string {
	if c == "T" {
		return t.C
	}
	if rest, ok := strings.CutSuffix(c, "T *"); ok {
		return rest + t.C + " *"
	}
	return c
}

// declare writes a parameter or a variable: no space after a pointer's star.
func declare(c, name string) string {
	if strings.HasSuffix(c, "*") {
		return c + name
	}
	return c + " " + name
}

// prototype returns the C declaration of a function, without the semicolon.
func prototype(f spec.Function) string {
	var params []string
	for _, p := range f.Params() {
		if p.C == "" { // the three dots
			params = append(params, p.Name)
			continue
		}
		params = append(params, declare(cType(p.C, f.Type), p.Name))
	}
	if len(params) == 0 {
		params = []string{"void"}
	}
	return declare(cType(f.Result(), f.Type), f.Name) + "(" + strings.Join(params, ", ") + ")"
}

// nbytes returns the C expression for the bytes of nelems elements of a function, by whose name
// their size is given: a type, a number of bits, or bytes (mem).
func nbytes(f spec.Function) string {
	switch {
	case f.Form == spec.Mem:
		return "nelems"
	case f.Form == spec.Sized && f.Type.Bits == 8:
		return "nelems"
	case f.Form == spec.Sized:
		return fmt.Sprintf("shmemi_bytes(nelems, %d)", f.Type.Bits/8)
	}
	return "shmemi_bytes(nelems, sizeof(" + f.Type.C + "))"
}

// elementSize returns the C expression for the bytes of an element: of its type or, for names with
// a number of bits or mem, a number.
func elementSize(f spec.Function) string {
	if f.Form == spec.Sized || f.Form == spec.Mem {
		return strconv.Itoa(f.Type.Bits / 8)
	}
	return "sizeof(" + f.Type.C + ")"
}

// signedWidth returns the part of a function name of capi/front that stands for the type of a
// comparison: its sign and width, u32 or i64.
func signedWidth(t spec.Type) string {
	if t.Kind == spec.Unsigned {
		return "u" + strconv.Itoa(t.Bits)
	}
	return "i" + strconv.Itoa(t.Bits)
}

// reducer returns the name of the C variable, a struct shmemi_reducer, that combines the elements
// of a reduction. It is the reduction's own name without the prefix.
func reducer(f spec.Function) string {
	return strings.TrimPrefix(f.Name, f.Family.Surface().Prefix())
}

var bitsOf = regexp.MustCompile(`bits\((\w+)\)`)

// body returns the body of a public C function: the Front of its row in the table, in which words
// such as $nbytes and $call are replaced, with a statement on each line.
func body(f spec.Function) string {
	text, nbi := f.Family.Front, ""
	if f.Nbi {
		nbi = "_nbi"
		if f.Family.FrontNbi != "" {
			text = f.Family.FrontNbi
		}
	}
	width := strconv.Itoa(f.Type.Bits)
	// What replaces bits(x) and back(x) of Front. Integers need no conversion.
	toBits, back, end := "$1", "", ""
	if f.Type.Kind == spec.Real {
		toBits = "shmemi_bits" + width + "($1)"
		back, end = "shmemi_float(", ")"
		if f.Type.Bits == 64 {
			back = "shmemi_double("
		}
	}
	if inner, ok := strings.CutPrefix(text, "back("); ok {
		text = back + strings.TrimSuffix(inner, ")") + end
	}
	text = bitsOf.ReplaceAllString(text, toBits)
	ctx := withPrefixes(spec.Shmem, "@@_CTX_DEFAULT")
	if f.Family.Surface().Over != nil {
		text = strings.NewReplacer("$base", f.Below(), "$args", callArguments(f)).Replace(text)
	} else if f.Ctx {
		ctx = "ctx"
		if has(f, "pe") {
			text = "pe = shmemi_ctx_pe(ctx, pe, $call);\n" + text
		}
	}
	text = strings.NewReplacer(
		"$T", f.Type.C,
		"$type", f.Type.Name,
		"$W", width,
		"$S", signedWidth(f.Type),
		"$size", elementSize(f),
		"$nbytes", nbytes(f),
		"$nbi", nbi,
		"$call", strconv.Quote(f.Name),
		"$ctx", ctx,
		"$reducer", reducer(f),
	).Replace(text)
	lines := strings.Split(text, ";\n")
	if f.Result() != "void" {
		lines[len(lines)-1] = "return " + lines[len(lines)-1]
	}
	return "    " + strings.Join(lines, ";\n    ") + ";\n"
}

// has reports whether a function has a parameter.
func has(f spec.Function, name string) bool {
	return slices.ContainsFunc(f.Params(), func(p spec.Param) bool { return p.Name == name })
}

// comment writes text as lines of a C block comment, wrapped to the width of the project. indent is
// put before the second and later lines.
func comment(b *strings.Builder, text, indent string) {
	const width = 96
	line := " *"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > width {
			fmt.Fprintln(b, line)
			line = " *" + indent
		}
		line += " " + word
	}
	fmt.Fprintln(b, line)
}
