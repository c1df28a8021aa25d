package bad

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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

const (
	onNode  = "node"
	onHosts = "hosts"
	aborted = 134
)

// A row is one bad program: its name, and the expected report and status.
type row struct {
	what   string
	env    []string
	only   string // onNode, onHosts, or both when empty
	pes    string // number of PEs; empty: 2
	status int
	say    []string // regular expressions; each must match a line of standard error or output
}

// off is the environment of a job without symmetric statics.
var off = []string{"SHMEM_STATICS=off"}

var rows = []row{
	{what: "put_wrong_pe", status: aborted, say: []string{`shmem: PE \d: shmem_long_put: PE 2 does not exist, there are 2 \(use 0 to shmem_n_pes\(\) - 1\)`}},
	{what: "p_negative_pe", status: aborted, say: []string{`PE \d: shmem_long_p: PE -1 does not exist`}},
	{what: "get_null", status: aborted, say: []string{`PE \d: shmem_long_get: the symmetric address is NULL \(pass memory from shmem_malloc\)`}},
	{what: "get_null", env: []string{"SHMEM_CHECKS=off"}, status: aborted, say: []string{`PE \d: shmem_long_get: the symmetric address is NULL`}},
	{what: "put_null_source", env: []string{"SHMEM_CHECKS=off"}, status: aborted, say: []string{`PE \d: shmem_long_put: the local source is NULL`}},
	{what: "put_private", status: aborted, say: []string{`PE \d: shmem_long_put: 0x\w+ is not a symmetric address \(the heap is .* bytes at .*\) \(pass memory`}},
	{what: "put_static", env: off, status: aborted, say: []string{`PE \d: shmem_long_put: 0x\w+ \(several\) is in a global or static of the program, and those are not symmetric: SHMEM_STATICS is off \(unset SHMEM_STATICS, or pass memory from shmem_malloc\)`}},
	{what: "put_static_past_end", status: aborted, say: []string{`PE \d: shmem_long_put: \d+ bytes at 0x\w+ \(\w+(\+0x\w+)?\) run past the program's globals and statics \(check the number of elements\)`}},
	{what: "wait_static", env: off, status: aborted, say: []string{`PE \d: shmem_long_wait_until: 0x\w+ \(\w+(\+0x\w+)?\) is in a global .* SHMEM_STATICS is off`}},
	{what: "broadcast_static", env: off, status: aborted, say: []string{`PE \d: shmem_long_broadcast: 0x\w+ \(\w+(\+0x\w+)?\) is in a global .* SHMEM_STATICS is off`}},
	{what: "hang_static", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmem_long_wait_until has waited \d+ s: for 0x\w+ \(several\+0x8, a static, offset -0x\w+\) == 5, now 0 \(the wait goes on\)`}},
	{what: "nothing", env: []string{"SHMEM_STATICS=perhaps"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_STATICS.*perhaps`}},
	{what: "put_past_end", status: aborted, say: []string{`PE \d: shmem_putmem: \d+ bytes at heap offset .* run past the symmetric heap`}},
	{what: "put_overflow", status: aborted, say: []string{`PE \d: shmem_long_put: \d+ bytes at heap offset .* run past the symmetric heap`}},
	{what: "put_null_source", status: aborted, say: []string{`PE \d: shmem_long_put: the local source is NULL \(pass memory of this PE\)`}},
	{what: "put_nbi_null_source", status: aborted, say: []string{`PE \d: shmem_long_put_nbi: the local source is NULL`}},
	{what: "get_null_dest", status: aborted, say: []string{`PE \d: shmem_long_get: the local dest is NULL`}},
	{what: "get_nbi_null_dest", status: aborted, say: []string{`PE \d: shmem_long_get_nbi: the local dest is NULL`}},
	{what: "signal_null_source", status: aborted, say: []string{`PE \d: shmem_long_put_signal: the local source is NULL`}},
	{what: "fetch_nbi_null", status: aborted, say: []string{`PE \d: shmem_long_atomic_fetch_nbi: the local fetch is NULL`}},
	{what: "fetch_nbi32_null", status: aborted, say: []string{`PE \d: shmem_int_atomic_fetch_nbi: the local fetch is NULL`}},
	{what: "amo_private", status: aborted, say: []string{`PE \d: shmem_long_atomic_add: 0x\w+ is not a symmetric address`}},
	{what: "signal_operation", status: aborted, say: []string{`PE \d: shmem_putmem_signal: signal operation 77 does not exist \(use SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD\)`}},
	{what: "stream_without_gpu", status: aborted, say: []string{`PE \d: shmemx_barrier_all_on_stream: this PE uses no GPU \(start the PE where there is a GPU, with SHMEM_HEAP=device or pinned\)`}},
	{what: "stream_before_init", only: onNode, status: aborted, say: []string{uninitialised("shmemx_quiet_on_stream")}},
	{what: "module_without_gpu", status: 0, say: []string{`shmem: PE \d: shmemx_cumodule_init: this PE has no GPU \(run it on one, or do not make this call\)\n`, `PE 0 went on`, `PE 1 went on`}},
	{what: "module_of_nothing", status: 0, say: []string{`shmem: PE \d: shmemx_culibrary_init: the handle is NULL \(load the code first\)`, `PE 0 went on`}},
	{what: "wait_comparison", status: aborted, say: []string{`PE \d: shmem_long_wait_until: comparison 42 does not exist`}},
	{what: "wait_private", status: aborted, say: []string{`PE \d: shmem_long_wait_until: 0x\w+ is not a symmetric address \(wait on memory from shmem_malloc\)`}},
	{what: "broadcast_root", status: aborted, say: []string{`PE \d: shmem_long_broadcast: root PE 2 does not exist, there are 2`}},
	{what: "broadcast_private", status: aborted, say: []string{`PE \d: shmem_long_broadcast: dest 0x\w+ with 8 bytes is not in the symmetric heap`}},
	{what: "team_unknown", status: aborted, say: []string{`PE \d: shmem_long_broadcast: team 4711 does not exist \(pass SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED or a team that a split has made\)`}},
	{what: "free_twice", status: aborted, say: []string{`PE \d: shmem_free: 0x\w+ is not the start of an allocation \(free each allocation once`}},
	{what: "free_inside", status: aborted, say: []string{`PE \d: shmem_free: 0x\w+ is not the start of an allocation`}},
	{what: "free_private", status: aborted, say: []string{`PE \d: shmem_free: 0x\w+ is not in the symmetric heap`}},
	{what: "free_buffer", status: aborted, say: []string{`PE \d: shmem_free: 0x\w+ is the symmetric address of a buffer that is registered \(use shmemx_buffer_unregister_symmetric\)`}},
	{what: "put_past_buffer", status: aborted, say: []string{`PE \d: shmem_long_put: 16 bytes at 0x\w+ run past the buffer that is registered there \(check the number of elements\)`}},
	{what: "register_before_init", only: onNode, status: aborted, say: []string{uninitialised("shmemx_buffer_register_symmetric")}},
	{what: "register_apart", status: 0, say: []string{
		`PE 0: shmemx_buffer_register_symmetric: the buffer of 4096 bytes at 0x\w+: PE 1 cannot do it for its own \(see the error of that PE\)`,
		`PE 1: shmemx_buffer_register_symmetric: the buffer of 4096 bytes at 0x\w+: 4096 bytes at 0x\w+ are not whole pages \(pass memory that aligned_alloc\(4096, n\) returns, and a multiple of 4096 bytes\)`,
	}},
	{what: "register_pieces", only: onNode, status: 0, say: []string{
		`PE 1: shmemx_buffer_register_symmetric: the buffer of 41943040 bytes at 0x\w+: mmap: Cannot allocate memory \(pass memory of ordinary pages`,
		`PE 0 has lost 0 bytes`, `PE 1 has lost 0 bytes`,
	}},
	{what: "align_odd", status: aborted, say: []string{`PE \d: shmem_align: alignment 24 is not usable \(use a power of two\)`}},
	{what: "align_zero", status: aborted, say: []string{`PE \d: shmem_align: alignment 0 is not usable \(use a power of two\)`}},
	{what: "align_near", status: aborted, say: []string{`PE \d: shmem_align: alignment 63 is not usable \(use a power of two\)`}},
	{what: "sizes_differ", env: []string{"SHMEM_CHECKS=full"}, status: aborted, say: []string{`PE \d: shmem_malloc: the PEs ask for different sizes, 100 to 101 bytes`}},
	{what: "ring_operations", only: onHosts, status: 0, say: []string{
		`shmem: PE \d: ring: p for PE 77 before position \d+: PE 77 does not exist, there are 2`,
		`shmem: PE \d: ring: put for PE \d before position \d+: 8 bytes at the local address 0x40 cannot be read \(pass memory of this process\)`,
		`PE 0 went on`, `PE 1 went on`,
	}},
	{what: "ring_version", status: aborted, say: []string{`PE \d: shmemi_device_state: the program was built for version \d+ of the rings \(8 bytes of state\), the library has version \d+ .*\(build the program with the headers`}},
	{what: "rings_before_init", only: onNode, status: aborted, say: []string{uninitialised("shmemi_device_state")}},
	{what: "before_init", only: onNode, status: aborted, say: []string{uninitialised("shmem_long_p")}},
	{what: "my_pe_before_init", only: onNode, status: aborted, say: []string{uninitialised("shmem_my_pe")}},
	{what: "finalize_before_init", only: onNode, status: 0, say: []string{`^shmem: shmem_finalize: it was called more often than init, and does nothing \(call it once for each init\)\n`}},
	{what: "after_finalize", status: aborted, say: []string{uninitialised("shmem_long_p")}},
	{what: "finalize_twice", status: 0, say: []string{`(?m)^shmem: shmem_finalize: it was called more often than init, and does nothing \(call it once for each init\)$`}},
	{what: "finalize_in_child", only: onNode, status: 0, say: []string{`shmem: shmem_finalize: this process is a child forked after shmem_init`, `child ended with status 134`}},
	{what: "thread_level", only: onNode, status: 3, say: []string{`shmem: shmem_init_thread: thread level 99 does not exist`}},
	{what: "exit_7", status: 7},
	{what: "exit_0", status: 0},
	{what: "exit_256", status: 1},
	{what: "in_child", only: onNode, status: 0, say: []string{`shmem: shmem_barrier_all: this process is a child forked after shmem_init`, `child ended with status 134`}},
	{what: "crash", status: 128 + 11, say: []string{`PE 1 was killed by signal 11 \(segmentation fault\)`}},
	{what: "leaves", env: []string{"SIGNAL=TERM"}, status: 128 + 15, say: []string{`PE 1 exited with status 0 .*shmem_finalize`}},
	{what: "ends_without_finalize", status: 0},
	{what: "hang", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmem_long_wait_until has waited \d+ s: for 0x\w+ \(heap offset 0x\w+\) == 5, now 0 \(the wait goes on\)`}},
	{what: "hang_busy", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmem_long_wait_until has waited \d+ s: for 0x\w+ \(heap offset 0x\w+\) == 5, now 0 \(the wait goes on\)`}},
	{what: "absent", env: []string{"SHMEM_BOOTSTRAP_TIMEOUT=1"}, status: 1, say: []string{`shmem: shmem_init: .*PE 1 did not come within 1s \(find out why they are late, or raise SHMEM_BOOTSTRAP_TIMEOUT\)`}},
	{what: "nothing", env: []string{"SHMEM_SYMMETRIC_SIZE=banana"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_SYMMETRIC_SIZE.*banana`}},
	{what: "nothing", env: []string{"SHMEM_SYMMETRIC_SIZE=9000000t"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_SYMMETRIC_SIZE`}},
	{what: "nothing", env: []string{"SHMEM_SYMMETRIC_SIZE=0"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_SYMMETRIC_SIZE`}},
	{what: "nothing", env: []string{"SHMEM_RING_SIZE=16"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_RING_SIZE.*power of two from 256`}},
	{what: "nothing", env: []string{"SHMEM_RING_COUNT=0"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_RING_COUNT.*from 1 to 64`}},
	{what: "nothing", env: []string{"SHMEM_PROVIDER=carrier-pigeon"}, only: onHosts, status: 1, say: []string{`shmem: shmem_init: .*carrier-pigeon`}},
	{what: "nothing", env: []string{"SHMEM_LIBFABRIC=/nowhere/libfabric.so"}, only: onHosts, status: 1, say: []string{`shmem: shmem_init: .*/nowhere/libfabric.so`}},
	{what: "nothing", env: []string{"SHMEM_SYMETRIC_SIZE=1g"}, status: 0, say: []string{`SHMEM_SYMETRIC_SIZE.*SHMEM_SYMMETRIC_SIZE`}},
	{what: "nothing", env: []string{"SHMEM_BOOTSTRAP=smoke"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_BOOTSTRAP.*smoke`}},
	{what: "nothing", env: []string{"SHMEM_CHAOS=1,drop-peer=2@1h"}, status: 1, say: []string{`shmem: shmem_init: read setting SHMEM_CHAOS="1,drop-peer=2@1h": drop-peer=2: there is no PE 2, the job has 2 \(use 0 to 1\)`}},
	{what: "nothing", env: []string{"SHMEM_STATS=7", "SHMEM_TIMEOUT=soon"}, status: 1, say: []string{`shmem: shmem_init: read setting SHMEM_STATS="7".*\); read setting SHMEM_TIMEOUT="soon": .*`}},
	{what: "nothing", env: []string{"SHMEM_CHECKS=perhaps"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_CHECKS.*perhaps`}},
}

// uninitialised returns all that a job prints whose PEs make a call before init or after
// finalize: it names one of them.
func uninitialised(call string) string {
	return `^shmemrun: PE \d aborted the job with status 134: ` + call + `: the library is not initialised \(call shmem_init first and shmem_finalize last\)\n$`
}

func TestBadInput(t *testing.T) { runRows(t, "bad", rows) }

// runRows runs a program of testdata for each row, on the node and on two hosts.
func runRows(t *testing.T, name string, rows []row) {
	build := need.Build(t)
	program := compile(t, build, name)
	for _, r := range rows {
		for _, where := range []string{onNode, onHosts} {
			if r.only != "" && r.only != where {
				continue
			}
			if r.only == "" && r.status == aborted && where == onHosts && need.Left("bad calls") {
				continue // the same check of arguments
			}
			t.Run(strings.Join(append([]string{r.what, where}, r.env...), ","), func(t *testing.T) {
				t.Parallel()
				r.run(t, build, program, where)
			})
		}
	}
}

func (r row) run(t *testing.T, build, program, where string) {
	args := []string{"-n", cmp.Or(r.pes, "2")}
	if where == onHosts {
		args = append(args, "--hosts", "2", "-x", "SHMEM_PROVIDER=tcp")
	}
	for _, e := range r.env {
		if e == "SIGNAL=TERM" {
			continue
		}
		args = append(args, "-x", e)
	}
	args = append(args, "--timeout", "90", program, r.what)

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(build, "bin", "shmemrun"), args...)
	file := filepath.Join(t.TempDir(), "go")
	cmd.Env = append(os.Environ(), "GO="+file)
	out := &output{row: r, said: func() error {
		if slices.Contains(r.env, "SIGNAL=TERM") {
			return cmd.Process.Signal(syscall.SIGTERM)
		}
		return os.WriteFile(file, nil, 0o666)
	}}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != r.status {
		t.Errorf("status %d, want %d", got, r.status)
	}
	for _, say := range r.say {
		if !regexp.MustCompile(say).Match(out.text) {
			t.Errorf("nothing says %s", say)
		}
	}
	if bytes.Contains(out.text, []byte("goroutine ")) {
		t.Error("a Go trace reached the program")
	}
	if t.Failed() {
		t.Logf("shmemrun %s\n%s", strings.Join(args, " "), out.text)
	}
}

// output is a job's output. When it has everything that the row wants, said is called, and a PE
// that blocks another one continues. A fixed delay might be too short on a busy machine.
type output struct {
	row  row
	text []byte
	said func() error
}

func (o *output) Write(b []byte) (int, error) {
	o.text = append(o.text, b...)
	if o.said == nil || slices.ContainsFunc(o.row.say, func(say string) bool { return !regexp.MustCompile(say).Match(o.text) }) {
		return len(b), nil
	}
	said := o.said
	o.said = nil
	return len(b), said()
}

func compile(t *testing.T, build, name string) string {
	t.Helper()
	return cc.Program(t, build, filepath.Join("testdata", name+".c"), "-O0", "-I../../device")
}
