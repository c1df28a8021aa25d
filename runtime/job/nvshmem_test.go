package job

import (
	"strings"
	"testing"
)

// TestLibrariesIn: the banner names this library's file, and others of NVIDIA's soname.
func TestLibrariesIn(t *testing.T) {
	const own = "7f00-7f01 r--p 00000000 08:01 1   /opt/a b/lib/libshmem_nvshmem.so\n7f01-7f02 r-xp 00001000 08:01 1   /opt/a b/lib/libshmem_nvshmem.so\n7f03-7f04 rw-p 0 00:00 0\n"
	const beside = "7f05-7f06 r--p 00000000 08:01 2   /opt/a b/lib/libnvshmem_host.so.3\n"
	const theirs = "7f07-7f08 r--p 00000000 08:01 3   /wheel/libnvshmem_host.so.3\n7f08-7f09 r-xp 00000000 08:01 3   /wheel/libnvshmem_host.so.3\n"
	for maps, want := range map[string]string{
		"":                    "",
		theirs:                "",
		own:                   "the names of NVSHMEM are those of /opt/a b/lib/libshmem_nvshmem.so",
		own + beside:          "the names of NVSHMEM are those of /opt/a b/lib/libshmem_nvshmem.so",
		theirs + own + beside: "the names of NVSHMEM are those of /opt/a b/lib/libshmem_nvshmem.so; the process has /wheel/libnvshmem_host.so.3, too, for files that were linked with it",
	} {
		if got := librariesIn(strings.NewReader(maps)); got != want {
			t.Errorf("%q, want %q, of\n%s", got, want, maps)
		}
	}
}
