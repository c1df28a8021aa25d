package main

import (
	"fmt"
	"strings"

	"libshmem"
	"libshmem/capi/spec"
)

const headerTop = `/* clang-format off */
/*
 * shmem.h: OpenSHMEM 1.6 for C and C++.
 *
 * A symmetric address is an address within a block of shmem_malloc and its
 * relatives, or a global or static variable of the program. It names the same
 * place in every PE's memory; a pe argument says whose. Wherever a function takes
 * one it must be the caller's own address, and the whole range must be within the
 * heap or among those variables.
 *
 * A mistake that the specification gives no return value for ends the job: the
 * caller prints the PE, the function, the cause and the remedy on standard
 * error, and every PE ends with a non-zero status.
 *
 * Compilers warn of functions that the specification calls deprecated, unless
 * SHMEM_ALLOW_DEPRECATED is defined before this header is included.
 *
 * Below, <T> is the name of an element type and T the type itself.
 */
#ifndef SHMEM_H
#define SHMEM_H

/* To nvcc a name of the host and the same one of kernels are one, and that is not deprecated. */
#if defined(__GNUC__) && !defined(SHMEM_ALLOW_DEPRECATED) && !defined(__CUDACC__)
#define SHMEMI_DEPRECATED(text) __attribute__((deprecated(text)))
#else
#define SHMEMI_DEPRECATED(text)
#endif
#ifdef __cplusplus
#define SHMEMI_DEPRECATED_C(text) /* an overload of C++ has the name */
#else
#define SHMEMI_DEPRECATED_C(text) SHMEMI_DEPRECATED(text)
#endif

/* NVRTC compiles kernels without a C library; shmem/shmem.cuh brings the types. */
#ifndef __CUDACC_RTC__
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <complex>

typedef std::complex<double> shmemi_complexd;
typedef std::complex<float> shmemi_complexf;
#else
typedef double _Complex shmemi_complexd;
typedef float _Complex shmemi_complexf;
#endif
#endif

/* A set of PEs. Handles may be copied and compared. */
typedef int32_t shmem_team_t;

/* What a new team is asked for. */
typedef struct {
    int num_contexts; /* that will exist at once; 0 unless SHMEM_TEAM_NUM_CONTEXTS says that it counts */
} shmem_team_config_t;

/* A stream of operations that is ordered and completed by itself. Handles may be copied and compared. */
typedef int32_t shmem_ctx_t;

/* What a session is expected to have. */
typedef struct {
    size_t total_ops; /* calls at most; it counts where SHMEM_CTX_SESSION_TOTAL_OPS says so */
} shmem_ctx_session_config_t;
`

// headerCalls begins what host code calls.
const headerCalls = `
/* Host code is not for NVRTC; kernels have declarations of their own. */
#ifndef __CUDACC_RTC__
#ifdef __cplusplus
extern "C" {
#endif
`

const headerEnd = `
#ifdef __cplusplus
}
#endif
`

func constants(b *strings.Builder, groups []spec.ConstantGroup) {
	for _, g := range groups {
		fmt.Fprintf(b, "\n/* %s */\n", g.Doc)
		for _, c := range g.Constants {
			value := strings.ReplaceAll(c.Value, "$VERSION", libshmem.Version)
			line := "#define " + c.Name + " " + value
			if c.Doc != "" {
				line += " /* " + c.Doc + " */"
			}
			fmt.Fprintln(b, line)
		}
	}
}

func header() string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString(headerTop)
	constants(&b, spec.Constants)
	b.WriteString(headerCalls)
	title := ""
	for _, c := range spec.Chapters {
		if c.Title != title {
			title = c.Title
			fmt.Fprintf(&b, "\n/* %s %s */\n", strings.Repeat("-", 90-len(title)), title)
		}
		for i := range c.Families {
			familyHeader(&b, &c.Families[i])
		}
	}
	b.WriteString(aliases())
	b.WriteString(headerEnd)
	b.WriteString(generics())
	b.WriteString(overloads())
	b.WriteString("#endif\n\n#endif\n")
	return b.String()
}

