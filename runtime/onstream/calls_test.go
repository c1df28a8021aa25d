package onstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/queue"
	"libshmem/runtime/gpu"
)

// recorder is a GPU that notes its calls.
type recorder struct {
	facts  gpu.Facts
	log    []string
	fail   string // the call that fails
	closed int
}

var errRefused = errors.New("refused")

func (r *recorder) note(name, format string, args ...any) error {
	r.log = append(r.log, strings.TrimSpace(name+" "+fmt.Sprintf(format, args...)))
	if r.fail == name {
		return errRefused
	}
	return nil
}

func (r *recorder) Facts() gpu.Facts { return r.facts }
func (r *recorder) CopyAsync(s gpu.Stream, to, from gpu.Address, n uint64) error {
	return r.note("copy", "%#x %#x %d on %d", to, from, n, s)
}
func (r *recorder) Write64(s gpu.Stream, a gpu.Address, v uint64) error {
	return r.note("write", "%#x %d on %d", a, v, s)
}
func (r *recorder) Write32(s gpu.Stream, a gpu.Address, v uint32) error {
	return r.note("write", "%#x %d (4 bytes) on %d", a, v, s)
}
func (r *recorder) Wait64(s gpu.Stream, a gpu.Address, v uint64, until gpu.Condition) error {
	return r.note("wait", "%#x %d by %d on %d", a, v, until, s)
}
func (r *recorder) SyncStream(s gpu.Stream) error { return r.note("sync", "%d", s) }

// Memory at tied is tied to the program's context, on GPU 3; at elsewhere to another one.
const (
	tied      = 0x5000000
	elsewhere = 0x6000000
)

func (r *recorder) Pointer(a gpu.Address) (gpu.Pointer, error) {
	p := gpu.Pointer{Place: gpu.OnDevice, Device: 3, OwnedByContext: a == tied || a == elsewhere}
	if a == elsewhere {
		p.Device = 4
	}
	return p, r.note("pointer", "%#x", a)
}
func (r *recorder) Load(image []byte) (Code, error) {
	return &recordedCode{r, nil}, r.note("load", "%s", image)
}

type recordedCode struct {
	r     *recorder
	names []string
}

func (c *recordedCode) SetJob(job gpu.Address, n uint64) error {
	return c.r.note("give", "%#x %d", job, n)
}

func (c *recordedCode) Kernel(name string) (Kernel, error) {
	c.names = append(c.names, name)
	if c.r.fail == name {
		return 0, errRefused
	}
	return Kernel(len(c.names) - 1), nil
}

func (c *recordedCode) Launch(k Kernel, blocks, threads uint32, s gpu.Stream, call *queue.StreamCall) error {
	team := ""
	if call.Team != teamWorld {
		team = fmt.Sprintf(" team=%#x/%d", call.Team, call.TeamPEs)
	}
	if call.Bounce != 0 {
		team += fmt.Sprintf(" bounce=%#x", call.Bounce)
	}
	return c.r.note("launch", "%s %dx%d on %d dest=%#x source=%#x count=%d signal=%#x value=%d pe=%d op=%d width=%#x algorithm=%d nbi=%d%s",
		strings.TrimPrefix(c.names[k], prefix), blocks, threads, s, call.Dest, call.Source, call.Count, call.Signal,
		call.Value, call.PE, call.Op, call.Width, call.Algorithm, call.Nbi, team)
}

func (c *recordedCode) Close() error { c.r.closed++; return nil }

// The job: PE 0 of 3, whose heap the program has at 0x10000 and the GPU at
// 0x20000. PE 1 is reached directly, PE 2 by ring.
func mixed() Job {
	return Job{NPEs: 3, User: 0x10000, Heap: 0x20000, Direct: []gpu.Address{0x20000, 0x30000, 0}, Rings: true, Image: 0x900, Bytes: 7}
}

func survivor() Job {
	job := mixed()
	job.Survives = true
	return job
}

