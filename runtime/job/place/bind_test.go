package place

import (
	"io"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem/runtime/config"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/topo"
	"libshmem/tests/need"
)

// TestBindThread: the thread is bound to the near node, within the processors that it may use, and
// gets its former processors back.
func TestBindThread(t *testing.T) {
	runtime.LockOSThread()
	all := topo.Allowed()
	need.Processors(t, all.Count(), 2)
	one, other := topo.NewSet(all.List()[0]), topo.NewSet(all.List()[1:]...)
	m := &topo.Machine{
		CPUs: all, Packages: []topo.Set{one, other}, Nodes: []topo.Node{{Number: 0, CPUs: one}, {Number: 1, CPUs: other}},
		Devices: []topo.Device{
			{Kind: topo.RDMA, Names: []string{"near"}, Place: topo.Place{CPUs: one}},
			{Kind: topo.RDMA, Names: []string{"nowhere"}},
		},
	}
	if err := setAffinity(0, all); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := setAffinity(0, all); err != nil {
			t.Error(err)
		}
	}()
	bind := func(how config.Bind, nic string) (topo.Set, topo.Set) {
		at := &Place{Bind: how}
		var err error
		if at.Log, err = shmlog.Open(&config.Config{Bind: how}, io.Discard); err != nil {
			t.Fatal(err)
		}
		at.bindThread(m, nic)
		during := topo.Allowed()
		at.Unbind()
		return during, topo.Allowed()
	}
	for _, how := range []config.Bind{config.BindPE, config.BindAuto} {
		if during, after := bind(how, "near"); during != one || after != all {
			t.Errorf("%v: bound to %v, then to %v", how, during, after)
		}
		if during, after := bind(how, "nowhere"); during != all || after != all {
			t.Errorf("%v: no place, and bound to %v, then to %v", how, during, after)
		}
	}
	if err := setAffinity(0, other); err != nil {
		t.Fatal(err)
	}
	m.Devices = append(m.Devices, topo.Device{Kind: topo.GPU, PCI: "0000:17:00.0", Place: topo.Place{CPUs: one}})
	for _, c := range []struct {
		launched Launched
		want     topo.Set
	}{
		{Launched{}, other},
		{Launched{Own: other}, other},
		{Launched{Own: other, Default: true}, one},
		{Launched{Own: one, Default: true}, other},
	} {
		at := &Place{Bind: config.BindAuto, GPU: "0000:17:00.0", Launched: c.launched}
		var err error
		if at.Log, err = shmlog.Open(&config.Config{}, io.Discard); err != nil {
			t.Fatal(err)
		}
		at.bindThread(m, "")
		if got := topo.Allowed(); got != c.want {
			t.Errorf("%+v, far from the GPU: bound to %v, want %v", c.launched, got, c.want)
		}
		at.Unbind()
		if got := topo.Allowed(); got != other {
			t.Errorf("%+v: afterwards on %v", c.launched, got)
		}
	}
	for _, how := range []config.Bind{config.BindPE, config.BindAuto} {
		if during, _ := bind(how, "near"); during != other {
			t.Errorf("%v: a mask that was set is now %v", how, during)
		}
	}
}

func TestMayBind(t *testing.T) {
	for _, c := range []struct {
		how     config.Bind
		gpu     bool
		sharing int
		want    bool
	}{
		{config.BindAuto, true, 2, true},
		{config.BindAuto, true, 1, false},
		{config.BindAuto, false, 2, false},
		{config.BindOff, true, 2, false},
		{config.BindProxy, true, 2, false},
		{config.BindPE, false, 1, true},
	} {
		at := &Place{Bind: c.how, Sharing: c.sharing}
		if got := at.mayBind(c.gpu); got != c.want {
			t.Errorf("%v, GPU %v, %d PEs: %v", c.how, c.gpu, c.sharing, got)
		}
	}
}

// proxy stores its processors.
type proxy struct{ cpus []int }

func (p *proxy) Bind(cpus []int) { p.cpus = cpus }

