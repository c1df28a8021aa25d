package table

// Lookup finds a field by name.
func Lookup(name string) (Field, bool) {
	for _, table := range [][]Field{Head, Fields} {
		for _, f := range table {
			if f.Name == name {
				return f, true
			}
		}
	}
	return Field{}, false
}

// Of gives the fields of an operation, op first.
func (o *Op) Of() []Field {
	fields := []Field{Head[0]}
	for _, name := range o.Fields {
		f, ok := Lookup(name)
		if !ok {
			panic("wire: operation " + o.Name + " has an unknown field " + name)
		}
		fields = append(fields, f)
	}
	return fields
}

// Offsets gives the byte offset of each member.
func (s *Struct) Offsets() []int {
	at, out := 0, make([]int, len(s.Members))
	for i, m := range s.Members {
		if m.At >= 0 {
			at = m.At
		}
		out[i] = at
		at += Sizeof(m.Type)
	}
	return out
}

// Sizeof is the size of a member's type in bytes, which is its alignment too.
func Sizeof(typ string) int {
	switch typ {
	case "u32", "i32":
		return 4
	case "u64", "ptr":
		return 8
	}
	panic("wire: unknown type " + typ)
}
