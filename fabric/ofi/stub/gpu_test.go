package stub

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/runtime/shmerr"
)

// library is built once: a process has one libfabric.
var library string

func load(t *testing.T) string {
	t.Helper()
	if library == "" {
		library = Build(t)
		// The first question decides whether GPUs are left alone.
		if _, err := ofi.List(library, ofi.Hints{Provider: Provider, GPU: true}); err != nil {
			t.Fatal(err)
		}
	}
	return library
}

func open(t *testing.T, c fabric.Config) fabric.Provider {
	t.Helper()
	c.Library, c.Tokens, c.MaxRecv = load(t), 8, 4
	p, err := ofi.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Both kinds of registration name the memory, the GPU and the file to libfabric, and registered
// memory can be written and read.
func TestRegisterGPU(t *testing.T) {
	const n, part = 1 << 20, 1 << 16
	for _, way := range []string{"dmabuf", "peer"} {
		t.Run(way, func(t *testing.T) {
			log := Set(t, "")
			p := open(t, fabric.Config{GPU: true})
			if c := p.Caps(); c.Provider != Provider || !c.GPU || !c.DMABuf {
				t.Fatalf("granted %+v", c)
			}
			b, fd := Memory(t, n)
			m := fabric.GPUMemory{Base: unsafe.Pointer(&b[part]), Len: n - part, Device: 3, File: -1}
			if way == "dmabuf" {
				m.File, m.Offset = fd, part
			}
			r, err := p.RegisterGPU(m)
			if err := errors.Join(err, unix.Close(fd)); err != nil {
				t.Fatal(err)
			}
			if r.Base != m.Base || r.Len != m.Len {
				t.Errorf("region %+v", r)
			}
			move(t, p, r, b[part:])
			if err := p.Unregister(r); err != nil {
				t.Error(err)
			}
			want := []string{
				fmt.Sprintf("%s %p %d offset %d GPU 3: 0", way, unsafe.Add(m.Base, -int(m.Offset)), m.Len, m.Offset), fmt.Sprintf("close %#x", r.Key),
			}
			if got := log.Lines(); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("asked for %q, want %q", got, want)
			}
		})
	}
}

// move writes to a region from its own end and reads that back.
func move(t *testing.T, p fabric.Provider, r fabric.Region, seen []byte) {
	t.Helper()
	const n = 4096
	if err := p.Connect([][]byte{p.Addr()}); err != nil {
		t.Fatal(err)
	}
	b, fd := Memory(t, 2*n)
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		b[i] = byte(i*7 + 1)
	}
	at := uint64(n)
	if p.Caps().VirtualAddress {
		at += uint64(uintptr(r.Base))
	}
	local, err := p.Register(unsafe.Pointer(&b[0]), 2*n)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, p, func() error {
		return p.Write(&fabric.RMA{Local: local.Base, Len: n, Desc: local.Desc, Remote: at, Key: r.Key, Token: 1})
	})
	wait(t, p, func() error {
		return p.Read(&fabric.RMA{Local: unsafe.Add(local.Base, n), Len: n, Desc: local.Desc, Remote: at, Key: r.Key, Token: 2})
	})
	if string(seen[n:2*n]) != string(b[:n]) || string(b[n:]) != string(b[:n]) {
		t.Error("bytes of GPU memory did not come as they were sent")
	}
	if err := p.Unregister(local); err != nil {
		t.Error(err)
	}
}

// wait posts an operation until it is taken, and polls until it is complete.
func wait(t *testing.T, p fabric.Provider, post func() error) {
	t.Helper()
	c := make([]fabric.Completion, 1)
	again := fabric.ErrAgain
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if again == fabric.ErrAgain {
			again = post()
		}
		n, err := p.Poll(c)
		switch {
		case again != nil && again != fabric.ErrAgain:
			t.Fatal(again)
		case err != nil:
			t.Fatal(err)
		case n > 0 && c[0].Err != 0:
			t.Fatal(p.ErrorText(&c[0]))
		case n > 0:
			return
		}
	}
	t.Fatal("nothing is complete after a minute")
}

// Memory that cannot be registered is refused with the reason, and nothing is left.
func TestRefused(t *testing.T) {
	b, fd := Memory(t, 4096)
	t.Cleanup(func() { _ = unix.Close(fd) })
	for _, c := range []struct {
		settings  string
		gpu, file bool
		caps      [2]bool
		want      string
		kind      error
	}{
		{"", false, false, [2]bool{}, "the endpoint was opened without GPU memory", shmerr.ErrUnsupported},
		{"hmem=0", true, false, [2]bool{}, "fi_getinfo with FI_HMEM for provider efa on ", shmerr.ErrUnsupported},
		{"dmabuf=0", true, true, [2]bool{true, true}, "fi_mr_regattr with FI_MR_DMABUF: operation not supported", nil},
		{"peer=0", true, false, [2]bool{true, true}, "fi_mr_regattr: function not implemented", nil},
	} {
		t.Run(c.settings, func(t *testing.T) {
			log := Set(t, c.settings)
			p := open(t, fabric.Config{GPU: c.gpu})
			if caps := p.Caps(); caps.GPU != c.caps[0] || caps.DMABuf != c.caps[1] {
				t.Errorf("granted %+v", caps)
			}
			m := fabric.GPUMemory{Base: unsafe.Pointer(&b[0]), Len: 4096, Device: 1, File: -1}
			if c.file {
				m.File = fd
			}
			_, err := p.RegisterGPU(m)
			form := regexp.MustCompile(`^register 4096 bytes at 0x[0-9a-f]+ of GPU 1 with efa: `)
			if err == nil || !form.MatchString(err.Error()) || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			for _, line := range log.Lines() {
				if strings.HasSuffix(line, ": 0") {
					t.Errorf("registered: %s", line)
				}
			}
		})
	}
}

// A libfabric before 1.20 is not asked for dma-bufs, and a provider whose bytes
// the CPU moves not for GPU memory. Both are other processes: a process keeps the
// libfabric that it has.
func TestOtherLibraries(t *testing.T) {
	const role = "STUB_LIBRARY"
	if file := os.Getenv(role); file != "" {
		p, err := ofi.Open(fabric.Config{Library: strings.TrimPrefix(file, "-"), Tokens: 8, MaxRecv: 4, GPU: true, Provider: os.Getenv("STUB_PROVIDER")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.RegisterGPU(fabric.GPUMemory{File: 0})
		fmt.Printf("granted %v %v: %v\n", p.Caps().GPU, p.Caps().DMABuf, err)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	for _, c := range []struct{ file, provider, settings, want string }{
		{Build(t), Provider, "minor=19", "granted true false: register 0 bytes at 0x0 of GPU 0 with efa: provider efa of libfabric 1.19 takes no dma-bufs (install libfabric 1.20 or later for efa and verbs; others reach GPU memory by its address)"},
		{"-", "tcp", "", "does not use a NIC directly: the CPU moves its bytes"},
	} {
		cmd := again(t, role+"="+c.file, "STUB_PROVIDER="+c.provider, "FAKE_NIC="+c.settings)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(strings.ReplaceAll(string(out), "%!p(<nil>)", "0x0"), c.want) {
			t.Errorf("%s, %s: %v\n%swant %q", c.provider, c.settings, err, out, c.want)
		}
	}
}

// again returns a command that runs this test in a process of its own.
func again(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}
