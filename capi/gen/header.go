package main

import (
	"fmt"
	"slices"
	"strings"

	"libshmem"
	"libshmem/capi/spec"
)

// headerTop follows the description of a header.
const headerTop = `
/* nvcc sees the host's and the kernels' function of one name as one, which is not deprecated. */
#if defined(__GNUC__) && !defined(@@_ALLOW_DEPRECATED) && !defined(__CUDACC__)
#define @@I_DEPRECATED(text) __attribute__((deprecated(text)))
#else
#define @@I_DEPRECATED(text)
#endif
#ifdef __cplusplus
#define @@I_DEPRECATED_C(text) /* in C++ the name is an overload */
#else
#define @@I_DEPRECATED_C(text) @@I_DEPRECATED(text)
#endif

/* NVRTC compiles kernels without a C library; shmem/shmem.cuh defines the types. */
#ifndef __CUDACC_RTC__
#include <stddef.h>
#include <stdint.h>
`

// headerComplex is for surfaces that have complex numbers.
const headerComplex = `#ifdef __cplusplus
/* nvcc needs almost a second for <complex>, and kernels call no function of complex numbers: a file
 * for nvcc that uses values of std::complex includes it, before or after this header. */
#if defined(__CUDACC__) && defined(__GLIBCXX__)
namespace std _GLIBCXX_VISIBILITY(default)
{
_GLIBCXX_BEGIN_NAMESPACE_VERSION
template <typename> class complex;
template <> class complex<double>;
template <> class complex<float>;
_GLIBCXX_END_NAMESPACE_VERSION
} // namespace std
#else
#include <complex>
#endif

typedef std::complex<double> shmemi_complexd;
typedef std::complex<float> shmemi_complexf;
#else
typedef double _Complex shmemi_complexd;
typedef float _Complex shmemi_complexf;
#endif
`

