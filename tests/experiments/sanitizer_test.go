package experiments

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"libshmem/tests/need"
)

// TestSanitizers: threads that put and complete at once find nothing for ThreadSanitizer and
// AddressSanitizer in the modes. The library behind is the test's own; the shim is linked before it,
// because a sanitizer must be the first that is preloaded.
func TestSanitizers(t *testing.T) {
	if need.Left("experiments") {
		t.Skip("compiles the shim for each sanitizer (TESTS=full)")
	}
	all := need.Shim(t)
	for name, flag := range map[string]string{"thread": "-fsanitize=thread", "address": "-fsanitize=address,undefined"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			compile := run("gcc", "-std=gnu11", "-g", "-O1", "-fPIC", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-pthread", flag)
			shim, lib, exe := filepath.Join(dir, "libpreload.so"), filepath.Join(dir, "libplain.so"), filepath.Join(dir, "threads")
			compile(t, append([]string{"-fvisibility=hidden", "-shared", "-o", shim, "-ldl"}, all...)...)
			compile(t, "-shared", "-o", lib, "testdata/plain.c")
			compile(t, "-o", exe, "testdata/threads.c", "-Wl,--no-as-needed", shim, lib, "-Wl,-rpath,"+dir)
			for _, mode := range []string{"early", "chaos:1,delay=50us", "early+chaos:2,delay=50us+slow:shmem_quiet=1us"} {
				cmd := exec.Command(exe)
				cmd.Env = append(os.Environ(), "SHMEM_PRELOAD="+mode, "TSAN_OPTIONS=exitcode=66", "ASAN_OPTIONS=detect_leaks=0")
				if out, err := cmd.CombinedOutput(); err != nil || string(out) != "wrong 0\n" {
					t.Errorf("%s: %v\n%.3000s", mode, err, out)
				}
			}
		})
	}
}
