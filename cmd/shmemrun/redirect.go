package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// redirect adds to an environment that the program's calls go to the libshmem.so in the folder lib.
// Other words of SHMEM_PRELOAD stay, and so do other libraries in LD_PRELOAD, behind the shim.
func redirect(env []string, lib string) ([]string, error) {
	if lib == "" {
		return nil, errors.New("--redirect: there is no libshmem.so beside this shmemrun (use the one in the bin folder of an installation)")
	}
	shim := filepath.Join(lib, "libshmem_preload.so")
	if _, err := os.Stat(shim); err != nil {
		return nil, fmt.Errorf("--redirect: %w (install libshmem again)", err)
	}
	words := slices.DeleteFunc(strings.Split(last(env, "SHMEM_PRELOAD"), "+"), func(w string) bool { return w == "" })
	if !slices.ContainsFunc(words, func(w string) bool { return w == "redirect" || strings.HasPrefix(w, "redirect,") }) {
		words = slices.Insert(words, 0, "redirect")
	}
	libraries := []string{shim}
	for _, l := range strings.FieldsFunc(last(env, "LD_PRELOAD"), func(r rune) bool { return r == ':' || r == ' ' }) {
		if filepath.Base(l) != filepath.Base(shim) {
			libraries = append(libraries, l)
		}
	}
	return append(env, "SHMEM_PRELOAD="+strings.Join(words, "+"), "LD_PRELOAD="+strings.Join(libraries, ":")), nil
}

// last is the value that counts of a variable that is set more than once.
func last(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
