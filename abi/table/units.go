package table

// Units is every unit, each behind the units that its header includes.
func Units() []*Unit {
	return []*Unit{&message, &order, &event, &express, &fabric, &live, &request, &stream, &peek, &native, &lane, &control, &settings, &nvtx, &state, &store}
}
