package table

// Lookup finds a field of Head or Fields by its name.
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

// Of returns the fields of an operation: its code (op), and then those that Fields names.
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

// Number returns the constant or enumeration value of a unit with this name in C, without SHMEMI_.
func Number(name string) int {
	for _, u := range Units() {
		for _, c := range u.Constants {
			if c.Name == name {
				return c.Value
			}
		}
		for i := range u.Enums {
			for j, v := range u.Enums[i].Values {
				if u.Enums[i].Prefix+v.Name == name {
					return u.Enums[i].Number(j)
				}
			}
		}
	}
	panic("table: there is no " + name)
}
