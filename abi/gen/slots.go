package main

import (
	"fmt"
	"strings"

	"libshmem/abi/table"
)

const wireTop = `/* clang-format off */
/*
 * zz_wire.h: the slots of a ring and the structs that producers and the proxy
 * share. For C99, C11, C++ and CUDA. docs/reference/wire.md has the picture.
 */
#ifndef SHMEM_WIRE_H
#define SHMEM_WIRE_H

#include "types.h"

#ifdef __CUDACC__
#define SHMEMI_HD static __host__ __device__ __forceinline__
#else
#define SHMEMI_HD static inline __attribute__((always_inline, unused))
#endif

#if defined(__CUDACC_RTC__)
/* NVRTC has no offsetof; nvcc sees that the layout is the same. */
#define SHMEMI_WIRE_ASSERT(what, name) static_assert(true, #name)
#elif defined(__cplusplus)
#define SHMEMI_WIRE_ASSERT(what, name) static_assert(what, #name)
#else
#define SHMEMI_WIRE_ASSERT(what, name) typedef char shmemi_wire_##name[(what) ? 1 : -1]
#endif

`

// wireHeader returns device/shmem/zz_wire.h: the operations, functions that pack and read their
// words, and the structs around the slots.
func wireHeader() string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString(wireTop)
	fmt.Fprintf(&b, "#define SHMEMI_WIRE_VERSION %d\n", table.Version)
	fmt.Fprintf(&b, "#define SHMEMI_MAX_SLOTS %d /* of one operation */\n", table.MaxSlots)
	b.WriteString("#define SHMEMI_LAP_BIT 63 /* of each word */\n")
	for _, c := range table.Constants {
		fmt.Fprintf(&b, "#define SHMEMI_%s %d /* %s */\n", c.Name, c.Value, c.Doc)
	}
	b.WriteString("\n/* Operations, and how many slots each takes. */\nenum shmemi_op {\n")
	for _, op := range table.Ops {
		fmt.Fprintf(&b, "    SHMEMI_OP_%s = %d, /* %s */\n", strings.ToUpper(op.Name), op.Code, op.Doc)
	}
	b.WriteString("};\n")
	for _, op := range table.Ops {
		fmt.Fprintf(&b, "#define SHMEMI_SLOTS_%s %d\n", strings.ToUpper(op.Name), op.Slots)
	}
	b.WriteString("\n/* How many slots an operation takes; 0: there is no such operation. */\nSHMEMI_HD int shmemi_slots_of(uint64_t op)\n{\n    switch (op) {\n")
	for _, op := range table.Ops {
		name := strings.ToUpper(op.Name)
		fmt.Fprintf(&b, "    case SHMEMI_OP_%s:\n        return SHMEMI_SLOTS_%s;\n", name, name)
	}
	b.WriteString("    default:\n        return 0;\n    }\n}\n")
	for i := range table.Structs {
		cStruct(&b, &table.Structs[i], func(what, name string) string {
			return fmt.Sprintf("SHMEMI_WIRE_ASSERT(%s, %s);\n", what, name)
		})
	}
	fmt.Fprintf(&b, `
/* The words of one operation, laps not yet set: as many as it has slots, twice. */
struct shmemi_words {
    uint64_t w[2 * SHMEMI_MAX_SLOTS];
};

/* A value that is too large for its field is cut, so that it never harms another. */
`)
	for i := range table.Ops {
		cPack(&b, &table.Ops[i])
	}
	b.WriteString("\n/* Extract fields from the words of an operation, with or without laps. */\n")
	for _, fields := range [][]table.Field{table.Head, table.Fields} {
		for _, f := range fields {
			fmt.Fprintf(&b, "SHMEMI_HD uint64_t shmemi_get_%s(const uint64_t *w)\n{\n    return %s;\n}\n", f.Name, cGet(f))
		}
	}
	b.WriteString("\n#endif\n")
	return b.String()
}

// cut returns the C or Go expression of a value without the bits that its field has no room for.
func cut(f table.Field, value string) string {
	return fmt.Sprintf("(%s & %#x)", value, uint64(1)<<min(f.Bits, table.Bits)-1)
}

// shifted returns the C or Go expression of a number that is shifted to the left by some bits.
func shifted(text string, by int) string {
	if by == 0 {
		return text
	}
	return fmt.Sprintf("%s << %d", text, by)
}

// words returns, for each word of an operation, the expressions whose bitwise or is the word. value
// returns the expression of a field as an unsigned 64-bit number.
func words(op *table.Op, value func(table.Field) string) [2 * table.MaxSlots][]string {
	var out [2 * table.MaxSlots][]string
	add := func(slot, word int, term string) { out[2*slot+word] = append(out[2*slot+word], term) }
	for _, f := range op.Of() {
		v := value(f)
		add(f.Slot, f.Word, shifted(cut(f, v), f.Shift))
		if f.Bits == 64 { // its own word has the lap at bit 63
			add(0, 0, shifted("("+v+" >> 63)", f.Top))
		}
	}
	return out
}

// cPack writes the C function that packs the fields of an operation into its words.
func cPack(b *strings.Builder, op *table.Op) {
	var params []string
	for _, f := range op.Of()[1:] {
		typ := "uint32_t"
		if f.Bits > 32 {
			typ = "uint64_t"
		}
		params = append(params, typ+" "+f.Name)
	}
	if params == nil {
		params = []string{"void"}
	}
	fmt.Fprintf(b, "SHMEMI_HD struct shmemi_words shmemi_pack_%s(%s)\n{\n    struct shmemi_words p;\n", op.Name, strings.Join(params, ", "))
	for i, terms := range words(op, func(f table.Field) string {
		if f.Name == "op" {
			return fmt.Sprintf("(uint64_t)SHMEMI_OP_%s", strings.ToUpper(op.Name))
		}
		return "(uint64_t)" + f.Name
	}) {
		if i >= 2*op.Slots {
			break
		}
		if terms == nil {
			terms = []string{"0"}
		}
		fmt.Fprintf(b, "    p.w[%d] = %s;\n", i, strings.Join(terms, " |\n             "))
	}
	b.WriteString("    return p;\n}\n")
}

// cGet returns the C expression that reads a field from the words w of an operation.
func cGet(f table.Field) string {
	word := fmt.Sprintf("w[%d]", 2*f.Slot+f.Word)
	if f.Bits == 64 {
		return fmt.Sprintf("(%s & %#x) | (w[0] >> %d & 1) << 63", word, uint64(1)<<table.Bits-1, f.Top)
	}
	if f.Shift == 0 {
		return fmt.Sprintf("%s & %#x", word, uint64(1)<<f.Bits-1)
	}
	return fmt.Sprintf("%s >> %d & %#x", word, f.Shift, uint64(1)<<f.Bits-1)
}