func withChannel() Job {
	job := mixed()
	job.Issue, job.QuietIssue, job.QuietAck = 0x11, 0x22, 0x33
	return job
}

func direct() Job {
	return Job{NPEs: 2, User: 0x10000, Heap: 0x20000, Direct: []gpu.Address{0x20000, 0x30000}}
}

func kernelFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kernels")
	if err := os.WriteFile(file, []byte("code"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func opened(t *testing.T, r *recorder, job Job) *Calls {
	t.Helper()
	c := Open(r, job, kernelFile(t))
	if err := c.Missing(); err != nil {
		t.Fatal(err)
	}
	r.log = nil
	return c
}

const stream = gpu.Stream(4)

func TestCalls(t *testing.T) {
	alone := Job{NPEs: 1, User: 0x10000, Heap: 0x20000, Direct: []gpu.Address{0x20000}}
	for _, c := range []struct {
		name string
		job  Job
		what What
		call queue.StreamCall
		want string // one line for each thing asked of the GPU
	}{
		{"put", mixed(), Put, queue.StreamCall{Dest: 0x10010, Source: 0x77, Count: 5, PE: 1}, "copy 0x30010 0x77 5 on 4"},
		{"put by ring", mixed(), Put, queue.StreamCall{Dest: 0x10010, Source: 0x77, Count: 5, PE: 2, Nbi: 1},
			"launch put 1x32 on 4 dest=0x20010 source=0x77 count=5 signal=0x0 value=0 pe=2 op=0 width=0x0 algorithm=0 nbi=1"},
		{"get", mixed(), Get, queue.StreamCall{Dest: 0x77, Source: 0x10010, Count: 5, PE: 1}, "copy 0x77 0x30010 5 on 4"},
		{"get by ring", mixed(), Get, queue.StreamCall{Dest: 0x77, Source: 0x10010, Count: 5, PE: 2},
			"launch get 1x32 on 4 dest=0x77 source=0x20010 count=5 signal=0x0 value=0 pe=2 op=0 width=0x0 algorithm=0 nbi=0"},
		{"p of 8 bytes", mixed(), P, queue.StreamCall{Dest: 0x10008, Value: 9, Width: 8, PE: 1}, "write 0x30008 9 on 4"},
		{"p of 4 bytes", mixed(), P, queue.StreamCall{Dest: 0x10008, Value: 9, Width: 4, PE: 1}, "write 0x30008 9 (4 bytes) on 4"},
		{"p of 2 bytes", mixed(), P, queue.StreamCall{Dest: 0x10008, Value: 9, Width: 2, PE: 1},
			"launch p 1x1 on 4 dest=0x20008 source=0x0 count=0 signal=0x0 value=9 pe=1 op=0 width=0x2 algorithm=0 nbi=0"},
		{"p by ring", mixed(), P, queue.StreamCall{Dest: 0x10008, Value: 9, Width: 8, PE: 2},
			"launch p 1x1 on 4 dest=0x20008 source=0x0 count=0 signal=0x0 value=9 pe=2 op=0 width=0x8 algorithm=0 nbi=0"},
		{"put_signal", mixed(), PutSignal, queue.StreamCall{Dest: 0x10010, Source: 0x77, Count: 5, Signal: 0x10100, Value: 3, Op: signalSet, PE: 1},
			"copy 0x30010 0x77 5 on 4\nwrite 0x30100 3 on 4"},
		{"put_signal that adds", mixed(), PutSignal, queue.StreamCall{Dest: 0x10010, Source: 0x77, Count: 5, Signal: 0x10100, Value: 3, Op: 10, PE: 1},
			"copy 0x30010 0x77 5 on 4\n" +
				"launch signal 1x1 on 4 dest=0x10010 source=0x77 count=5 signal=0x20100 value=3 pe=1 op=10 width=0x0 algorithm=0 nbi=0"},
		{"put_signal by ring", mixed(), PutSignal, queue.StreamCall{Dest: 0x10010, Source: 0x77, Count: 5, Signal: 0x10100, Value: 3, Op: signalSet, PE: 2},
			"launch put_signal 1x32 on 4 dest=0x20010 source=0x77 count=5 signal=0x20100 value=3 pe=2 op=9 width=0x0 algorithm=0 nbi=0"},
		{"put_notify", mixed(), PutNotify, queue.StreamCall{Dest: 0x10010, Source: 0x77, Count: 5, Op: 3, PE: 1, Nbi: 1},
			"copy 0x30010 0x77 5 on 4\n" +
				"launch put_notify 1x1 on 4 dest=0x20010 source=0x77 count=0 signal=0x0 value=0 pe=1 op=3 width=0x0 algorithm=0 nbi=1"},
		{"put_notify without bytes", mixed(), PutNotify, queue.StreamCall{Dest: 0x10000, Op: 3, PE: 1},
			"launch put_notify 1x1 on 4 dest=0x20000 source=0x0 count=0 signal=0x0 value=0 pe=1 op=3 width=0x0 algorithm=0 nbi=0"},
		{"put_notify by ring", mixed(), PutNotify, queue.StreamCall{Dest: 0x10010, Source: 0x77, Count: 5, Op: 3, PE: 2},
			"launch put_notify 1x32 on 4 dest=0x20010 source=0x77 count=5 signal=0x0 value=0 pe=2 op=3 width=0x0 algorithm=0 nbi=0"},
		{"notify_wait", direct(), NotifyWait, queue.StreamCall{Op: 3, Value: 7},
			"launch notify_wait 1x1 on 4 dest=0x0 source=0x0 count=0 signal=0x0 value=7 pe=0 op=3 width=0x0 algorithm=0 nbi=0"},
		{"notify_reset", direct(), NotifyReset, queue.StreamCall{Op: 3, Value: 7},
			"launch notify_reset 1x1 on 4 dest=0x0 source=0x0 count=0 signal=0x0 value=7 pe=0 op=3 width=0x0 algorithm=0 nbi=0"},
		{"wait for a count", mixed(), Count, queue.StreamCall{Dest: 0x10020, Value: 6, Op: cmpGE, Count: 1, Width: 8}, "wait 0x20020 6 by 0 on 4"},
		{"wait for a signal", mixed(), Count, queue.StreamCall{Dest: 0x10020, Value: 6, Op: cmpEQ, Count: 1, Width: 8}, "wait 0x20020 6 by 1 on 4"},
		{"wait for a count that a loss ends", survivor(), Count, queue.StreamCall{Dest: 0x10020, Value: 6, Op: cmpGE, Count: 1, Width: 8},
			"launch wait 1x32 on 4 dest=0x20020 source=0x0 count=1 signal=0x0 value=6 pe=0 op=5 width=0x8 algorithm=0 nbi=0"},
		{"EQ that a loss ends", survivor(), Wait, queue.StreamCall{Dest: 0x10020, Value: 6, Op: cmpEQ, Count: 1, Width: 8},
			"launch wait 1x32 on 4 dest=0x20020 source=0x0 count=1 signal=0x0 value=6 pe=0 op=0 width=0x8 algorithm=0 nbi=0"},
		{"wait until not", mixed(), Count, queue.StreamCall{Dest: 0x10020, Value: 6, Op: 1, Count: 1, Width: 8},
			"launch wait 1x32 on 4 dest=0x20020 source=0x0 count=1 signal=0x0 value=6 pe=0 op=1 width=0x8 algorithm=0 nbi=0"},
		{"GE of a word of any meaning", mixed(), Wait, queue.StreamCall{Dest: 0x10020, Value: 6, Op: cmpGE, Count: 1, Width: 8},
			"launch wait 1x32 on 4 dest=0x20020 source=0x0 count=1 signal=0x0 value=6 pe=0 op=5 width=0x8 algorithm=0 nbi=0"},
		{"EQ of a signed word", mixed(), Wait, queue.StreamCall{Dest: 0x10020, Value: 6, Op: cmpEQ, Count: 1, Width: 8 | queue.Signed}, "wait 0x20020 6 by 1 on 4"},
		{"EQ of 4 bytes", mixed(), Wait, queue.StreamCall{Dest: 0x10020, Value: 6, Op: cmpEQ, Count: 1, Width: 4},
			"launch wait 1x32 on 4 dest=0x20020 source=0x0 count=1 signal=0x0 value=6 pe=0 op=0 width=0x4 algorithm=0 nbi=0"},
		{"EQ of many", mixed(), Wait, queue.StreamCall{Dest: 0x10020, Value: 6, Op: cmpEQ, Count: 700, Width: 8},
			"launch wait 1x512 on 4 dest=0x20020 source=0x0 count=700 signal=0x0 value=6 pe=0 op=0 width=0x8 algorithm=0 nbi=0"},
		{"EQ of one that may not count", mixed(), Wait, queue.StreamCall{Dest: 0x10020, Signal: 0x5, Op: cmpEQ, Count: 1, Width: 8},
			"launch wait 1x32 on 4 dest=0x20020 source=0x0 count=1 signal=0x5 value=0 pe=0 op=0 width=0x8 algorithm=0 nbi=0"},
		{"quiet", mixed(), Quiet, queue.StreamCall{}, "launch quiet 1x1 on 4 dest=0x0 source=0x0 count=0 signal=0x0 value=0 pe=0 op=0 width=0x0 algorithm=0 nbi=0"},
		{"quiet without rings", direct(), Quiet, queue.StreamCall{}, ""},
		{"sync", direct(), Sync, queue.StreamCall{}, "launch sync 1x32 on 4 dest=0x0 source=0x0 count=0 signal=0x0 value=0 pe=0 op=0 width=0x0 algorithm=0 nbi=0"},
		{"quiet of a channel", withChannel(), Quiet, queue.StreamCall{}, "launch quiet 1x1 on 4 dest=0x11 source=0x22 count=0 signal=0x33 value=0 pe=0 op=0 width=0x0 algorithm=0 nbi=0"},
		{"barrier of a channel", withChannel(), Barrier, queue.StreamCall{}, "launch barrier 1x32 on 4 dest=0x11 source=0x22 count=0 signal=0x33 value=0 pe=0 op=0 width=0x0 algorithm=0 nbi=0"},
		{"barrier", mixed(), Barrier, queue.StreamCall{}, "launch barrier 1x32 on 4 dest=0x0 source=0x0 count=0 signal=0x0 value=0 pe=0 op=0 width=0x0 algorithm=0 nbi=0"},
		{"barrier without rings", direct(), Barrier, queue.StreamCall{}, "launch sync 1x32 on 4 dest=0x0 source=0x0 count=0 signal=0x0 value=0 pe=0 op=0 width=0x0 algorithm=0 nbi=0"},
		{"barrier alone", alone, Barrier, queue.StreamCall{}, ""},
		{"broadcast", direct(), Broadcast, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 130 << 10, PE: 1},
			"launch broadcast 3x512 on 4 dest=0x20010 source=0x20020 count=133120 signal=0x0 value=0 pe=1 op=0 width=0x0 algorithm=2 nbi=0"},
		{"broadcast of a few bytes", direct(), Broadcast, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 600, PE: 1},
			"launch broadcast 1x64 on 4 dest=0x20010 source=0x20020 count=600 signal=0x0 value=0 pe=1 op=0 width=0x0 algorithm=2 nbi=0"},
		{"fcollect by ring", mixed(), Fcollect, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 130 << 10},
			"launch fcollect 1x512 on 4 dest=0x20010 source=0x20020 count=133120 signal=0x0 value=0 pe=0 op=0 width=0x0 algorithm=0 nbi=0"},
		{"alltoall alone", alone, Alltoall, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 5}, "copy 0x20010 0x20020 5 on 4"},
		{"alltoall alone in place", alone, Alltoall, queue.StreamCall{Dest: 0x10010, Source: 0x10010, Count: 5}, ""},
		{"sum of few", direct(), Reduce, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 1, Op: queue.ReduceSum, Width: queue.F32},
			"launch packed_sum 1x32 on 4 dest=0x20010 source=0x20020 count=1 signal=0x0 value=0 pe=0 op=1 width=0x204 algorithm=0 nbi=0"},
		{"sum of more", direct(), Reduce, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 1026, Op: queue.ReduceSum, Width: queue.F32},
			"launch packed_sum 2x512 on 4 dest=0x20010 source=0x20020 count=1026 signal=0x0 value=0 pe=0 op=1 width=0x204 algorithm=0 nbi=0"},
		{"xor of many", direct(), Reduce, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 1 << 20, Op: queue.ReduceXor, Width: 4},
			"launch spread_xor 64x512 on 4 dest=0x20010 source=0x20020 count=4194304 signal=0x0 value=0 pe=0 op=7 width=0x1 algorithm=0 nbi=0"},
		{"max by ring", mixed(), Reduce, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 10, Op: queue.ReduceMax, Width: 2 | queue.Signed},
			"launch reduce 1x512 on 4 dest=0x20010 source=0x20020 count=10 signal=0x0 value=0 pe=0 op=4 width=0x102 algorithm=0 nbi=0"},
		{"parts of a sum", direct(), Reducescatter, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 1 << 20, Op: queue.ReduceSum, Width: queue.F32},
			"launch reducescatter 1x512 on 4 dest=0x20010 source=0x20020 count=1048576 signal=0x0 value=0 pe=0 op=1 width=0x204 algorithm=0 nbi=0"},
		{"min alone", alone, Reduce, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 10, Op: queue.ReduceMin, Width: queue.BF16}, "copy 0x20010 0x20020 20 on 4"},
		{"sync of a team", direct(), Sync, queue.StreamCall{Team: 0x401, TeamPEs: 40}, "launch sync 1x64 on 4 dest=0x0 source=0x0 count=0 signal=0x0 value=0 pe=0 op=0 width=0x0 algorithm=0 nbi=0 team=0x401/40"},
		{"barrier of a team of one", mixed(), Barrier, queue.StreamCall{Team: 0x401, TeamPEs: 1}, "launch quiet 1x1 on 4 dest=0x0 source=0x0 count=0 signal=0x0 value=0 pe=0 op=0 width=0x0 algorithm=0 nbi=0 team=0x401/1"},
		{"broadcast in a team", direct(), Broadcast, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 130 << 10, PE: 1, Team: 0x401, TeamPEs: 2},
			"launch broadcast 3x512 on 4 dest=0x20010 source=0x20020 count=133120 signal=0x0 value=0 pe=1 op=0 width=0x0 algorithm=2 nbi=0 team=0x401/2"},
		{"broadcast to three PEs", direct(), Broadcast, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 130 << 10, PE: 1, Team: 0x401, TeamPEs: 4},
			"launch broadcast 9x512 on 4 dest=0x20010 source=0x20020 count=133120 signal=0x0 value=0 pe=1 op=0 width=0x0 algorithm=2 nbi=0 team=0x401/4"},
		{"broadcast to three PEs of a few bytes", direct(), Broadcast, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 21 << 10, PE: 1, Team: 0x401, TeamPEs: 4},
			"launch broadcast 1x512 on 4 dest=0x20010 source=0x20020 count=21504 signal=0x0 value=0 pe=1 op=0 width=0x0 algorithm=2 nbi=0 team=0x401/4"},
		{"broadcast to three PEs of many bytes", direct(), Broadcast, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 64 << 20, PE: 1, Team: 0x401, TeamPEs: 4},
			"launch broadcast 96x512 on 4 dest=0x20010 source=0x20020 count=67108864 signal=0x0 value=0 pe=1 op=0 width=0x0 algorithm=2 nbi=0 team=0x401/4"},
		{"broadcast to 63 PEs", direct(), Broadcast, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 64 << 20, PE: 1, Team: 0x401, TeamPEs: 64},
			"launch broadcast 63x512 on 4 dest=0x20010 source=0x20020 count=67108864 signal=0x0 value=0 pe=1 op=0 width=0x0 algorithm=2 nbi=0 team=0x401/64"},
		{"fcollect in a team of many", direct(), Fcollect, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 8, Team: 0x401, TeamPEs: 65},
			"launch fcollect 1x512 on 4 dest=0x20010 source=0x20020 count=8 signal=0x0 value=0 pe=0 op=0 width=0x0 algorithm=0 nbi=0 team=0x401/65"},
		{"alltoall in a team of one", direct(), Alltoall, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 5, Team: 0x401, TeamPEs: 1}, "copy 0x20010 0x20020 5 on 4"},
		{"sum of few in a team", direct(), Reduce, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 512, Op: queue.ReduceSum, Width: queue.F32, Team: 0x401, TeamPEs: 2},
			"launch reduce 1x512 on 4 dest=0x20010 source=0x20020 count=512 signal=0x0 value=0 pe=0 op=1 width=0x204 algorithm=0 nbi=0 team=0x401/2"},
		{"sum of more in a team", direct(), Reduce, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 1 << 20, Op: queue.ReduceSum, Width: queue.F32, Team: 0x401, TeamPEs: 2},
			"launch spread_sum 64x512 on 4 dest=0x20010 source=0x20020 count=1048576 signal=0x0 value=0 pe=0 op=1 width=0x204 algorithm=0 nbi=0 team=0x401/2"},
		{"sum in a team by ring", mixed(), Reduce, queue.StreamCall{Dest: 0x10010, Source: 0x10020, Count: 1 << 20, Op: queue.ReduceSum, Width: queue.F32, Team: 0x401, TeamPEs: 2},
			"launch reduce 1x512 on 4 dest=0x20010 source=0x20020 count=1048576 signal=0x0 value=0 pe=0 op=1 width=0x204 algorithm=0 nbi=0 team=0x401/2"},
		{"drain", direct(), Drain, queue.StreamCall{}, "sync 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &recorder{facts: gpu.Facts{StreamOps: true}}
			calls := opened(t, r, c.job)
			if c.call.TeamPEs == 0 {
				c.call.TeamPEs = int32(c.job.NPEs)
			}
			given := c.call
			if err := calls.Queue(c.what, &c.call, stream); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(r.log, "\n"); got != c.want {
				t.Errorf("asked of the GPU:\n%s\nwant:\n%s", got, c.want)
			}
			if c.call != given {
				t.Error("the caller's arguments were changed")
			}
		})
	}
}

