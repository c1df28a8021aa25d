package launch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"libshmem/runtime/topo"
)

func TestPlacement(t *testing.T) {
	for _, c := range []struct {
		pes   int
		hosts string
		how   Map
		want  []int
	}{
		{3, "", Block, nil},
		{4, "1", Block, []int{0, 0, 0, 0}},
		{4, "2", Block, []int{0, 0, 1, 1}},
		{5, "2", Block, []int{0, 0, 0, 1, 1}},
		{8, "3", Block, []int{0, 0, 0, 1, 1, 1, 2, 2}},
		{5, "2", Cyclic, []int{0, 1, 0, 1, 0}},
		{4, "3,1", Block, []int{0, 0, 0, 1}},
		{4, "3,1", Cyclic, []int{0, 1, 0, 0}},
		{6, "1,3,2", Cyclic, []int{0, 1, 2, 1, 2, 1}},
		{0, "1,2", Block, []int{0, 1, 1}},
	} {
		o := Options{PEs: c.pes, Hosts: c.hosts, Map: c.how, Program: "x"}
		if err := o.Validate(); err != nil {
			t.Errorf("%d PEs, hosts %q, %s: %v", c.pes, c.hosts, c.how, err)
		} else if !slices.Equal(o.hostOf, c.want) {
			t.Errorf("%d PEs, hosts %q, %s: %v, want %v", c.pes, c.hosts, c.how, o.hostOf, c.want)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Map: Block, Program: "x"}, "-n 0"},
		{Options{PEs: -1, Map: Block, Program: "x"}, "-n -1"},
		{Options{PEs: maxPEs + 1, Map: Block, Program: "x"}, "is 1 to 4096"},
		{Options{PEs: 1, Map: Block}, "no program"},
		{Options{PEs: 1, Map: "round", Program: "x"}, "say block or cyclic"},
		{Options{PEs: 2, Map: Block, Program: "x", Bind: "socket"}, "--bind=socket: no such binding (say auto, none, share, core or numa)"},
		{Options{PEs: 2, Map: Block, Program: "x", Netns: true}, "add --hosts"},
		{Options{PEs: 2, Map: Block, Program: "x", Hosts: "3"}, "only 2 PEs"},
		{Options{PEs: 2, Map: Block, Program: "x", Hosts: "0"}, `"0" is not a number`},
		{Options{PEs: 2, Map: Block, Program: "x", Hosts: "1,"}, `"" is not a number`},
		{Options{PEs: 2, Map: Block, Program: "x", Hosts: "a"}, `"a" is not a number`},
		{Options{PEs: 3, Map: Block, Program: "x", Hosts: "1,1"}, "add up to 2"},
		{Options{PEs: 0, Map: Block, Program: "x", Hosts: "2"}, "-n 0"},
		{Options{PEs: 1, Map: Block, Program: "x", Timeout: -1}, "negative"},
	} {
		err := c.o.Validate()
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Status != StatusUsage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want a usage error with %q", c.o, err, c.want)
		}
	}
}

func TestEnviron(t *testing.T) {
	o := &Options{
		PEs: 2, LibDir: "/p/lib", hosts: 2, hostOf: []int{0, 1}, Bind: BindAuto,
		Env: []string{"A=1", "SHMEM_LAUNCHER_HOSTS=9", "SHMEM_LAUNCHER_PE=7", "SHMEM_HOST_ID=user", "LD_LIBRARY_PATH=/old", "B=2", "A=3", "SHMEM_LAUNCHER_CPUS=5", "SHMEM_LAUNCHER_HELPERS=6"},
	}
	got := newEnviron(o, &binding{}).pe(1, 1, 9, 1)
	want := []string{
		"A=3", "B=2", "LD_LIBRARY_PATH=/p/lib:/old", "SHMEM_LAUNCHER_HOSTS=2", "SHMEM_LAUNCHER_BIND=auto", "SHMEM_LAUNCHER_BINDING=",
		"SHMEM_LAUNCHER_FD=9", "SHMEM_LAUNCHER_PE=1", "SHMEM_LAUNCHER_NPES=2", "SHMEM_HOST_ID=host1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	bound := &binding{cpus: []topo.Set{topo.NewSet(0), topo.NewSet(1)}, helpers: topo.NewSet(2, 3), remark: "bound"}
	got = newEnviron(o, bound).pe(1, 1, 9, 1)
	for _, want := range []string{"SHMEM_LAUNCHER_CPUS=1", "SHMEM_LAUNCHER_HELPERS=2-3", "SHMEM_LAUNCHER_BINDING=bound"} {
		if !slices.Contains(got, want) {
			t.Errorf("without %s: %q", want, got)
		}
	}
	o = &Options{PEs: 1, LibDir: "/p/lib", Env: []string{"LD_LIBRARY_PATH=", "SHMEM_HOST_ID=user", "SHMEM_LAUNCHER_HOSTS=9"}}
	got = newEnviron(o, &binding{}).pe(0, 0, 3, -1)
	if !slices.Contains(got, "LD_LIBRARY_PATH=/p/lib") || !slices.Contains(got, "SHMEM_HOST_ID=user") || slices.Contains(got, "SHMEM_LAUNCHER_HOSTS=9") {
		t.Errorf("without an old path and simulated hosts: %q", got)
	}
	o = &Options{PEs: 1, Env: []string{"LD_LIBRARY_PATH=/old"}}
	if got := newEnviron(o, &binding{}).pe(0, 0, 3, -1); !slices.Contains(got, "LD_LIBRARY_PATH=/old") {
		t.Errorf("without a library beside shmemrun: %q", got)
	}
}
