package doctor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libshmem"
)

func TestJudge(t *testing.T) {
	host := func(name string, pe libshmem.PE, takes string, interfaces ...string) Host {
		h := Host{Name: name, PEs: []libshmem.PE{pe}, UsedInterfaces: []string{takes}}
		for i, n := range interfaces {
			h.Address = append(h.Address, Address{Interface: n, IP: fmt.Sprintf("10.%d.0.%d", i, pe)})
		}
		return h
	}
	lost := func(host, address int) failure { return failure{host, address, "no answer in 5s"} }
	const firewall = " (open the firewall between the hosts for TCP, mend the routes, or keep jobs from it with SHMEM_NIC_LIST=^eth0)"
	const untaken = " (no job takes it with these settings; SHMEM_NIC_LIST=^eth1 keeps it so)"
	a, b := host("a", 0, "eth0", "eth0", "eth1"), host("b", 1, "eth0", "eth0", "eth1")
	for _, c := range []struct {
		what   string
		hosts  []Host
		failed [][]failure
		want   []string
	}{
		{"one host", []Host{a}, [][]failure{nil}, []string{"ok  hosts: one, its PEs share memory"}},
		{"all is well", []Host{a, b}, make([][]failure, 2), []string{"ok  between hosts: eth0 is reached by all 2", "ok  between hosts: eth1 is reached by all 2"}},
		{
			"a taken interface", []Host{a, b},
			[][]failure{{lost(1, 0)}, nil},
			[]string{"no  between hosts: eth0: a (PE 0) to b (PE 1) at 10.0.0.1: no answer in 5s" + firewall, "ok  between hosts: eth1 is reached by all 2"},
		},
		{
			"another interface", []Host{a, b},
			[][]failure{{lost(1, 1)}, {lost(0, 1)}},
			[]string{
				"ok  between hosts: eth0 is reached by all 2",
				"-   between hosts: eth1: a (PE 0) to b (PE 1) at 10.1.0.1: no answer in 5s; b (PE 1) to a (PE 0) at 10.1.0.0: no answer in 5s" + untaken,
			},
		},
		{
			"many", []Host{a, b, host("c", 2, "eth0", "eth0")},
			[][]failure{{lost(1, 0), lost(2, 0)}, {lost(0, 0), lost(2, 0)}, {lost(0, 0), lost(1, 0)}},
			[]string{
				"no  between hosts: eth0: a (PE 0) to b (PE 1) at 10.0.0.1: no answer in 5s; a (PE 0) to c (PE 2) at 10.0.0.2: no answer in 5s; b (PE 1) to a (PE 0) at 10.0.0.0: no answer in 5s; and 3 more" + firewall,
				"ok  between hosts: eth1 is reached by all 3",
			},
		},
		{
			"no address", []Host{a, host("b", 1, "")},
			make([][]failure, 2),
			[]string{
				"no  hosts: b (PE 1) has no address that another could reach (bring an interface up and give it an address)",
				"ok  between hosts: eth0 is reached by all 2", "ok  between hosts: eth1 is reached by all 2",
			},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			var got []string
			for _, f := range findFaults(c.hosts, c.failed) {
				got = append(got, f.String())
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestReport(t *testing.T) {
	same := []Finding{Well("kernel", "Linux 6.1")}
	got := Report([]Host{
		{Name: "a", PEs: []libshmem.PE{0, 1}, Findings: same},
		{Name: "b", PEs: []libshmem.PE{2}, Findings: []Finding{Bad("kernel", "a newer one", "Linux 2.6")}},
		{Name: "c", PEs: []libshmem.PE{3, 4, 5}, Findings: same},
	}, []Finding{Well("between hosts", "eth0")})
	want := "# a (PEs 0, 1), c (PEs 3-5)\nok  kernel: Linux 6.1\n# b (PE 2)\nno  kernel: Linux 2.6 (a newer one)\n# between them\nok  between hosts: eth0\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Two hosts may have the same address, so that the wrong one answers.
func TestTry(t *testing.T) {
	for _, c := range []struct{ says, want string }{
		{"right", ""}, {"wrong", "another process answers there"}, {"SSH", "another process answers there"},
		{"", "it accepts connections but does not answer"}, {"rig", "it accepts connections but does not answer"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if conn, err := l.Accept(); err == nil {
				_, _ = conn.Write([]byte(c.says))
				_ = conn.Close()
			}
		}()
		a := Address{IP: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Token: "right"}
		text := func() string {
			if err := checkConnects(a, 20*time.Second); err != nil {
				return err.Error()
			}
			return ""
		}
		if got := text(); got != c.want {
			t.Errorf("an answer of %q: %q, want %q", c.says, got, c.want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := text(); got != "connect: connection refused" {
			t.Errorf("no listener: %q", got)
		}
	}
}

// A listener that accepts connections, and says nothing in time, may be this job's on a busy host.
func TestTryIsSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := Address{IP: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Token: "right"}
	if err := checkConnects(a, 50*time.Millisecond); err == nil || err.Error() != "it accepts connections but does not answer" {
		t.Errorf("no answer: %v", err)
	}
}

func TestInstalled(t *testing.T) {
	libraryPath := ""
	find := func(dir string, launched bool) string {
		var all []string
		for _, f := range Installed(filepath.Join(dir, "bin", "shmem-doctor"), launched, libraryPath) {
			all = append(all, f.String())
		}
		return strings.ReplaceAll(strings.Join(all, "\n"), dir, "DIR")
	}
	has := func(text, want string) {
		t.Helper()
		if !strings.Contains("\n"+text+"\n", "\n"+want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	dir, other := t.TempDir(), t.TempDir()
	write := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", other)
	all := find(dir, false)
	has(all, "no  libshmem.so: stat DIR/lib/libshmem.so: no such file or directory (install the complete library")
	has(all, "no  libshmem_core.so: ")
	has(all, "-   kernels: DIR/lib/libshmem_kernels.fatbin is missing: calls on streams that need one fail (build it with KERNELS=yes")
	has(all, "-   shmemrun: it is not in PATH (PATH=DIR/bin:$PATH)")
	if all = find(dir, true); strings.Contains(all, "PATH=") {
		t.Errorf("a launched one looks for a launcher:\n%s", all)
	}
	for _, name := range []string{"libshmem.so", "libshmem_core.so", "libshmem_kernels.fatbin"} {
		write(filepath.Join(dir, "lib", name), "")
	}
	write(filepath.Join(dir, "bin", "shmemrun"), "ours")
	write(filepath.Join(other, "shmemrun"), "Open MPI's")
	all = find(dir, false)
	has(all, "ok  libshmem.so: DIR/lib/libshmem.so of libshmem ")
	has(all, "ok  kernels: DIR/lib/libshmem_kernels.fatbin")
	has(all, "no  shmemrun: "+other+"/shmemrun is not this library's (PATH=DIR/bin:$PATH)")
	write(filepath.Join(other, "shmemrun"), "#!/usr/bin/python3\nfrom shmem._commands import main\nmain()\n")
	has(find(dir, false), "ok  shmemrun: "+other+"/shmemrun")
	write(filepath.Join(dir, "lib", "libshmem_nvshmem.so"), "")
	libraryPath = ":" + other
	has(find(dir, true), "ok  names of NVSHMEM: DIR/lib/libshmem_nvshmem.so; LD_LIBRARY_PATH has no libnvshmem_host.so.3 for programs that need that")
	write(filepath.Join(other, "libnvshmem_host.so.3"), "")
	has(find(dir, true), "ok  names of NVSHMEM: DIR/lib/libshmem_nvshmem.so; programs that need libnvshmem_host.so.3 and have no DT_RPATH load "+other+"/libnvshmem_host.so.3")
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	has(find(dir, false), "ok  shmemrun: DIR/bin/shmemrun")
}