// TestWithoutStreamOps: a driver whose streams cannot store or wait gets kernels.
func TestWithoutStreamOps(t *testing.T) {
	for what, call := range map[What]queue.StreamCall{
		P:      {Dest: 0x10008, Width: 8, PE: 1},
		Signal: {Signal: 0x10008, Op: signalSet, PE: 1},
		Count:  {Dest: 0x10008, Op: cmpGE, Count: 1, Width: 8},
		Wait:   {Dest: 0x10008, Op: cmpEQ, Count: 1, Width: 8},
	} {
		r := &recorder{}
		if err := opened(t, r, direct()).Queue(what, &call, stream); err != nil {
			t.Fatal(err)
		}
		if len(r.log) != 1 || !strings.HasPrefix(r.log[0], "launch ") {
			t.Errorf("call %d: asked of the GPU: %q, want a kernel", what, r.log)
		}
	}
}

// TestFailures: a refusal of the GPU is the call's error.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		fail string
		what What
		call queue.StreamCall
	}{
		{"copy", Put, queue.StreamCall{Dest: 0x10000, PE: 1}},
		{"copy", Get, queue.StreamCall{Source: 0x10000, PE: 1}},
		{"copy", PutSignal, queue.StreamCall{Dest: 0x10000, Signal: 0x10000, Op: signalSet, PE: 1}},
		{"write", PutSignal, queue.StreamCall{Dest: 0x10000, Signal: 0x10000, Op: signalSet, PE: 1}},
		{"wait", Count, queue.StreamCall{Dest: 0x10000, Op: cmpGE}},
		{"launch", Sync, queue.StreamCall{}},
		{"copy", PutNotify, queue.StreamCall{Dest: 0x10000, Count: 1, PE: 1}},
		{"launch", PutNotify, queue.StreamCall{Dest: 0x10000, Count: 1, PE: 1}},
		{"launch", Fcollect, queue.StreamCall{Dest: 0x10000, Source: 0x10000, Count: 1}},
		{"launch", Reduce, queue.StreamCall{Dest: 0x10000, Source: 0x10000, Count: 1, Op: queue.ReduceSum, Width: 4}},
		{"sync", Drain, queue.StreamCall{}},
	} {
		r := &recorder{facts: gpu.Facts{StreamOps: true}}
		calls := opened(t, r, direct())
		r.fail = c.fail
		if err := calls.Queue(c.what, &c.call, stream); !errors.Is(err, errRefused) {
			t.Errorf("call %d when %s fails: error %v", c.what, c.fail, err)
		}
	}
}