// headerCalls begins the functions of host code.
const headerCalls = `
/* NVRTC compiles no host code; kernels have declarations of their own. */
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

// constants writes groups of public constants to a header, each group as macros or as an enum,
// whose last constant gets no comma.
func constants(b *strings.Builder, groups []spec.ConstantGroup) {
	for _, g := range groups {
		fmt.Fprintf(b, "\n/* %s */\n", g.Doc)
		form, end := "#define %s %s", ""
		if g.Enum {
			fmt.Fprintln(b, "enum {")
			form, end = "    %s = %s,", "};\n"
		}
		for i, c := range g.Constants {
			value := strings.ReplaceAll(c.Value, "$VERSION", libshmem.Version)
			line := fmt.Sprintf(form, c.Name, value)
			if g.Enum && i == len(g.Constants)-1 {
				line = strings.TrimSuffix(line, ",")
			}
			if c.Doc != "" {
				line += " /* " + c.Doc + " */"
			}
			fmt.Fprintln(b, line)
		}
		b.WriteString(end)
	}
}

// writeHeaderTop writes the start of a generated header: the banner, its description and its
// include guard.
func writeHeaderTop(b *strings.Builder, h spec.Headers) {
	b.WriteString(banner("/* ", " */"))
	b.WriteString("/* clang-format off */\n/*\n")
	for line := range strings.Lines(h.About) {
		b.WriteString(strings.TrimRight(" * "+line, " \n") + "\n")
	}
	fmt.Fprintf(b, " */\n#ifndef %[1]s\n#define %[1]s\n", guard(h.File))
}

// guard returns the include guard of a header.
func guard(file string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "/", "_").Replace(file))
}

// header returns the public header of a surface, one set of names for the library's functions, such
// as NVSHMEM's.
func header(s *spec.Surface) string {
	var b strings.Builder
	writeHeaderTop(&b, s.Headers)
	b.WriteString(withPrefixes(s, headerTop))
	if hasComplex(s) {
		b.WriteString(headerComplex)
	}
	b.WriteString("#endif\n")
	b.WriteString(s.Types)
	constants(&b, s.Constants())
	b.WriteString(headerCalls)
	title := ""
	for _, c := range s.Chapters() {
		for i := range c.Families {
			f := &c.Families[i]
			if f.Front == "" {
				continue
			}
			if c.Title != title {
				title = c.Title
				fmt.Fprintf(&b, "\n/* %s %s */\n", strings.Repeat("-", 90-len(title)), title)
			}
			familyHeader(&b, f)
		}
	}
	if s.Generics {
		b.WriteString(aliases(s))
	}
	b.WriteString(headerEnd)
	if s.Generics {
		b.WriteString(generics(s))
		b.WriteString(overloads(s))
	}
	b.WriteString("#endif\n\n#endif\n")
	return b.String()
}

// hasComplex reports whether a function of the surface takes complex numbers.
func hasComplex(s *spec.Surface) bool {
	return slices.ContainsFunc(s.Chapters(), func(c spec.Chapter) bool {
		return slices.ContainsFunc(c.Families, func(f spec.Family) bool {
			return slices.ContainsFunc(f.Types, func(t spec.Type) bool { return t.Kind == spec.Complex })
		})
	})
}

// familyHeader writes the doc comment and the prototypes of a family, which is a row of capi/spec.
func familyHeader(b *strings.Builder, f *spec.Family) {
	fmt.Fprintf(b, "\n/*\n")
	comment(b, strings.Join(nameForms(f), ", "), "")
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
	since := fmt.Sprintf("Since libshmem %s.", f.Since)
	if f.Section != "" {
		since = fmt.Sprintf("OpenSHMEM 1.6, %s. %s", f.Section, since)
	}
	comment(b, since, "")
	fmt.Fprintf(b, " */\n")
	nbi, ctx, halves := false, false, false
	for _, fn := range f.Functions() {
		if fn.Nbi && !nbi {
			nbi = true
			fmt.Fprintf(b, "\n/* Nonblocking. %s */\n", f.DocNbi)
		}
		if fn.Ctx && !ctx {
			ctx = true
			fmt.Fprintf(b, "\n/* %s */\n", contextComment(f))
		}
		silenceClassWarnings(b, &halves, fn)
		fmt.Fprintf(b, "%s%s;\n", deprecatedAttribute(f), prototype(fn))
	}
	silenceClassWarnings(b, &halves, spec.Function{})
}

// silenceClassWarnings writes the pragmas before and after a group of prototypes whose result is a
// class of CUDA, such as __half. Clang would warn of them in each C++ program: the class is
// incomplete, or has constructors if the program has included its header. *within reports whether a
// group is open, and an fn without a family closes the last group.
func silenceClassWarnings(b *strings.Builder, within *bool, fn spec.Function) {
	isClass := fn.Family != nil && strings.HasPrefix(cType(fn.Result(), fn.Type), "struct ")
	switch {
	case isClass && !*within:
		b.WriteString("#ifdef __clang__\n#pragma clang diagnostic push\n#pragma clang diagnostic ignored \"-Wreturn-type-c-linkage\"\n#endif\n")
	case !isClass && *within:
		b.WriteString("#ifdef __clang__\n#pragma clang diagnostic pop\n#endif\n")
	}
	*within = isClass
}

// contextComment returns the comment above the prototypes of a family that take a context.
func contextComment(f *spec.Family) string {
	for _, p := range f.Params {
		if p.Name == "pe" || p.Name == "target_pe" {
			return "The same on the context ctx; " + p.Name + " is a number in its team."
		}
	}
	return "The same on the context ctx."
}

// deprecatedAttribute returns the attribute with which compilers warn about a deprecated function.
func deprecatedAttribute(f *spec.Family) string {
	if f.Instead == "" {
		return ""
	}
	macro := withPrefixes(f.Surface(), "@@I_DEPRECATED")
	if f.DeprecatedInC {
		macro += "_C"
	}
	return fmt.Sprintf("%s(%q) ", macro, "use "+f.Instead)
}

// nameForm returns a function's name with <T> for its type or <bits> for its size, as documentation
// names all functions of a family: shmem_<T>_put.
func nameForm(fn spec.Function) string {
	switch {
	case fn.Form == spec.Sized:
		return strings.Replace(fn.Name, fn.Type.Name, "<bits>", 1)
	case fn.Form == 0 && len(fn.Family.Types) > 0:
		return strings.Replace(fn.Name, "_"+fn.Type.Name+"_", "_<T>_", 1)
	}
	return fn.Name
}

// nameForms lists the name forms of a family (nameForm), each once, without the nonblocking ones
// and those on a context.
func nameForms(f *spec.Family) []string {
	var out []string
	seen := map[string]bool{}
	for _, fn := range f.Functions() {
		if fn.Nbi || fn.Ctx {
			continue
		}
		s := nameForm(fn)
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// arguments writes to a function's comment one line for each parameter: whose memory it is, its
// unit and its meaning.
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

// argument returns the description of a parameter: whose memory, unit, meaning.
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

// unit returns the unit of a parameter that is a number. For a number of elements it adds what that
// counts in the family's functions for a size, shmem_put<bits>, and for bytes, shmem_putmem.
func unit(f *spec.Family, p spec.Param) string {
	if p.Unit != "elements" {
		return p.Unit
	}
	u := p.Unit
	switch {
	case f.Variants&spec.Sized == 0:
	case len(f.Types) == 0:
		u += " of <bits> bits"
	default:
		u += " of T or of <bits> bits"
	}
	if f.Variants&spec.Mem != 0 {
		u += " (mem: bytes)"
	}
	return u
}
