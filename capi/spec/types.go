package spec

// Kind is how values of a type are compared and added.
type Kind int

// The kinds.
const (
	Raw Kind = iota // bytes without a meaning
	Signed
	Unsigned
	Real
	Complex
	Late // a floating-point type of GPUs, whose header a program may leave out
	Half // a type of GPUs whose header is always included
)

// A Type is an element type. The names are the specification's; the widths are
// those of the LP64 machines that libshmem runs on, and the generated code
// asserts them.
type Type struct {
	Name string // int in shmem_int_put
	C    string
	Kind Kind
	Bits int
	Mod  string // the unsigned type that a signed sum wraps around in
}

var (
	tFloat      = Type{"float", "float", Real, 32, ""}
	tDouble     = Type{"double", "double", Real, 64, ""}
	tLongDouble = Type{"longdouble", "long double", Real, 128, ""}
	// char is signed on x86-64; its sum does not depend on that.
	tChar      = Type{"char", "char", Signed, 8, "unsigned char"}
	tSChar     = Type{"schar", "signed char", Signed, 8, "unsigned char"}
	tShort     = Type{"short", "short", Signed, 16, "unsigned short"}
	tInt       = Type{"int", "int", Signed, 32, "unsigned int"}
	tLong      = Type{"long", "long", Signed, 64, "unsigned long"}
	tLongLong  = Type{"longlong", "long long", Signed, 64, "unsigned long long"}
	tUChar     = Type{"uchar", "unsigned char", Unsigned, 8, ""}
	tUShort    = Type{"ushort", "unsigned short", Unsigned, 16, ""}
	tUInt      = Type{"uint", "unsigned int", Unsigned, 32, ""}
	tULong     = Type{"ulong", "unsigned long", Unsigned, 64, ""}
	tULongLong = Type{"ulonglong", "unsigned long long", Unsigned, 64, ""}
	tInt8      = Type{"int8", "int8_t", Signed, 8, "uint8_t"}
	tInt16     = Type{"int16", "int16_t", Signed, 16, "uint16_t"}
	tInt32     = Type{"int32", "int32_t", Signed, 32, "uint32_t"}
	tInt64     = Type{"int64", "int64_t", Signed, 64, "uint64_t"}
	tUInt8     = Type{"uint8", "uint8_t", Unsigned, 8, ""}
	tUInt16    = Type{"uint16", "uint16_t", Unsigned, 16, ""}
	tUInt32    = Type{"uint32", "uint32_t", Unsigned, 32, ""}
	tUInt64    = Type{"uint64", "uint64_t", Unsigned, 64, ""}
	tSize      = Type{"size", "size_t", Unsigned, 64, ""}
	tPtrdiff   = Type{"ptrdiff", "ptrdiff_t", Signed, 64, "size_t"}
	// The two complex types have one name in C and another in C++; the header
	// gives them a common one.
	tComplexD = Type{"complexd", "shmemi_complexd", Complex, 128, ""}
	tComplexF = Type{"complexf", "shmemi_complexf", Complex, 64, ""}
)

// SameAs returns the basic C type that a type of <stdint.h> or <stddef.h> is another name for, and
// other types unchanged.
func SameAs(c string) string {
	if other, ok := aliases[c]; ok {
		return other
	}
	return c
}

var aliases = map[string]string{
	"int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
	"uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int",
	"uint64_t": "unsigned long", "size_t": "unsigned long", "ptrdiff_t": "long",
}

// The specification's tables of types.
var (
	// RMATypes: standard types of remote memory access, 24.
	RMATypes = []Type{
		tFloat, tDouble, tLongDouble, tChar, tSChar, tShort, tInt, tLong, tLongLong,
		tUChar, tUShort, tUInt, tULong, tULongLong,
		tInt8, tInt16, tInt32, tInt64, tUInt8, tUInt16, tUInt32, tUInt64, tSize, tPtrdiff,
	}
	// AMOTypes: standard types of atomic operations, and of wait and test, 12.
	AMOTypes = []Type{
		tInt, tLong, tLongLong, tUInt, tULong, tULongLong,
		tInt32, tInt64, tUInt32, tUInt64, tSize, tPtrdiff,
	}
	// ExtendedAMOTypes: the types of atomic set, fetch and swap, 14.
	ExtendedAMOTypes = append([]Type{tFloat, tDouble}, AMOTypes...)
	// BitwiseAMOTypes: the types of atomic and, or, xor, 7.
	BitwiseAMOTypes = []Type{tUInt, tULong, tULongLong, tInt32, tInt64, tUInt32, tUInt64}
	// OrderedTypes: the types of max and min over teams, 24.
	OrderedTypes = RMATypes
	// BitwiseTypes: the types of and, or, xor over teams, 14.
	BitwiseTypes = []Type{
		tUChar, tUShort, tUInt, tULong, tULongLong,
		tInt8, tInt16, tInt32, tInt64, tUInt8, tUInt16, tUInt32, tUInt64, tSize,
	}
	// SummedTypes: the types of sum and prod over teams, 26.
	SummedTypes = append(append([]Type{}, RMATypes...), tComplexD, tComplexF)
)

// Sizes are the element sizes, in bits, of the Sized variants.
var Sizes = []int{8, 16, 32, 64, 128}
