package need

import (
	"path/filepath"
	"testing"
)

// Shim returns what a compiler needs to link the shim of capi/preload with a sanitizer: its
// sources, and objects of the build for what a sanitizer should not see. Generated functions have
// only their frames, and lookups are asked for before a sanitizer works.
func Shim(t *testing.T) []string {
	t.Helper()
	build := Build(t)
	sources, err := filepath.Glob(filepath.Join("..", "..", "capi", "preload", "*.c"))
	if err != nil || len(sources) < 10 {
		t.Fatal(sources, err)
	}
	plain := filepath.Join(build, "obj", "preload")
	objects, err := filepath.Glob(filepath.Join(plain, "zz_*.o"))
	if err != nil || len(objects) == 0 {
		t.Fatal(plain, objects, err)
	}
	for i, file := range sources {
		if filepath.Base(file) == "lookup.c" {
			sources[i] = filepath.Join(plain, "lookup.o")
		}
	}
	return append(append(sources, objects...), filepath.Join(plain, "lookup.S.o"), "-I"+filepath.Join(build, "gen", "preload"))
}
