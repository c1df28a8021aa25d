package hostmem

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/runtime/shmerr"
)

const mib = 1 << 20

// fake makes a machine out of files: "path: text" with \n in the text.
func fake(t *testing.T, files map[string]string) machine {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return machine{root: root}
}

const (
	meminfo = "MemTotal: 9000000 kB\nMemAvailable:    1024000 kB\nSwapFree:  1024 kB\nCommitLimit: 102400 kB\nCommitted_AS: 51200 kB\n"
	v2mount = "25 1 0:21 / /proc rw - proc proc rw\n30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	v1mount = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n31 25 0:27 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)

func TestAvailable(t *testing.T) {
	const job = "/sys/fs/cgroup/job"
	for name, tt := range map[string]struct {
		files  map[string]string
		want   uint64
		source string
	}{
		"no control groups": {map[string]string{"/proc/meminfo": meminfo}, 1001 * mib, "the machine"},
		"strict overcommit": {map[string]string{"/proc/meminfo": meminfo, "/proc/sys/vm/overcommit_memory": "2\n"},
			50 * mib, "the machine under vm.overcommit_memory=2"},
		"heuristic overcommit": {map[string]string{"/proc/meminfo": meminfo, "/proc/sys/vm/overcommit_memory": "0\n"}, 1001 * mib, "the machine"},
		"version 2, own limit": {map[string]string{"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/job/step\n", "/proc/self/mountinfo": v2mount,
			job + "/step/memory.max": "104857600\n", job + "/step/memory.current": "62914560\n",
			job + "/step/memory.stat": "anon 1\nactive_file 99\ninactive_file 10485760\n",
			job + "/memory.max":       "max\n", job + "/memory.current": "62914560\n"}, 50 * mib, "control group /job/step"},
		"version 2, limit of the parent": {map[string]string{"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/job/step\n", "/proc/self/mountinfo": v2mount,
			job + "/step/memory.max": "max\n", job + "/step/memory.current": "1\n",
			job + "/memory.max": "20971520\n", job + "/memory.current": "31457280\n"}, 0, "control group /job"},
		"version 2, group namespace": {map[string]string{"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": v2mount,
			"/sys/fs/cgroup/memory.max": "20971520\n", "/sys/fs/cgroup/memory.current": "10485760\n"}, 10 * mib, "control group /"},
		"version 1, part of the hierarchy": {map[string]string{"/proc/meminfo": meminfo,
			"/proc/self/cgroup": "5:cpu:/\n4:cpuset,memory:/docker/x/y\n0::/\n", "/proc/self/mountinfo": v1mount,
			"/sys/fs/cgroup/memory/y/memory.limit_in_bytes": "9223372036854771712\n", "/sys/fs/cgroup/memory/y/memory.usage_in_bytes": "5\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "31457280\n", "/sys/fs/cgroup/memory/memory.usage_in_bytes": "20971520\n",
			"/sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 10485760\n"}, 20 * mib, "control group /"},
		"version 1, group outside the mount": {map[string]string{"/proc/meminfo": meminfo,
			"/proc/self/cgroup": "4:memory:/docker/xyz\n", "/proc/self/mountinfo": v1mount,
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1\n", "/sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n"}, 1001 * mib, "the machine"},
	} {
		got, source, err := fake(t, tt.files).available()
		if err != nil || got != tt.want || source != tt.source {
			t.Errorf("%s: %d (%s), %v; want %d (%s)", name, got, source, err, tt.want, tt.source)
		}
	}
	for _, files := range []map[string]string{{}, {"/proc/meminfo": "MemFree: 1 kB\n"}} {
		if _, _, err := fake(t, files).available(); !errors.Is(err, shmerr.ErrSystem) {
			t.Errorf("without MemAvailable: %v", err)
		}
	}
	if got, source, err := (machine{}).available(); err != nil || got < mib {
		t.Errorf("this machine has %d bytes (%s), %v", got, source, err)
	}
}

func TestCommitCountsWhatIsPromisedAndNotTouched(t *testing.T) {
	s := newSegment(t, NewPlan(mib, 64*mib, 4))
	// 32 * 4 MiB for PEs, less the thirty-second that stays free.
	s.machine = fake(t, map[string]string{"/proc/meminfo": "MemAvailable: 135168 kB\n"})
	if err := s.Commit(20*mib + 1); err != nil { // 4 * (24+1) MiB
		t.Fatal(err)
	}
	if s.Committed() != 24*mib {
		t.Errorf("committed %d", s.Committed())
	}
	err := s.Commit(32 * mib) // 4 * (32+1) MiB of 127.9
	want := "commit 32.0 MiB of the symmetric heap of each of 4 PEs: 132.0 MiB more are needed and the machine has 127.9 MiB (allocate less, run fewer PEs on the node or free memory)"
	if !errors.Is(err, shmerr.ErrNoMemory) || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if s.Committed() != 24*mib {
		t.Errorf("after a failure %d are committed", s.Committed())
	}
	if err := s.Commit(30*mib + 1); err != nil || s.Committed() != 30*mib+1 {
		t.Errorf("what fits is committed even where the whole step does not fit: %v, %d", err, s.Committed())
	}
	// Once another PE has touched its memory, that is not needed again.
	clear(heapBytes(s, 2)[:8*mib])
	if err := s.Commit(32 * mib); err != nil {
		t.Errorf("with 8 MiB touched: %v", err)
	}
	if err := s.Commit(mib); err != nil || s.Committed() != 32*mib {
		t.Errorf("a smaller heap stays committed: %v, %d", err, s.Committed())
	}
}

func TestCommitWithoutProc(t *testing.T) {
	s := newSegment(t, NewPlan(mib, 64*mib, 1))
	s.machine = machine{root: t.TempDir()}
	if err := s.Commit(1); err == nil || !strings.HasSuffix(err.Error(), "(mount /proc)") {
		t.Errorf("got %v", err)
	}
}

func TestCommitOnThisMachine(t *testing.T) {
	s := newSegment(t, NewPlan(mib, 1<<40, 4))
	if err := s.Commit(mib); err != nil {
		t.Error(err)
	}
	if err := s.Commit(1 << 40); !errors.Is(err, shmerr.ErrNoMemory) {
		t.Errorf("4 TiB are promised: %v", err)
	}
}

func BenchmarkCommitCheck(b *testing.B) {
	s, err := Create(NewPlan(mib, 1<<30, 1))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		if err := s.afford(mib); err != nil {
			b.Fatal(err)
		}
	}
}
