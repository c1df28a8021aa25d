package table

// Units returns every unit, each after the units that its header includes.
func Units() []*Unit {
	return []*Unit{&message, &sequence, &event, &fastPath, &fabric, &statusPage, &request, &stream, &peek, &native, &innerLoop, &control, &settings, &frame, &nvtx, &state, &store, &archive, &channel, &group}
}
