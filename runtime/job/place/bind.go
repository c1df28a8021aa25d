package place

import (
	"cmp"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"libshmem/runtime/config"
	"libshmem/runtime/topo"
)

// near returns the processors near to this PE's GPU, or otherwise to the NIC, and a text that names
// that device. They are empty if the machine has one NUMA node or does not say.
func (p *Place) near(m *topo.Machine, nic string) (topo.Set, string) {
	name, device := "NIC "+nic, m.Find("", nic)
	if p.GPU != "" {
		name, device = "GPU "+p.GPU, m.Find(p.GPU, "")
	}
	if device == nil {
		return "", ""
	}
	node := m.Near(device.Place)
	if node == nil {
		return "", ""
	}
	return node.CPUs, fmt.Sprintf("NUMA node %d, where %s is", node.Number, name)
}

// Launched are processors that shmemrun has chosen.
type Launched struct {
	Own     topo.Set // to which shmemrun has bound this PE; empty: to none
	Helpers topo.Set // to which shmemrun has bound no PE, for the library's own threads
	Default bool     // shmemrun binds by default, and not because an option says so
}

// ReadLaunched parses the processors that shmemrun has chosen, from its variables.
func ReadLaunched(c *config.LauncherConfig) (l Launched, err error) {
	l.Default = c.Bind == "auto"
	if l.Own, err = topo.ParseSet(c.CPUs); err == nil {
		l.Helpers, err = topo.ParseSet(c.Helpers)
	}
	if err != nil {
		err = fmt.Errorf("read processors of this PE from shmemrun: %w (start the program with shmemrun)", err)
	}
	return l, err
}

// helperSet returns the processors for a thread of the library; allowed are those that it may use
// now. If shmemrun has bound the PE and left processors over (Helpers), it adds those: a PE that
// polls on its only processor leaves no time for other threads there. It adds nothing if the
// program or a wrapper has changed the thread's processors since.
func (l *Launched) helperSet(allowed topo.Set) topo.Set {
	if l.Own == "" || allowed != l.Own {
		return allowed
	}
	return allowed.Or(l.Helpers)
}

// binder is the loop of a proxy, which BindProxy binds.
type binder interface{ Bind(cpus []int) }

// BindProxy binds the thread of the i-th proxy to the processors near to this PE's GPU, or else
// near to the NIC. On a machine of one NUMA node all are near.
func (p *Place) BindProxy(l binder, nic string, i int) {
	if p.Bind == config.BindOff {
		return
	}
	var near topo.Set
	var where string
	if !topo.OneNode("") {
		m, _ := Machine() // after an error nothing is near
		near, where = p.near(m, nic)
	}
	if cpus := p.forProxy(topo.Allowed(), near); cpus != "" {
		l.Bind(cpus.List())
		p.Log.Printf("proxy", config.LogDebug, "proxy %d keeps to processors %s (near: %s)", i, cpus, cmp.Or(where, "not known"))
	}
}

// forProxy returns the processors to which a proxy's thread is to be bound. Of those that it may use
// (helperSet), these are the ones near the GPU or the NIC. If there are none, or if all of them are
// the PE's own, on which the program computes, it returns all that the thread may use. allowed is
// the set to which the thread is bound now; the result is "" if that need not change.
func (p *Place) forProxy(allowed, near topo.Set) topo.Set {
	set := p.Launched.helperSet(allowed)
	if both := set.And(near); both.Minus(p.Launched.Own) != "" {
		set = both // not if these are only the PE's own processors, on which it computes
	}
	if set == allowed {
		return ""
	}
	return set
}

// BindHelpers lets the other threads of this process, which so far are the library's own, use the
// processors that shmemrun has left over. Threads that the program starts from its bound thread
// stay on the PE's processors.
func (p *Place) BindHelpers() {
	if p.Bind == config.BindOff || p.Launched.Own == "" || p.Launched.Helpers == "" {
		return
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		p.Log.Printf("pe", config.LogDebug, "list threads: %v (they keep to the PE's processors)", err)
		return
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil || tid == unix.Gettid() || tid == unix.Getpid() { // the program's own threads
			continue
		}
		if has := topo.AllowedTo(tid); has == p.Launched.Own {
			_ = setAffinity(tid, p.Launched.helperSet(has)) // the thread may have ended
		}
	}
}

// BindPE binds the thread that initialises the library to the processors near to this PE's GPU, or
// else near to a NIC, if the settings allow that. It is called after the proxies are bound, because
// they read the processors that this thread may use.
func (p *Place) BindPE(nic string) {
	if p.mayBind(p.GPU != "") && !topo.OneNode("") {
		m, _ := Machine() // after an error nothing is near
		p.bindThread(m, nic)
	}
}

// mayBind reports whether BindPE may bind this PE's thread. Without SHMEM_BIND=pe it does so only
// for a PE with a GPU that shares the machine with others: a PE that is alone may be meant to use
// the whole machine, and without a GPU the launcher knows better.
func (p *Place) mayBind(hasGPU bool) bool {
	return p.Bind == config.BindPE || p.Bind == config.BindAuto && hasGPU && p.Sharing > 1
}

// bindThread binds the calling thread to the processors near to this PE's GPU, or else near to the
// NIC, unless it is bound already or may use no others.
func (p *Place) bindThread(m *topo.Machine, nic string) {
	near, where := p.near(m, nic)
	before := topo.Allowed()
	allowed := before
	if l := &p.Launched; l.Default && allowed == l.Own && p.GPU != "" && near.And(allowed) == "" {
		allowed = m.CPUs // shmemrun did not know the GPU, and binds so only if it may use every processor
	}
	if p.Bind == config.BindAuto && !m.CPUs.Within(allowed) {
		return // it is bound already
	}
	both := near.And(allowed)
	if both == "" || both == allowed {
		return
	}
	p.bound = binding{tid: unix.Gettid(), before: before}
	if err := setAffinity(p.bound.tid, both); err != nil {
		p.bound = binding{}
		p.Log.Printf("pe", config.LogInfo, "bind PE: %v", err)
		return
	}
	p.Log.Printf("pe", config.LogInfo, "this thread keeps to %d processors of %s (SHMEM_BIND=off leaves it as it was)", both.Count(), where)
}

// binding records the change that BindPE has made, for Unbind.
type binding struct {
	tid    int      // of the thread; 0: nothing was bound
	before topo.Set // the processors that it could use before
}

// Unbind restores the processors that the thread could use before BindPE, if the thread still
// exists.
func (p *Place) Unbind() {
	if p.bound.tid != 0 {
		_ = setAffinity(p.bound.tid, p.bound.before) // the thread may have ended
		p.bound = binding{}
	}
}

// setAffinity binds a thread to processors.
func setAffinity(tid int, cpus topo.Set) error {
	var set unix.CPUSet
	for _, cpu := range cpus.List() {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(tid, &set)
}
