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

// Number finds a number of the units by its name in C, without SHMEMI_.
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