// TestForProxy: a proxy may use the processors that shmemrun has left over, and of all that it may
// use those near to the NIC.
func TestForProxy(t *testing.T) {
	set := func(text string) topo.Set {
		s, err := topo.ParseSet(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct{ name, own, helpers, allowed, near, want string }{
		{"shmemrun has bound nothing", "", "", "0-7", "", ""},
		{"near to the NIC", "", "", "0-7", "4-7", "4-7"},
		{"near to the NIC, within a mask", "", "", "2-5", "4-7", "4-5"},
		{"the NIC is near to other processors than the mask's", "", "", "0-1", "4-7", ""},
		{"no processor is left over", "0", "", "0", "", ""},
		{"a processor is left over", "0", "7", "0", "", "0,7"},
		{"one of two that are left over is near to the NIC", "0", "3,7", "0", "4-7", "7"},
		{"all that are left over are far from the NIC", "4", "3", "4", "4-7", "3-4"},
		{"the program has another mask", "0", "7", "1", "", ""},
	} {
		p := &Place{Launched: Launched{Own: set(c.own), Helpers: set(c.helpers)}}
		if got := p.forProxy(set(c.allowed), set(c.near)); got != set(c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestBindHelpers: threads with the PE's processors may use those that are left over, the calling
// thread and threads with others stay as they are.
func TestBindHelpers(t *testing.T) {
	runtime.LockOSThread()
	all := topo.Allowed()
	need.Processors(t, all.Count(), 2)
	own, left := topo.NewSet(all.List()[0]), topo.NewSet(all.List()[1:]...)
	defer func() {
		if err := setAffinity(0, all); err != nil {
			t.Error(err)
		}
	}()
	ended := make(chan struct{})
	defer close(ended)
	var thread func(cpus topo.Set) int
	thread = func(cpus topo.Set) int {
		tid := make(chan int)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with its binding
			if unix.Gettid() == unix.Getpid() {
				tid <- thread(cpus) // the first thread is the program's and no helper; it is kept busy here
				<-ended
				return
			}
			if err := setAffinity(0, cpus); err != nil {
				t.Error(err)
			}
			tid <- unix.Gettid()
			<-ended
		}()
		return <-tid
	}
	helper, other := thread(own), thread(left)
	if err := setAffinity(0, own); err != nil {
		t.Fatal(err)
	}
	at := &Place{Launched: Launched{Own: own, Helpers: left}}
	var err error
	if at.Log, err = shmlog.Open(&config.Config{}, io.Discard); err != nil {
		t.Fatal(err)
	}
	at.Bind = config.BindOff
	at.BindHelpers()
	if got := topo.AllowedTo(helper); got != own {
		t.Errorf("SHMEM_BIND=off: a helper has %s", got)
	}
	at.Bind = config.BindAuto
	at.BindHelpers()
	if got := topo.AllowedTo(helper); got != all {
		t.Errorf("a helper has %s, want %s", got, all)
	}
	if got := topo.AllowedTo(other); got != left {
		t.Errorf("a thread with other processors has %s, want %s", got, left)
	}
	if got := topo.Allowed(); got != own {
		t.Errorf("the calling thread has %s, want %s", got, own)
	}
	var l proxy
	at.BindProxy(&l, "", 0)
	if topo.OneNode("") && !slices.Equal(l.cpus, all.List()) {
		t.Errorf("a proxy has %d, want %d", l.cpus, all.List())
	}
	l.cpus, at.Bind = nil, config.BindOff
	if at.BindProxy(&l, "", 0); l.cpus != nil {
		t.Errorf("SHMEM_BIND=off: a proxy has %d", l.cpus)
	}
}

// TestReadLaunched: what shmemrun writes is read, and nothing else.
func TestReadLaunched(t *testing.T) {
	l, err := ReadLaunched(&config.LauncherConfig{CPUs: "0-1", Helpers: "6,8", Bind: "auto"})
	if err != nil || l.Own != topo.NewSet(0, 1) || l.Helpers != topo.NewSet(6, 8) || !l.Default {
		t.Errorf("%+v, %v", l, err)
	}
	for _, c := range []config.LauncherConfig{{CPUs: "x"}, {CPUs: "1", Helpers: "1-"}} {
		if _, err := ReadLaunched(&c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
