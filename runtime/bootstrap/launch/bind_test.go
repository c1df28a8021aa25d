package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem/runtime/topo"
)

// tree makes files below a new root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// oneNode has 8 cores of 2 hyperthreads each.
func oneNode() map[string]string {
	files := map[string]string{"sys/devices/system/cpu/online": "0-15", "sys/devices/system/node/node0/cpulist": "0-15"}
	for cpu := range 16 {
		files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/core_cpus_list", cpu)] = fmt.Sprintf("%d,%d", cpu%8, cpu%8+8)
	}
	return files
}

// twoNodes has 4 cores on each of 2 NUMA nodes, and a GPU on each, the first on the second node.
func twoNodes() map[string]string {
	return map[string]string{
		"sys/devices/system/cpu/online":                       "0-7",
		"sys/devices/system/node/node0/cpulist":               "0-3",
		"sys/devices/system/node/node1/cpulist":               "4-7",
		"proc/driver/nvidia/gpus/0000:17:00.0/information":    "Model: fake",
		"proc/driver/nvidia/gpus/0000:65:00.0/information":    "Model: fake",
		"sys/bus/pci/devices/0000:17:00.0/local_cpulist":      "4-7",
		"sys/bus/pci/devices/0000:65:00.0/local_cpulist":      "0-3",
		"sys/devices/system/cpu/cpu0/topology/core_cpus_list": "0",
	}
}

func processorsOf(b *binding) string {
	var words []string
	for _, s := range b.cpus {
		words = append(words, s.String())
	}
	return strings.Join(words, " ")
}

// TestBindPEs: simulated machines, and all that decides for or against a binding.
func TestBindPEs(t *testing.T) {
	laptop := oneNode()
	laptop["sys/devices/cpu_atom/type"] = "10"
	broken := twoNodes()
	delete(broken, "sys/devices/system/cpu/online")
	machines := map[string]string{"one": tree(t, oneNode()), "two": tree(t, twoNodes()), "laptop": tree(t, laptop), "broken": tree(t, broken)}
	for _, c := range []struct {
		machine string
		how     Bind
		pes     int
		env     string
		at      surroundings
		want    string
		helpers string
		remark  string
	}{
		{machine: "one", pes: 4, want: "0-1,8-9 2-3,10-11 4-5,12-13 6-7,14-15", remark: "bound by shmemrun to 4 processors each, PE 0 to 0-1,8-9 (--bind=none leaves PEs unbound)"},
		{machine: "one", pes: 7, want: "0,8 1,9 2,10 3,11 4,12 5,13 6,14", helpers: "7,15", remark: "PE 0 to 0,8; threads of the library may also use 7,15 ("},
		{machine: "one", pes: 16, want: "0 8 1 9 2 10 3 11 4 12 5 13 6 14 7 15", remark: "1 processor each"},
		{machine: "one", pes: 17, remark: "not bound: there are 17 for 16 processors (--bind binds them all the same)"},
		{machine: "one", pes: 1},
		{machine: "one", pes: 4, env: "OMP_NUM_THREADS=4", want: "0-1,8-9 2-3,10-11 4-5,12-13 6-7,14-15"},
		{machine: "one", pes: 3, env: "OMP_NUM_THREADS=5,2", remark: "not bound: OMP_NUM_THREADS=5, and a share would be 4 processors"},
		{machine: "one", pes: 4, env: "SHMEM_BIND=off", remark: "not bound: SHMEM_BIND=off is set"},
		{machine: "one", pes: 4, env: "NVSHMEM_CPU_AFFINITY=OFF", remark: "not bound: NVSHMEM_CPU_AFFINITY=OFF is set"},
		{machine: "one", pes: 2, env: "SHMEM_BIND=Auto", want: "0-3,8-11 4-7,12-15"},
		{machine: "one", pes: 4, env: "GOMP_CPU_AFFINITY=0-3", remark: "not bound: GOMP_CPU_AFFINITY is set"},
		{machine: "one", pes: 4, env: "OMP_PLACES={0:4}", remark: "not bound: OMP_PLACES is set"},
		{machine: "one", pes: 2, env: "OMP_PLACES=cores", want: "0-3,8-11 4-7,12-15"},
		{machine: "one", pes: 4, at: surroundings{allowed: topo.NewSet(0, 1, 2, 3)}, remark: "not bound: shmemrun itself may use 4 of 16 processors"},
		{machine: "one", pes: 4, at: surroundings{quota: 4}, remark: "not bound: the control group has time of 4 of 16 processors"},
		{machine: "one", pes: 2, at: surroundings{quota: 16}, want: "0-3,8-11 4-7,12-15"},
		{machine: "one", pes: 4, at: surroundings{running: 3}, remark: "not bound: 3 other threads run on this machine"},
		{machine: "one", pes: 2, at: surroundings{running: 2}, want: "0-3,8-11 4-7,12-15"},
		{machine: "laptop", pes: 4, remark: "not bound: the cores of this machine differ in speed"},
		{machine: "broken", pes: 4, remark: "not bound: read processors of this machine in "},
		{machine: "one", how: BindNone, pes: 4, remark: "not bound (--bind=none)"},

		{machine: "one", how: BindShare, pes: 4, env: "SHMEM_BIND=off OMP_NUM_THREADS=99", at: surroundings{quota: 1, running: 99}, want: "0-1,8-9 2-3,10-11 4-5,12-13 6-7,14-15"},
		{machine: "one", how: BindShare, pes: 2, at: surroundings{allowed: topo.NewSet(0, 1, 2, 8)}, want: "0,8 1", helpers: "2", remark: "bound by shmemrun to 1 processor each, PE 0 to 0,8;"},
		{machine: "one", how: BindShare, pes: 3, at: surroundings{allowed: topo.NewSet(3, 5)}, want: "3 3 5"},
		{machine: "broken", how: BindShare, pes: 2, at: surroundings{allowed: topo.NewSet(3, 5, 7)}, want: "3 5", helpers: "7"},
		{machine: "one", how: BindCore, pes: 3, want: "0,8 1,9 2,10", helpers: "3-7,11-15"},
		{machine: "two", how: BindNUMA, pes: 3, env: "CUDA_VISIBLE_DEVICES=", want: "0-3 0-3 4-7"},

		{machine: "two", pes: 2, want: "4-7 0-3"},
		{machine: "two", pes: 2, env: "CUDA_VISIBLE_DEVICES=1,0", want: "0-3 4-7"},
		{machine: "two", pes: 2, env: "CUDA_VISIBLE_DEVICES=GPU-8a,1", want: "0-3 4-7"},
		{machine: "two", pes: 2, env: "CUDA_VISIBLE_DEVICES=1", want: "0-3 4-7"},
		{machine: "two", pes: 4, want: "0-1 2-3 4-5 6-7"},
		{machine: "two", pes: 8, want: "0 1 2 3 4 5 6 7"},
		{machine: "two", pes: 5, want: "0 1 2 4 5", helpers: "3,6-7"},
		{machine: "two", pes: 9, remark: "not bound: there are 9 for 8 processors"},
	} {
		at := c.at
		at.alone = true
		if at.allowed == "" {
			at.allowed = map[string]topo.Set{"two": topo.NewSet(0, 1, 2, 3, 4, 5, 6, 7)}[c.machine]
		}
		if at.allowed == "" {
			at.allowed, _ = topo.ParseSet("0-15")
		}
		o := &Options{PEs: c.pes, Bind: c.how, Map: Block, Program: "x", Env: strings.Fields(c.env)}
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		b, err := o.bindPEs(machines[c.machine], &at)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got := processorsOf(b); got != c.want || !strings.Contains(b.remark, c.remark) || b.cpus != nil && b.helpers.String() != c.helpers {
			t.Errorf("%s, %d PEs, --bind=%s, %q, %+v:\ngot  %s, helpers %s, %q\nwant %s, helpers %s, %q", c.machine, c.pes, o.Bind, c.env, c.at, got, b.helpers, b.remark, c.want, c.helpers, c.remark)
		}
	}
	o := &Options{PEs: 2, Bind: BindAuto}
	all, _ := topo.ParseSet("0-15")
	if b, err := o.bindPEs(machines["one"], &surroundings{allowed: all}); err != nil || b.cpus != nil || !strings.Contains(b.remark, "another job of shmemrun is on this machine, or may be") {
		t.Errorf("beside another job: %+v, %v", b, err)
	}
	if b, err := o.bindPEs(machines["one"], &surroundings{alone: true}); err != nil || b.cpus != nil || b.remark == "" {
		t.Errorf("processors are not known: %+v, %v", b, err)
	}
	o.Bind = BindShare
	if _, err := o.bindPEs(machines["one"], &surroundings{}); err == nil {
		t.Error("processors are not known, and PEs are to be bound")
	}
}

