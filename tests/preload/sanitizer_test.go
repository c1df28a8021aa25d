package preload

import (
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestSanitizers: threads that come and go, and calls of teams, find nothing for ThreadSanitizer and
// AddressSanitizer in the shim. The library behind is the test's own, which both see whole; the
// shim is linked as a library before it, because a sanitizer must be the first that is preloaded.
func TestSanitizers(t *testing.T) {
	all := need.Shim(t)
	for _, c := range []struct{ name, flag string }{{"thread", "-fsanitize=thread"}, {"address", "-fsanitize=address,undefined"}} {
		if c.name == "address" && need.Left("preload") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			flags := []string{"-std=gnu11", "-g", "-O1", "-fPIC", "-fvisibility=hidden", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-pthread", c.flag}
			shim, lib, exe := filepath.Join(dir, "libpreload.so"), filepath.Join(dir, "libfake.so"), filepath.Join(dir, "threads")
			cc.Run(t, cc.C(), append(append(flags, "-shared", "-o", shim, "-ldl"), all...)...)
			cc.Run(t, cc.C(), append(flags, "-fvisibility=default", "-shared", "-o", lib, "testdata/fake.c")...)
			cc.Run(t, cc.C(), append(flags, "-o", exe, "testdata/threads.c", "-Wl,--no-as-needed", shim, lib, "-Wl,-rpath,"+dir)...)
			out := job{env: []string{"SHMEM_PRELOAD=trace,file=" + dir + ",size=4m", "TSAN_OPTIONS=exitcode=66"}}.run(t, exe)
			if strings.Contains(out, "Sanitizer") || out != "" {
				t.Errorf("%.4000s", out)
			}
			p := read(t, filepath.Join(dir, "0.json"), true)
			if p.Discarded == 0 || p.NPEs != 1 || len(p.calls) == 0 {
				t.Errorf("head %+v; %d calls", p.head, len(p.calls))
			}
		})
	}
}
