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
