package table

// A Member is a field of a struct in shared memory.
type Member struct {
	Name  string // in C
	Type  string // u8 to u64, i8 to i64, bool, char, size (size_t), uptr (uintptr_t), ptr, or "struct " and a Struct's Name
	Count int    // elements of an array; 0: no array
	Doc   string // its writer and its reader
	At    int    // offset where it must be; 0: follows the member before
	Align int    // at a multiple of it; 0: by its type

	C      string // how C declares it where Type does not say it: the type, or with %s for the name all of it
	Go     string // its name in Go; "": Name, with the case of Struct.Private; "_": none
	GoType string // where Type does not say it: of one element

	Theirs string // its name in the headers of others, where it is not Name

	// The versions that have it, for layouts of others: Since is the first, Until the first
	// without it. 0: no limit.
	Since, Until int
}

// A Struct lies in memory that more than one party sees.
type Struct struct {
	Name    string // C name after shmemi_
	Go      string // "": C alone
	Private bool   // names of the fields in Go begin with a small letter
	Size    int    // bytes; 0: as the members have it
	Doc     string
	Members []Member
}

// A Constant is a number that both sides know.
type Constant struct {
	Name  string // C: SHMEMI_<Name>
	Go    string // "": C alone
	Value int
	Doc   string
}

// An Enum is a list of numbers, each one more than the one before, or the next bit.
type Enum struct {
	Name   string // C: enum shmemi_<Name>; "": it has none
	Prefix string // C: SHMEMI_<Prefix><name of a value>
	Go     string // type in Go; "": its values have none
	Base   string // of the type
	Kind   string // in Go the names of values begin with it; "-": with nothing; "": no Go
	First  int
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
	Go   string // all of its name in Go, where Kind and Name do not say it
}

// A Unit is the contents of one C header and one Go file.
type Unit struct {
	Name      string   // the header is abi/zz_<Name>.h
	Doc       string   // its contents, as the end of "<file>: "
	Includes  []string // of the header: other units, by name
	GoFile    string   // "": no Go
	GoImports []string // besides structs and unsafe
	Alone     string   // of a unit without Go: why
	Constants []Constant
	Enums     []Enum
	Structs   []Struct
}

// Of returns the struct of a version.
func (s *Struct) Of(version int) Struct {
	of := *s
	of.Members = nil
	for _, m := range s.Members {
		if version >= m.Since && (m.Until == 0 || version < m.Until) {
			of.Members = append(of.Members, m)
		}
	}
	return of
}

// Offsets gives the byte offset of each member, as C and Go lay them out.
func (s *Struct) Offsets() []int {
	at, out := 0, make([]int, len(s.Members))
	for i, m := range s.Members {
		at = max(m.At, up(at, max(m.Align, Alignof(m.Type))))
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
	return up(s.Offsets()[last]+s.Members[last].Size(), s.align())
}

func (s *Struct) align() int {
	most := 1
	for _, m := range s.Members {
		most = max(most, m.Align, Alignof(m.Type))
	}
	return most
}

// Size returns the size of a member in bytes.
func (m *Member) Size() int { return Sizeof(m.Type) * max(m.Count, 1) }

func up(n, to int) int { return (n + to - 1) / to * to }

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

// basic returns the size of a type that is no struct, which is its alignment too.
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

// Find returns the struct of a type "struct " and a name, or nil: the type is no struct.
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

// all returns every struct.
func all() [][]Struct {
	lists := [][]Struct{Structs}
	for _, u := range Units() {
		lists = append(lists, u.Structs)
	}
	return lists
}