// familyHeader writes the doc comment and the prototypes of one row.
func familyHeader(b *strings.Builder, f *spec.Family) {
	fmt.Fprintf(b, "\n/*\n")
	comment(b, strings.Join(spellings(f), ", "), "")
	fmt.Fprintln(b, " *")
	comment(b, f.Doc, "")
	arguments(b, f)
	section := func(label, text string) {
		if text != "" {
			comment(b, label+": "+text, "")
		}
	}
	if f.Returns+f.Errors+f.Order != "" {
		fmt.Fprintln(b, " *")
	}
	section("Result", f.Returns)
	section("Errors", f.Errors)
	section("Order", f.Order)
	fmt.Fprintf(b, " *\n")
	if f.Instead != "" {
		comment(b, "Deprecated: use "+f.Instead+".", "")
	}
	comment(b, fmt.Sprintf("OpenSHMEM 1.6, %s. Since libshmem %s.", f.Section, f.Since), "")
	fmt.Fprintf(b, " */\n")
	nbi, ctx := false, false
	for _, fn := range f.Functions() {
		if fn.Nbi && !nbi {
			nbi = true
			fmt.Fprintf(b, "\n/* Nonblocking. %s */\n", f.DocNbi)
		}
		if fn.Ctx && !ctx {
			ctx = true
			fmt.Fprintf(b, "\n/* %s */\n", contextForms(f))
		}
		fmt.Fprintf(b, "%s%s;\n", warning(f), prototype(fn))
	}
}

// contextForms is what the forms of a family that take a context have in common.
func contextForms(f *spec.Family) string {
	for _, p := range f.Params {
		if p.Name == "pe" {
			return "The same on a context; pe is a number in its team."
		}
	}
	return "The same on a context."
}

// warning is what has a compiler tell users of a deprecated function.
func warning(f *spec.Family) string {
	if f.Instead == "" {
		return ""
	}
	macro := "SHMEMI_DEPRECATED"
	if f.OnlyC {
		macro += "_C"
	}
	return fmt.Sprintf("%s(%q) ", macro, "use "+f.Instead)
}

// spelled is a function's name with what stands for its type or size.
func spelled(fn spec.Function) string {
	switch {
	case fn.Form == spec.Sized:
		return strings.Replace(fn.Name, fn.Type.Name, "<bits>", 1)
	case fn.Form == 0 && len(fn.Family.Types) > 0:
		return strings.Replace(fn.Name, "_"+fn.Type.Name+"_", "_<T>_", 1)
	}
	return fn.Name
}

// spellings is how the family's names are made, for the head of its comment.
func spellings(f *spec.Family) []string {
	var out []string
	seen := map[string]bool{}
	for _, fn := range f.Functions() {
		if fn.Nbi || fn.Ctx {
			continue
		}
		s := spelled(fn)
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// arguments writes one line for each parameter: whose memory, unit, meaning.
func arguments(b *strings.Builder, f *spec.Family) {
	if len(f.Params) == 0 {
		return
	}
	fmt.Fprintln(b, " *")
	width := 0
	for _, p := range f.Params {
		width = max(width, len(p.Name))
	}
	for _, p := range f.Params {
		text := argument(f, p)
		pad := strings.Repeat(" ", width)
		name := p.Name + pad[len(p.Name):]
		comment(b, "@"+name+" "+text, "   "+pad)
	}
}

// argument is what is said of a parameter.
func argument(f *spec.Family, p spec.Param) string {
	text := strings.TrimSpace(unit(f, p) + " " + p.Doc)
	if role := p.Role.String(); role != "" && text != "" {
		text = role + ": " + text
	} else if role != "" {
		text = role
	}
	if p.Nbi {
		text += " (nonblocking form only)"
	}
	return text
}

// unit is a number's unit, with what it becomes in forms without a type.
func unit(f *spec.Family, p spec.Param) string {
	if p.Unit != "elements" {
		return p.Unit
	}
	u := p.Unit
	if f.Variants&spec.Sized != 0 {
		u += " of T or of <bits> bits"
	}
	if f.Variants&spec.Mem != 0 {
		u += " (mem: bytes)"
	}
	return u
}
