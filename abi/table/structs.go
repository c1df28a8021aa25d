package table

// A Member is a field of a struct in shared memory.
type Member struct {
	Name  string // in C
	Type  string // u8 to u64, i8 to i64, bool, char, size (size_t), uptr (uintptr_t), ptr, or "struct " and a Struct's Name
	Count int    // elements of an array; 0: no array
	Doc   string // its meaning, and who writes or reads it
	At    int    // the least offset, in bytes; 0: follows the member before
	Align int    // the offset is a multiple of this; 0: by its type

	C      string // its C type, if that does not follow from Type; with %s for the name: its whole declaration
	Go     string // its name in Go; "": from Name, by Struct.Private; "_": padding without a name
	GoType string // the Go type of one element, if that does not follow from Type

	Theirs string // its name in the headers of another library, if that is not Name

	// In layouts of another library: the first version that has the member, and the first later one
	// without it. 0: no limit.
	Since, Until int
}

// A Struct is a layout in memory that C and Go, or the host and a GPU, or several processes access.
type Struct struct {
	Name    string // C name after shmemi_
	Go      string // its name in Go; "": only C has it
	Private bool   // in Go the names of its fields are not exported
	Size    int    // bytes; 0: as many as the members need
	Doc     string
	Members []Member
}

// A Constant is a number that C and Go have under names of their own.
type Constant struct {
	Name  string // in C: SHMEMI_<Name>; "": only Go has it
	Go    string // in Go; "": only C has it
	Value int
	Doc   string
}

// An Enum is a list of numbers, each one more than the one before, or the next bit.
type Enum struct {
	Name   string // in C: enum shmemi_<Name>; "": an enum without a name
	Prefix string // in C: SHMEMI_<Prefix><name of a value>
	Go     string // its type in Go; "": the values are untyped constants
	Base   string // the type of which Go is made
	Kind   string // what the names of values begin with in Go; "-": nothing; "": Go has no such values
	First  int    // the number of the first value
	Bits   bool   // the values are 1, 2, 4 and so on
	Doc    string // begins with a small letter
	Values []Value
}

// Number returns the number of the value at an index.
func (e *Enum) Number(i int) int {
	if e.Bits {
		return 1 << i
	}
	return e.First + i
}

// A Value is one number of an Enum.
type Value struct {
	Name string // after the prefix, in capital letters
	Doc  string
	Go   string // its whole name in Go, if that is not Enum.Kind and Name
}

// A Unit is the contents of one C header and one Go file.
type Unit struct {
	Name      string   // the header is abi/zz_<Name>.h
	Doc       string   // its contents; the header begins with "<file>: " and this text
	Includes  []string // the units, by name, whose headers this header includes
	GoFile    string   // "": Go has no such file
	GoImports []string // what the Go file imports besides structs and unsafe
	Alone     string   // why the unit has no Go file
	Constants []Constant
	Enums     []Enum
	Structs   []Struct
}

// Of returns the struct with the members that it has in a version of another library.
func (s *Struct) Of(version int) Struct {
	inVersion := *s
	inVersion.Members = nil
	for _, m := range s.Members {
		if version >= m.Since && (m.Until == 0 || version < m.Until) {
			inVersion.Members = append(inVersion.Members, m)
		}
	}
	return inVersion
}

// Offsets gives the byte offset of each member, as C and Go lay them out.
func (s *Struct) Offsets() []int {
	at, out := 0, make([]int, len(s.Members))
	for i, m := range s.Members {
		at = max(m.At, roundUp(at, max(m.Align, Alignof(m.Type))))
		out[i] = at
		at += m.Size()
	}
	return out
}

// Bytes returns the size of the struct.
func (s *Struct) Bytes() int {
	if s.Size != 0 || len(s.Members) == 0 {
		return s.Size
	}
	last := len(s.Members) - 1
	return roundUp(s.Offsets()[last]+s.Members[last].Size(), s.align())
}

// align returns the alignment of the struct: the largest one of its members.
func (s *Struct) align() int {
	largest := 1
	for _, m := range s.Members {
		largest = max(largest, m.Align, Alignof(m.Type))
	}
	return largest
}

// Size returns the size of a member in bytes.
func (m *Member) Size() int { return Sizeof(m.Type) * max(m.Count, 1) }

// roundUp returns the least multiple of `to` that is not below n.
func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Sizeof returns the size of a type in bytes.
func Sizeof(typ string) int {
	if s := Find(typ); s != nil {
		return s.Bytes()
	}
	return basic(typ)
}

// Alignof returns the alignment of a type.
func Alignof(typ string) int {
	if s := Find(typ); s != nil {
		return s.align()
	}
	return basic(typ)
}

// basic returns the size of a type that is not a struct. Its alignment is the same.
func basic(typ string) int {
	switch typ {
	case "u8", "i8", "bool", "char":
		return 1
	case "u16", "i16":
		return 2
	case "u32", "i32":
		return 4
	case "u64", "i64", "ptr", "size", "uptr":
		return 8
	}
	panic("table: unknown type " + typ)
}

// Find returns the Struct of a type that is "struct " and its Name; nil for any other type.
func Find(typ string) *Struct {
	const word = "struct "
	if len(typ) <= len(word) || typ[:len(word)] != word {
		return nil
	}
	for _, list := range all() {
		for i := range list {
			if list[i].Name == typ[len(word):] {
				return &list[i]
			}
		}
	}
	panic("table: there is no " + typ)
}

// all returns the structs around the slots, and then those of each unit.
func all() [][]Struct {
	lists := [][]Struct{Structs}
	for _, u := range Units() {
		lists = append(lists, u.Structs)
	}
	return lists
}
