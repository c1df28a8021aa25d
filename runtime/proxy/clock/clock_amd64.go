package clock

// Counts reports whether the counter is usable. The TSC is usable only if the processor says that
// it is invariant: on others its rate follows that of the core, and sleep stops it.
var Counts = invariant()

// counter reads the TSC.
func counter() uint64

// cpuid is the instruction of that name.
func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)

// invariant reports whether the processor says that its TSC counts at one rate and never stops (bit
// 8 of EDX of CPUID leaf 0x80000007). Otherwise the TSC is no clock.
func invariant() bool {
	const highest, power, bit = 0x80000000, 0x80000007, 1 << 8
	if most, _, _, _ := cpuid(highest); most < power {
		return false
	}
	_, _, _, edx := cpuid(power)
	return edx&bit != 0
}