// TestOpen: kernels that cannot be loaded are missed by the calls that need them, and by no other;
// loaded code is unloaded.
func TestOpen(t *testing.T) {
	file := kernelFile(t)
	for _, c := range []struct {
		fail, file, want string
		closed           int
	}{
		{"", filepath.Join(t.TempDir(), "absent"), "the file with the library's own kernels is not there (build the library with KERNELS=yes", 0},
		{"", t.TempDir(), "is a directory", 0},
		{"load", file, "refused", 0},
		{"give", file, "refused", 1},
		{prefix + "spread_xor", file, "refused", 1},
	} {
		r := &recorder{fail: c.fail, facts: gpu.Facts{StreamOps: true}}
		calls := Open(r, direct(), c.file)
		err := calls.Queue(Sync, &queue.StreamCall{}, stream)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.file) {
			t.Errorf("sync after a failed %q: error %v, want the file and %q", c.fail, err, c.want)
		}
		if err := calls.Queue(Put, &queue.StreamCall{Dest: 0x10000, PE: 1}, stream); err != nil {
			t.Errorf("put after a failed %q: %v", c.fail, err)
		}
		if err := calls.Close(); err != nil || r.closed != c.closed {
			t.Errorf("after a failed %q: closed %d times, want %d; error %v", c.fail, r.closed, c.closed, err)
		}
	}
	r := &recorder{}
	calls := Open(r, mixed(), file)
	if r.log[0] != "load code" || r.log[1] != "give 0x900 7" {
		t.Errorf("opening asked of the GPU: %q", r.log)
	}
	for range 2 {
		if err := calls.Close(); err != nil || r.closed != 1 {
			t.Errorf("closed %d times, error %v", r.closed, err)
		}
	}
}

// TestPackedRoom compares the sizes that are packed with the room for them.
func TestPackedRoom(t *testing.T) {
	for _, pes := range []int{2, 3, 8, 64} {
		c := &Calls{job: Job{NPEs: pes}}
		if need := 2 * uint64(pes) * (c.maxPackedBytes() / 8) * 16; need > queue.WorkStream-128 {
			t.Errorf("%d PEs: packed words take %d bytes, there are %d", pes, need, queue.WorkStream-128)
		}
		if c.maxPackedBytes() < 4096 {
			t.Errorf("%d PEs: room for %d bytes only", pes, c.maxPackedBytes())
		}
	}
}

// TestNames: each kernel of the table is in the source of the library's, which does not compile
// with another one.
func TestNames(t *testing.T) {
	source, err := os.ReadFile("../../device/kernels/kernels.cu")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for _, algorithm := range []string{"packed_", "spread_"} {
			if strings.HasPrefix(name, algorithm) {
				name = algorithm + "##name"
			}
		}
		if what := "KERNEL(" + name + ")"; !strings.Contains(string(source), what) {
			t.Errorf("device/kernels/kernels.cu has no %q", what)
		}
	}
}
