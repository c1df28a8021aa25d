package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"libshmem/capi/spec"
)

// deviceFiles makes the headers with the functions of a surface, a set of names, that kernels call.
// NVSHMEM's has public headers of its own, with names of their files (Device). The headers of
// shmem's are written by hand, and include a part for each chapter.
func deviceFiles(s *spec.Surface) []file {
	host := hostShapes(s)
	var out []file
	if s.Device.File != "" {
		for i, h := range []spec.Headers{s.Device, s.DeviceBeyond} { // the second has the extensions
			out = append(out, file{Path: "include/" + h.File, Text: deviceNames(s, h, i == 1, host)})
		}
		return append(out, file{Path: "include/" + s.TileHeader.File, Text: tileHeader(s)})
	}
	for _, c := range s.Kernels() {
		out = append(out, file{Path: "device/" + s.Name + "/zz_" + c.File + ".h", Text: deviceHeader(s, c, host)})
	}
	return out
}

// hostShapes returns the parameter types of each host function, by its name. nvcc treats a host
// function and a function for kernels as one function if name and parameter types are the same.
func hostShapes(s *spec.Surface) map[string]string {
	out := map[string]string{}
	add := func(f *spec.Family) {
		for _, fn := range f.Functions() {
			out[fn.Name] = parameterTypes(fn.Params(), fn.Type)
		}
	}
	for _, c := range s.Chapters() {
		for i := range c.Families {
			add(&c.Families[i])
		}
	}
	extensions := s.Extensions()
	for i := range extensions {
		add(&extensions[i])
	}
	return out
}

// parameterTypes returns the types of parameters as one text, by which functions of the host and of
// kernels are compared.
func parameterTypes(params []spec.Param, t spec.Type) string {
	var types []string
	for _, p := range params {
		types = append(types, strings.ReplaceAll(cType(p.C, t), "struct ", ""))
	}
	return strings.Join(types, ", ")
}

// deviceTop begins the functions of a header for kernels. 20040 is the number of nvcc's warning.
const deviceTop = `/*
 * nvcc warns that a declaration here makes a host function a function of kernels as well; this is
 * intended.
 */
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20040
`

// deviceNames returns a header with the functions for kernels of all chapters: the extensions if
// beyond is true, else the other functions.
func deviceNames(s *spec.Surface, h spec.Headers, beyond bool, host map[string]string) string {
	var b strings.Builder
	writeHeaderTop(&b, h)
	b.WriteString(h.Types + "\n#ifdef SHMEMI_KERNEL\n" + deviceTop)
	for _, c := range s.Kernels() {
		for _, f := range c.Families {
			documented := false
			functions := f.Functions()
			for j := range functions {
				if strings.HasPrefix(functions[j].Name, s.Extension()) != beyond {
					continue
				}
				if !documented {
					documented = true
					fmt.Fprintf(&b, "\n/* %s */\n", f.Doc)
				}
				deviceFunction(&b, &functions[j], host)
			}
		}
	}
	b.WriteString("\n#pragma nv_diagnostic pop\n#endif\n\n#endif\n")
	return b.String()
}

// deviceHeader returns the header with the functions for kernels of one chapter.
func deviceHeader(s *spec.Surface, c spec.KernelChapter, host map[string]string) string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	guard := s.Capitals() + "_ZZ_" + strings.ToUpper(c.File) + "_H"
	fmt.Fprintf(&b, "/* clang-format off */\n/*\n * zz_%s.h: the names of %s that kernels call. Part of %s.\n */\n#ifndef %s\n#define %s\n\n", c.File, c.Doc, c.Part(), guard, guard)
	if s.Over == nil {
		// The host's header declares the functions that kernels share with the host.
		fmt.Fprintf(&b, "#include \"names.h\"\n#include \"%s\"\n\n#ifdef SHMEMI_KERNEL\n#include <%s>\n\n%s", c.Over, s.File, deviceTop)
	} else { // it calls the templates of the surface on which this one is built
		types := s.File
		if c.Part() != spec.KernelHeaders[0].Part() { // extensions
			types = s.Beyond.File
		}
		fmt.Fprintf(&b, "#include <%s/%s>\n#include <%s>\n\n#ifdef SHMEMI_KERNEL\n%s", spec.Shmem.Name, c.Part(), types, deviceTop)
	}
	for _, f := range c.Families {
		fmt.Fprintf(&b, "\n/* %s */\n", f.Doc)
		functions := f.Functions()
		for j := range functions {
			deviceFunction(&b, &functions[j], host)
		}
	}
	b.WriteString("\n#pragma nv_diagnostic pop\n#endif\n\n#endif\n")
	return b.String()
}

