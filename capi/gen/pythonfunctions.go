package main

import (
	"fmt"

	"libshmem/capi/spec"
)

// This file finds the C functions that generated functions of Python call.

// bytesFunction returns the function of a row that copies bytes and takes a context:
// shmem_ctx_putmem for put.
func bytesFunction(s *spec.Surface, row string, nbi bool) (spec.Function, error) {
	for _, c := range s.Chapters() {
		for i := range c.Families {
			if c.Families[i].Name != row {
				continue
			}
			for _, fn := range c.Families[i].Functions() {
				if fn.Form == spec.Mem && fn.Ctx && fn.Nbi == nbi {
					return fn, nil
				}
			}
		}
	}
	return spec.Function{}, fmt.Errorf("%s copies no bytes", row)
}

// notifyingFunction returns the function of an extension that takes a context:
// shmemx_ctx_putmem_notify.
func notifyingFunction(s *spec.Surface, row string, nbi bool) (spec.Function, error) {
	rows := s.Extensions()
	for i := range rows {
		if rows[i].Name != row || rows[i].Suffix != "" {
			continue
		}
		for _, fn := range rows[i].Functions() {
			if fn.Ctx && fn.Nbi == nbi {
				return fn, nil
			}
		}
	}
	return spec.Function{}, fmt.Errorf("%s takes no context", row)
}

// streamFunction returns the function of a row that runs on a CUDA stream; if it has elements, the
// one for bytes.
func streamFunction(s *spec.Surface, row string, nbi bool) (spec.Function, error) {
	rows := s.Extensions()
	for i := range rows {
		if rows[i].Name != row || rows[i].Suffix == "" {
			continue
		}
		for _, fn := range rows[i].Functions() {
			if (fn.Form == spec.Mem || len(rows[i].Types) == 0) && fn.Nbi == nbi {
				return fn, nil
			}
		}
	}
	return spec.Function{}, fmt.Errorf("%s has no form on a stream", row)
}
