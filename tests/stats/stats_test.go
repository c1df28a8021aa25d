package stats

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// compile builds testdata/work.c against the libraries.
func compile(t *testing.T, build string) string {
	t.Helper()
	return cc.Program(t, build, "testdata/work.c")
}

func shmemrun(build, program string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), append([]string{"--timeout", "120"}, args...)...)
	cmd.Args = append(cmd.Args, program)
	cmd.Env = append(append(os.Environ(), "SHMEM_PROVIDER=tcp"), env...)
	return cmd
}

// TestTables: the numbers in the tables match the program's operations.
func TestTables(t *testing.T) {
	build := need.Build(t)
	program := compile(t, build)
	for _, c := range []struct {
		env  string
		args string
		say  []string
		not  []string
	}{
		{
			"SHMEM_STATS=1", "-n 3 --hosts 3",
			[]string{
				`^shmem: 3 PEs on 3 hosts counted, over (tcp by )?\S+ \(SHMEM_STATS=all prints each PE's\)$`,
				`^ +counter +all PEs +median +least +of PE +most +of PE$`,
				`^ +elements +10 +0 +0 +1 +10 +0$`,
				`^ +write_bytes +19.5 KiB +0 B +0 B +1 +19.5 KiB +0$`,
				`^NIC \S+: \d+ operations, `,
				`^most bytes from one PE to another: \S+ KiB, PE 0 to PE 1$`,
			}, []string{`PE 1 counted`},
		},
		{
			"SHMEM_STATS=all", "-n 2 --hosts 2",
			[]string{
				`^shmem: PE 0 counted$`, `^shmem: PE 1 counted$`, `^ +PE +puts +gets +atomics +bytes out`, `^ +1 +1\d +0 +\d+ +\S+ KiB `,
				`^shmem: 2 PEs on 2 hosts counted, over (tcp by )?\S+$`,
			}, nil,
		},
		{"SHMEM_STATS=1", "-n 2", []string{`^shmem: 2 PEs on 1 host counted .*: nothing went over the network; loads and stores within a node are not counted$`}, []string{`elements|message_bytes`}},
		{"SHMEM_STATS=0", "-n 2 --hosts 2", nil, []string{`counted`}},
		{"SHMEM_STATS=2", "-n 2", []string{`SHMEM_STATS="2": there is no such choice \(use one of 0, 1, all, or unset it for 0\)$`}, nil},
		{"SHMEM_REQUIRE=network,ordered-messages", "-n 2 --hosts 2", nil, []string{`require`}},
		{"SHMEM_REQUIRE=rdma", "-n 2 --hosts 2", []string{`shmem_init: require "rdma" of SHMEM_REQUIRE: with (tcp by )?\S+ on \S+ it does not hold that the NIC moves`}, nil},
		{"SHMEM_REQUIRE=network", "-n 2", []string{`require "network" of SHMEM_REQUIRE: all PEs share memory`}, nil},
		{"SHMEM_REQUIRE=data-source", "-n 2 --hosts 2", nil, []string{`require`}},
		{"SHMEM_REQUIRE=authentication", "-n 2 --hosts 2", nil, []string{`require`, `other users`}},
		{
			"SHMEM_REQUIRE=authentication", "-n 2 --hosts 2 -x SHMEM_PROVIDER=tcp;ofi_rxm",
			[]string{`require "authentication" of SHMEM_REQUIRE: with tcp;ofi_rxm on \S+ it does not hold that a connection is used only when both`}, nil,
		},
		{
			"SHMEM_REQUIRE=authentication", "-n 2 --hosts 2 -x SHMEM_PROVIDER=udp;ofi_rxd",
			[]string{`require "authentication" of SHMEM_REQUIRE: with udp;ofi_rxd on`}, nil,
		},
		{
			"SHMEM_PROVIDER=udp;ofi_rxd", "-n 2 --hosts 2",
			[]string{`^shmem: network udp;ofi_rxd on \S+ is only for tests on your own host: one packet from any process that reaches it can end the job \(SHMEM_PROVIDER=tcp keeps them out\)$`}, nil,
		},
		{
			"SHMEM_PROVIDER=tcp;ofi_rxm", "-n 2 --hosts 2 -x SHMEM_LOG_LEVEL=info",
			[]string{`; network tcp;ofi_rxm on \S+ \(other users of a PE's host can take over its traffic\)`}, nil,
		},
		{
			"SHMEM_REQUIRE=data-source", "-n 2 --hosts 2 -x SHMEM_CHAOS=2",
			[]string{`require "data-source" of SHMEM_REQUIRE: with (tcp by )?\S+ on \S+ it does not hold that the 4 bytes of immediate data of a write count only if they come from`}, nil,
		},
		{"SHMEM_REQUIRE=data-source", "-n 2 --hosts 2 -x SHMEM_CHAOS=3", nil, []string{`require`}},
		{"SHMEM_REQUIRE=speed", "-n 2", []string{`SHMEM_REQUIRE="speed": there is no "speed" \(use words separated by commas: rdma, `}, nil},
	} {
		t.Run(c.env+" "+c.args, func(t *testing.T) {
			cmd := shmemrun(build, program, []string{c.env}, strings.Fields(c.args)...)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			err := cmd.Run()
			if refused := strings.Contains(errs.String(), "(use ") || strings.Contains(errs.String(), "require"); (err != nil) != refused {
				t.Errorf("ended with %v", err)
			}
			for _, want := range c.say {
				if !regexp.MustCompile("(?m)" + want).MatchString(errs.String()) {
					t.Errorf("does not say %s:\n%s", want, errs.String())
				}
			}
			for _, not := range c.not {
				if regexp.MustCompile("(?m)" + not).MatchString(errs.String()) {
					t.Errorf("says %s:\n%s", not, errs.String())
				}
			}
		})
	}
}