// deviceFunction writes the definitions of a function for kernels: the plain one, an overload that
// takes a context first, and one with ctx_ in its name. If the host has a function of the last
// name, kernels get a further definition that takes the host's context handle: otherwise a kernel
// that passes a handle would call the host's function. host has the parameter types of the host's
// functions by name: a definition with the same ones is SHMEMI_SHARED, any other SHMEMI_ONLY.
func deviceFunction(b *strings.Builder, f *spec.KernelFunction, host map[string]string) {
	// The function is a template, because the CUDA header of its type may be included later. Form is
	// 0 for a name with a type: the names for bytes and sizes do not use the type itself.
	late := f.Type.Kind == spec.Late && f.Form == 0 && byValue(f.Family)
	t := f.Type
	head := ""
	if late {
		head = "template <class H = " + t.C + "> "
	}
	write := func(kind, name, context, job string) {
		var params []string
		if context != "" {
			params = append(params, context)
		}
		for _, p := range f.Params() {
			typ := cType(p.C, t)
			if late && p.C == "T" {
				typ = "typename shmemi_late<H>::type"
			}
			params = append(params, declare(typ, p.Name))
		}
		if params == nil {
			params = []string{"void"}
		}
		result := f.Family.Result
		switch {
		case result == "" || f.Nbi:
			result = "void"
		case late && result == "T":
			result = "typename shmemi_late<H>::type"
		default:
			result = cType(result, t)
		}
		run := "SHMEMI_RUN(" + result + ", "
		if kind == "SHMEMI_SHARED" {
			run = "SHMEMI_DO("
		}
		fmt.Fprintf(b, "%s%s %s(%s) %s%s)\n", head, kind, declare(result, name), strings.Join(params, ", "), run, deviceBody(f, late, job))
	}
	kind := "SHMEMI_ONLY"
	if types, ok := host[f.Name]; ok && types == parameterTypes(f.Params(), t) {
		kind = "SHMEMI_SHARED"
	}
	write(kind, f.Name, "", "SHMEMI_JOB")
	if f.Family.Contexts {
		open := fmt.Sprintf("shmemi_open(ctx, %#xu)", spec.CallNumber(f.Name))
		context := withPrefixes(spec.Shmem, "@_context ctx")
		write("SHMEMI_ONLY", f.Name, context, open)
		if f.Scope == spec.Thread {
			s := f.Family.Surface()
			prefix := s.Prefix()
			if !strings.HasPrefix(f.Name, prefix) {
				prefix = s.Extension()
			}
			name := strings.Replace(f.Name, prefix, prefix+"ctx_", 1)
			if _, ok := host[name]; ok {
				write("SHMEMI_SHARED", name, withPrefixes(s, "@_ctx_t ctx"), open)
			}
			write("SHMEMI_ONLY", name, context, open)
		}
	}
}

// byValue reports whether the functions of a family pass or return elements by value, or use the
// element type in another way that needs its definition and not only its declaration.
func byValue(f *spec.KernelFamily) bool {
	return f.Result == "T" || strings.Contains(f.Body, "$T") ||
		slices.ContainsFunc(f.Params, func(p spec.Param) bool { return p.C == "T" })
}

// scopeTypes are the template arguments for the threads that make a call together.
var scopeTypes = [...]string{"shmemi_by_thread", "shmemi_by_warp", "shmemi_by_block"}

// deviceBody returns the call of a template of device/shmem that a function for kernels makes: the
// Body of its family with the words in $ replaced. late: the element type is the parameter H of a
// template. job is the expression for the job's data or for a context.
func deviceBody(f *spec.KernelFunction, late bool, job string) string {
	t, nbi, lateMark := f.Type.C, "0", ""
	if late {
		t = "H"
	}
	if late || f.Type.Kind == spec.Half {
		lateMark = "late_"
	}
	if f.Nbi {
		nbi = "1"
	}
	bytes := fmt.Sprintf("nelems * %d", f.Type.Bits/8)
	if f.Type.Bits == 8 {
		bytes = "nelems"
	}
	text := strings.NewReplacer(
		"$T", t,
		"$job", job,
		"$call", fmt.Sprintf("%#xu", spec.CallNumber(f.Name)),
		"$scope", scopeTypes[f.Scope],
		"$nbi", nbi,
		"$late", lateMark,
		"$bytes", bytes,
		"$size", strconv.Itoa(f.Type.Bits/8),
	).Replace(f.Family.Body)
	if left := regexp.MustCompile(`\$\w*`).FindString(text); left != "" {
		panic("gen: device body of " + f.Name + ": " + left + " means nothing")
	}
	return text
}
