package need

import (
	"path/filepath"
	"testing"

	"libshmem/tests/cc"
)

// Sanitizers are the options of gcc for those under which the shim runs.
var Sanitizers = []struct{ Name, Flag string }{
	{"thread", "-fsanitize=thread"}, {"address", "-fsanitize=address,undefined"},
}

// Sanitized compiles a program, the library that it calls and the shim before it with a sanitizer,
// and returns the program's path. The library is a test's own, so that the sanitizer sees all of it.
// The shim is linked and not preloaded, because a sanitizer must be the first that is preloaded.
func Sanitized(t *testing.T, flag, library, program string) string {
	t.Helper()
	all, dir := shim(t), t.TempDir()
	compile := func(args ...string) {
		t.Helper()
		cc.Run(t, cc.C(), append([]string{
			"-std=gnu11", "-g", "-O1", "-fPIC", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-pthread", flag,
		}, args...)...)
	}
	preload, lib, exe := filepath.Join(dir, "libpreload.so"), filepath.Join(dir, "liblibrary.so"), filepath.Join(dir, "program")
	compile(append([]string{"-fvisibility=hidden", "-shared", "-o", preload, "-ldl"}, all...)...)
	compile("-shared", "-o", lib, library)
	compile("-o", exe, program, "-Wl,--no-as-needed", preload, lib, "-Wl,-rpath,"+dir)
	return exe
}

// shim returns what a compiler needs to link the shim of capi/preload with a sanitizer: its
// sources, and objects of the build for what a sanitizer should not see. Generated functions have
// only their frames, and lookups are asked for before a sanitizer works.
func shim(t *testing.T) []string {
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
