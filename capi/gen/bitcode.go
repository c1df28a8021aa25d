package main

import (
	"fmt"
	"strings"

	"libshmem/capi/spec"
)

const bitcodeTop = `/* clang-format off */
/*
 * zz_functions.h: the functions of libnvshmem_device.bc, with C linkage, for device/bitcode. Each is
 * the function of the same name in device/nvshmem_defines.h and device/nvshmemx_defines.h.
 */
`

// bitcodeFile makes the functions of the bitcode library of a surface, which compilers of kernels
// such as Triton link by name.
func bitcodeFile(s *spec.Surface) file {
	var b strings.Builder
	b.WriteString(banner("/* ", " */") + bitcodeTop)
	for _, c := range s.Kernels() {
		for _, f := range c.Families {
			fmt.Fprintf(&b, "\n/* %s */\n", f.Doc)
			functions := f.Functions()
			for i := range functions {
				functions[i].Type.C = sharedInteger(functions[i].Type)
				bitcodeFunction(&b, &functions[i], c.Collective())
			}
		}
	}
	return file{Path: buildPath(s, "bitcode/zz_functions.h"), Text: b.String()}
}

// bitcodeFunction writes a function of the bitcode library. Compilers of kernels pass 16-bit
// floating-point values as such and not in the structs of CUDA's headers. Triton makes a call that
// is for one thread in all threads of a block. In a collective one lane of each warp makes it
// (turn.mine), the warps one after the other, and shmemi_turn_end returns the result to all lanes.
func bitcodeFunction(b *strings.Builder, f *spec.KernelFunction, collective bool) {
	var params []string
	team := "SHMEMI_TEAM_WORLD"
	for _, p := range f.Params() {
		typ := cType(p.C, f.Type)
		if p.C == "T" {
			typ = byValueType(typ)
		}
		if p.Name == "team" {
			team = p.Name
		}
		params = append(params, declare(typ, p.Name))
	}
	result := "void"
	if f.Family.Result != "" && !f.Nbi {
		result = cType(f.Family.Result, f.Type)
		if f.Family.Result == "T" {
			result = byValueType(result)
		}
	}
	begin, body := "", deviceBody(f, false, "SHMEMI_JOB")
	if collective && f.Scope == spec.Thread && strings.Contains(f.Family.Body, "$scope") {
		begin = fmt.Sprintf("struct shmemi_turn turn = shmemi_turn_begin(SHMEMI_JOB, %#xu, %s); ", spec.CallNumber(f.Name), team)
		// Lanes whose result counts for nothing pass 0. A body of a call without a result begins with a
		// cast to void, which the conditional operator does not take.
		body = fmt.Sprintf("shmemi_turn_end(&turn, turn.mine ? %s : 0)", strings.TrimPrefix(body, "(void)"))
		if result == "void" {
			body = "(void)" + body
		}
	}
	fmt.Fprintf(b, "SHMEMI_BITCODE %s(%s) { %sreturn %s; }\n", declare(result, f.Name), strings.Join(params, ", "), begin, body)
}

// sharedInteger returns the C type in which the bitcode library has an element: for integers one
// type for each width and sign, so that functions of int, long and so on share their code. Callers
// in bitcode do not see the types of C.
func sharedInteger(t spec.Type) string {
	switch t.Kind {
	case spec.Signed:
		return fmt.Sprintf("int%d_t", t.Bits)
	case spec.Unsigned:
		return fmt.Sprintf("uint%d_t", t.Bits)
	}
	return t.C
}

// byValueType returns the type in which a function of the bitcode library takes or returns a value
// of a C type.
func byValueType(c string) string {
	switch c {
	case "__half":
		return "__fp16"
	case "__nv_bfloat16":
		return "__bf16"
	}
	return c
}