// stranger requests a PE's counters as another user, without permission.
func stranger(t *testing.T, build string, pid int) {
	need.Root(t)
	// The other user may not enter folders of the test, and those above the build.
	dir, err := os.MkdirTemp("", "stranger")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(build, "bin", "shmem-info"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "shmem-info")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	info := exec.Command(program, "--live", fmt.Sprint(pid))
	info.Dir = "/"
	info.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := info.CombinedOutput()
	want := fmt.Sprintf("shmem-info: look at process %d: ", pid)
	if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "permission denied (run shmem-info as the user whose process it is") {
		t.Errorf("another user sees (%v):\n%s", err, out)
	}
}

// TestFabric: of several NICs each opened one is marked, and the others have the reason why they
// are not opened.
func TestFabric(t *testing.T) {
	need.Namespaces(t)
	build := need.Build(t)
	for _, c := range []struct {
		list  string
		marks int
		say   []string
	}{
		{"eth0,eth1", 2, []string{
			`^  +\S+ +lo +\S+ +SHMEM_NIC_LIST=eth0,eth1 leaves it out$`,
			`^opened, \S+ on (eth0,eth1|eth1,eth0) grants, `, `^no +ordered-messages `, // between two NICs there is no order
		}},
		{"^eth0", 1, []string{
			`^  +\S+ +eth0 +\S+ +SHMEM_NIC_LIST=\^eth0 leaves it out$`, `^opened, \S+ on eth1 grants, `, `^yes +ordered-messages `,
		}},
	} {
		cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "--timeout", "120", "-n", "2", "--hosts", "2", "--host-netns", "--links", "2",
			"-x", "SHMEM_NIC_LIST="+c.list, "-x", "SHMEM_PROVIDER=tcp", filepath.Join(build, "bin", "shmem-info"), "--fabric")
		out, err := cmd.CombinedOutput()
		marked := regexp.MustCompile(`(?m)^\* +\S+ +eth[01] +\S+ +-$`).FindAllString(string(out), -1)
		if err != nil || len(marked) != 2*c.marks {
			t.Errorf("SHMEM_NIC_LIST=%s: %v, %d marked:\n%s", c.list, err, len(marked), out)
		}
		for _, say := range c.say {
			if !regexp.MustCompile("(?m)" + say).MatchString(string(out)) {
				t.Errorf("SHMEM_NIC_LIST=%s does not say %s:\n%s", c.list, say, out)
			}
		}
	}
}

