package clock

// Counts reports whether the counter is usable. The TSC is usable only if the processor says that
// it is invariant: on others its rate follows that of the core, and sleep stops it.
var Counts = invariant()

// counter reads the TSC.
func counter() uint64

// cpuid is the instruction of that name.
func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)

// invariant reports whether the processor says that its TSC counts at one rate and never stops: bit
// 8 of EDX of CPUID leaf 0x80000007, if the processor has that leaf.
func invariant() bool {
	const highestLeaf, powerLeaf, invariantTSC = 0x80000000, 0x80000007, 1 << 8
	if highest, _, _, _ := cpuid(highestLeaf); highest < powerLeaf {
		return false
	}
	_, _, _, edx := cpuid(powerLeaf)
	return edx&invariantTSC != 0
}