// TestAnnounce: jobs see each other as long as they are there, and no others' names.
func TestAnnounce(t *testing.T) {
	prefix := fmt.Sprintf("@libshmem/test/%d/", os.Getpid())
	first, alone, err := announce(prefix)
	if err != nil || !alone {
		t.Fatalf("the first job: alone %v, %v", alone, err)
	}
	second, alone, err := announce(prefix)
	if err != nil || alone {
		t.Errorf("the second job: alone %v, %v", alone, err)
	}
	if other, alone, err := announce(prefix + "other/"); err != nil || !alone {
		t.Errorf("a job of another kind: alone %v, %v", alone, err)
	} else {
		other.Close()
	}
	flags, err := unix.FcntlInt(uintptr(second.fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("PEs would inherit the socket: flags %d, %v", flags, err)
	}
	first.Close()
	third, alone, err := announce(prefix)
	if err != nil || alone {
		t.Errorf("the third job, beside the second: alone %v, %v", alone, err)
	}
	second.Close()
	third.Close()
	last, alone, err := announce(prefix)
	if err != nil || !alone {
		t.Errorf("after all others: alone %v, %v", alone, err)
	}
	last.Close()
}

// TestLook: the control group's limit is not known where the user has set GOMAXPROCS.
func TestLook(t *testing.T) {
	at := readSurroundings([]string{"GOMAXPROCS=1"}, true)
	if at.quota != 0 || !at.alone || at.allowed != topo.Allowed() {
		t.Errorf("%+v", at)
	}
	if at = readSurroundings(nil, false); at.quota < 1 || at.alone {
		t.Errorf("%+v", at)
	}
}