// TestLive reads the counters of PEs that work, wait, are stopped, and have been killed.
func TestLive(t *testing.T) {
	build := need.Build(t)
	file := filepath.Join(t.TempDir(), "go on")
	cmd := shmemrun(build, compile(t, build), nil, "-n", "2", "--hosts", "2")
	cmd.Args = append(cmd.Args, file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	// A PE's line may come behind a later one of another PE.
	pids, done := map[int]int{}, false
	for lines := bufio.NewScanner(out); !(done && len(pids) == 2) && lines.Scan(); {
		var pe, pid int
		if n, _ := fmt.Sscanf(lines.Text(), "PE %d is process %d", &pe, &pid); n == 2 {
			pids[pe] = pid
		}
		done = done || lines.Text() == "done"
	}
	if !done || len(pids) != 2 {
		t.Fatalf("processes of PEs: %v, done: %v", pids, done)
	}
	look := func(pe int, args ...string) string {
		t.Helper()
		info := exec.Command(filepath.Join(build, "bin", "shmem-info"), append([]string{"--live", fmt.Sprint(pids[pe])}, args...)...)
		text, _ := info.CombinedOutput()
		return string(text)
	}
	says := func(text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !regexp.MustCompile("(?m)" + want).MatchString(text) {
				t.Errorf("does not say %s:\n%s", want, text)
			}
		}
	}
	// soon repeats a check until it holds: a PE shows its work some time later.
	soon := func(look func() string, wants ...string) {
		t.Helper()
		text := look()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); text = look() {
			if !slices.ContainsFunc(wants, func(want string) bool { return !regexp.MustCompile("(?m)" + want).MatchString(text) }) {
				return
			}
		}
		says(text, wants...)
	}
	soon(func() string { return look(0, "--between", "0.2") },
		fmt.Sprintf(`^PE 0 of 2 on 2 nodes, process %d, libshmem \S+, in the job for \S+s$`, pids[0]),
		`^no thread waits for long$`, `^heap: 19.6 KiB of 1 GiB in 1 blocks, at most 19.6 KiB so far; the largest free block has 1 GiB$`, `^ +counter +so far +each second *$`, `^ +elements +10 +0 *$`, `^ +write_bytes +19.5 KiB +0 B *$`,
		`^NIC \S+: \d+ operations, .*; each second 0, 0 B, 0 B$`, `^ +1 +1\d +0 +\d+ +20\.[2-4] KiB `)
	t.Run("stranger", func(t *testing.T) { stranger(t, build, pids[0]) })
	soon(func() string { return look(1, "--between", "0") }, `^shmem_barrier_all waits for \S+s: for .*PE 0`, `^ +received_bytes +\d+ B *$`,
		`^last events with PE 0, times before this look:$`, `^ +-\d+\.\d{3} ms  applied message 1: \w`, `^ +-\d+\.\d{3} ms  the proxy sleeps$`)
	says(look(1, "--json"), `^  "pe": 1,$`, `^  "nodes": 2,$`, `^      "call": "shmem_barrier_all",$`, `^    "received_bytes": [1-9]\d*,$`)
	// A PE takes no part in reading its counters, so a stopped one can be inspected.
	if err := syscall.Kill(pids[1], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	says(look(1, "--between", "0"), `^shmem_barrier_all waits for`)
	if err := syscall.Kill(pids[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the job ends with its PE
	says(look(1), fmt.Sprintf(`^shmem-info: look at process %d: there is no such process \(`, pids[1]))
}
