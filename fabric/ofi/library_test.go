package ofi

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

func TestSearchNamesWhatWasTried(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "libfabric.so.1")
	if err := os.WriteFile(text, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := search("", []string{"libnosuchfabric.so.1", dir + "/*/libfabric.so.1", text})
	if !errors.Is(err, shmerr.ErrNoLibrary) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"load libfabric: ", "libnosuchfabric.so.1", dir + "/*/libfabric.so.1: no such file", text + ": ", "SHMEM_LIBFABRIC"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	if _, err = search(text, places); !errors.Is(err, shmerr.ErrNoLibrary) || !strings.Contains(err.Error(), text) {
		t.Errorf("a named file that is no library: error %v", err)
	}
	// The C library stands for one that is loaded and is another library.
	if _, err = search("libc.so.6", places); err == nil || !strings.Contains(err.Error(), "has no function fi_version") {
		t.Errorf("libc in place of libfabric: error %v", err)
	}
}

func TestLoadOnce(t *testing.T) {
	first, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	if first.File == "" || !strings.Contains(first.Version, ".") {
		t.Errorf("loaded %+v", first)
	}
	for _, name := range []string{"", soname, first.File} {
		if again, err := Load(name); err != nil || again != first {
			t.Errorf("load %q: %+v, error %v", name, again, err)
		}
	}
	if _, err := Load("/none/libfabric.so.1"); err == nil || !strings.Contains(err.Error(), first.File) {
		t.Errorf("another library while one is loaded: error %v", err)
	}
}

// TestSignalsStay: libraries that come with libfabric catch faults and exit;
// Go's own handler must be in place again.
func TestSignalsStay(t *testing.T) {
	if _, err := List("", Hints{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a nil dereference did not panic")
		}
	}()
	var p *fabric.Completion
	p.Err = 1
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(fabric.Config{}); !errors.Is(err, shmerr.ErrArgument) {
		t.Errorf("no tokens: error %v", err)
	}
	if _, err := Open(fabric.Config{Tokens: 1, Provider: "nosuch"}); !errors.Is(err, shmerr.ErrNoProvider) {
		t.Errorf("no such provider: error %v", err)
	}
	if _, err := Open(fabric.Config{Tokens: 1, NICs: "nosuch0"}); !errors.Is(err, shmerr.ErrSetting) {
		t.Errorf("no such NIC: error %v", err)
	}
}

func TestListMarksWhatOpenTakes(t *testing.T) {
	for _, provider := range []string{"", "tcp"} {
		offers, err := List("", Hints{Provider: provider})
		if err != nil {
			t.Fatal(err)
		}
		var chosen []Offer
		for _, o := range offers {
			if o.Chosen {
				chosen = append(chosen, o)
			}
		}
		p, err := Open(fabric.Config{Tokens: 1, Provider: provider})
		if err != nil {
			t.Fatal(err)
		}
		caps := p.Caps()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		want := Offer{Provider: caps.Provider, NIC: caps.Domain, Fabric: caps.Fabric, Chosen: true}
		if len(chosen) != 1 || chosen[0] != want {
			t.Errorf("provider %q: %+v are marked, Open took %+v", provider, chosen, want)
		}
	}
}
