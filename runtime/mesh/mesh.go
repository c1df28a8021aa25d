package mesh

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/fabric/chaos"
	"libshmem/fabric/ofi"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/gpu/gpudirect"
	"libshmem/runtime/guard"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/mrcache/memmonitor"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/fifo"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/loop"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
	"libshmem/runtime/shmerr"
)

// Options are the arguments of Open. A member is a process of the mesh.
type Options struct {
	Member   int           // its number, from 0
	Members  int           // how many numbers members may ever have, the same for all members
	Secret   []byte        // the same for all members; at least 16 bytes
	Contexts int           // communication contexts to open; 0: one
	Timeout  time.Duration // how long a member may take to answer, before it counts as lost; 0: 10 s

	Provider string // libfabric's provider; "": the best that works here
	NICs     string // comma separated; "": any
	Library  string // file of libfabric; "": searched
	// Pick chooses among several NICs, of which the mesh uses the first; nil: the first of all.
	Pick func([]ofi.NIC) ([]int, error)

	// GPUs says that regions may be GPU memory: of other members or, if GPU is set, of this
	// one. The contexts then share one order.
	GPUs bool
	// GPU is the GPU of this member; nil: it has none. The mesh closes it, also if Open fails.
	GPU *GPU

	// Source submits operations without calls of the mesh; nil: none.
	Source Source

	// Log gets a line for each failure that no call returns, and one that says how NICs reach GPU
	// memory, or why none does; nil: nothing is logged.
	Log   func(text string)
	Chaos *chaos.Plan // faults of the network; nil: there are none
	// Open opens the provider; nil: libfabric's. It is for tests.
	Open func(fabric.Config) (fabric.Provider, error)
}

// Limits and defaults of Options.
const (
	MaxMembers     = 1 << 16
	MaxContexts    = 1023
	MinSecret      = 16
	defaultTimeout = 10 * time.Second
)

// ErrClosed is the kind of errors about a region or a mesh that has been closed.
var ErrClosed = errors.New("it is closed")

// internal is the size in bytes of an engine's internal area: a flush reads a word of it (flushed).
// All other memory of a mesh is regions.
const internal = 4096

// atomicsLock makes signals on GPU memory atomic with those of other meshes of this process, which
// may have the same memory.
var atomicsLock gpustage.AtomicsLock

// Mesh is one member's state of a mesh: this process's.
type Mesh struct {
	e        *proxy.Engine
	loop     *loop.Loop
	stage    *gpustage.Stage   // nil: no region is GPU memory
	gpu      *GPU              // of this member; nil: it has none
	access   *gpudirect.Access // of NICs to memory of gpu; nil: they have none
	segment  []byte
	contexts []*proxy.Engine

	me, maxMembers int
	instance       uint64
	address        []byte
	blobKey        [32]byte
	timeout        time.Duration
	log            func(string)
	maxPart        uint64 // bytes of the largest put or get that is one operation of the engine

	// Under the engine's lock:
	members []*member          // by number; nil: not added
	busy    []*member          // those with work for advance
	regions []*Region          // of this member, by number; nil: none
	uses    uint32             // regions registered so far
	ending  []*Request         // that close regions
	inbox   fifo.Queue[letter] // messages that have arrived and were not received
	source  Source             // of operations that other threads submit; nil: none
	worked  moment             // time of the proxy's last work; only with a source
	left    []*member          // members that leave, since the last advance
	losses  []loss             // members that the engine has reported as lost or at fault since the last advance
	noted   string             // the last line that reach has logged
	closing bool

	failed atomic.Pointer[error] // why no operation can go on; nil: it can
	closed atomic.Bool
}

// newHash returns the hash function of the proofs in blobs.
func newHash() hash.Hash { return sha256.New() }

// check sets the defaults of Options, and returns an error for options that are not possible.
func (o *Options) check() error {
	if o.Contexts == 0 {
		o.Contexts = 1
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	switch {
	case o.Members < 1 || o.Members > MaxMembers:
		return shmerr.Causef(shmerr.ErrArgument, "a mesh for %d members cannot be (state 1 to %d)", o.Members, MaxMembers)
	case o.Member < 0 || o.Member >= o.Members:
		return shmerr.Causef(shmerr.ErrPE, "member %d is not one of %d (count from 0)", o.Member, o.Members)
	case len(o.Secret) < MinSecret:
		return shmerr.Causef(shmerr.ErrArgument, "the secret has %d bytes (give %d random ones or more)", len(o.Secret), MinSecret)
	case o.Contexts < 1 || o.Contexts > MaxContexts:
		return shmerr.Causef(shmerr.ErrArgument, "%d contexts cannot be (ask for 1 to %d)", o.Contexts, MaxContexts)
	case o.Timeout < 0:
		return shmerr.Causef(shmerr.ErrArgument, "the timeout %v is negative", o.Timeout)
	}
	return nil
}

// Open opens a mesh with one member, this one.
func Open(o Options) (m *Mesh, err error) {
	defer func() {
		if err != nil {
			err = &shmerr.Error{Op: "open", Object: "mesh", Cause: err}
		}
	}()
	unused := o.GPU // the GPU that Open has to close after an error: until the mesh owns it
	defer func() {
		if err != nil {
			err = errors.Join(err, unused.Close())
		}
	}()
	if err := o.check(); err != nil {
		return nil, err
	}
	root := secret.Secret(sha256.Sum256(append([]byte("libshmem mesh\n"), o.Secret...)))
	cfg := proxy.ProviderConfig(o.Members)
	cfg.Provider, cfg.NICs, cfg.Library, cfg.Late = o.Provider, o.NICs, o.Library, o.Timeout
	cfg.Key = root.Key("connections of a mesh")
	cfg.GPU = o.GPU != nil && o.GPU.NICs != nil
	open := o.Open
	if open == nil {
		open = func(c fabric.Config) (fabric.Provider, error) { return ofi.OpenPicked(c, o.Pick) }
	}
	prov, err := chaos.Open(open, cfg, o.Chaos, false) // false: it does not end this process
	if err != nil {
		return nil, err
	}
	segment, err := unix.Mmap(-1, 0, internal, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map %d bytes: %w", internal, err), prov.Close())
	}
	m = &Mesh{
		segment: segment, me: o.Member, maxMembers: o.Members, instance: random(), blobKey: root.Key("blobs of a mesh"), timeout: o.Timeout, log: o.Log,
		members: make([]*member, o.Members), source: o.Source,
	}
	words := new([6]uint32)
	wakers := wake.Words{Lock: &words[0], Pollers: &words[1], Napping: &words[2], Sleepers: &words[3], Wakes: &words[4], Wanted: &words[5]}
	m.e, err = proxy.New(prov, o.Member, o.Members, mem.Segment{Base: unsafe.Pointer(&segment[0]), Internal: internal, Size: internal}, wakers, m.fail)
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(segment))
	}
	m.e.OnLost(m.noteLost)
	m.e.UseRegions(m.handleMessage, m.noteMisuse)
	m.gpu, unused = o.GPU, nil
	if err := m.stageGPU(o.GPUs); err != nil {
		return nil, errors.Join(err, m.end())
	}
	if err := m.connect(&root, o.Contexts); err != nil {
		return nil, errors.Join(err, m.end())
	}
	m.loop = loop.New(&driver{m.e, m})
	guard.GoPolling("the proxy of a mesh", m.loop.Run)
	return m, nil
}

// stageGPU makes the engine's GPU stage, which moves bytes of GPU memory through pinned memory, if
// any region may be GPU memory. The stage closes Memory of this member's GPU.
func (m *Mesh) stageGPU(gpus bool) (err error) {
	if !gpus && m.gpu == nil {
		return nil
	}
	var memory stream.Memory
	if m.gpu != nil {
		memory = m.gpu.Memory
	}
	if m.stage, err = gpustage.New(m.e.Host(), memory, gpustage.Config{Lock: &atomicsLock}); err == nil {
		m.e.Use(m.stage)
		m.prepareNICs()
	}
	return err
}

// end closes the engine, then the GPU that its stage used, and frees the engine's memory.
func (m *Mesh) end() error {
	return errors.Join(m.e.Close(), m.gpu.release(), unix.Munmap(m.segment))
}

// connect prepares the engine for other members, whose addresses Add passes to it later. It derives
// from the secret the number that messages of the mesh carry and, over sockets, the key of their
// seals. It connects the engine to itself, opens the contexts, and makes the blob of Address.
func (m *Mesh) connect(root *secret.Secret, contexts int) error {
	if caps := m.e.Caps(); caps.LocalMR {
		m.keepRegistered()
	}
	m.e.Report.ReportTo(func(err error) { m.log(err.Error()) })
	endpoints := make([]proxy.Endpoint, m.maxMembers)
	endpoint := m.e.Endpoint()
	endpoints[m.me] = endpoint
	endpoints[0].Job = root.Number("messages of a mesh")
	if fabric.OverSockets(m.e.Caps().Provider) {
		endpoints[0].Seal = root.SealKey("seals of a mesh")
	}
	if err := m.e.Connect(endpoints); err != nil {
		return err
	}
	if m.stage != nil {
		// A member has no heap on a GPU, only regions. Their owners apply all atomic operations.
		gpus := make([]gpustage.Endpoint, m.maxMembers)
		for i := range gpus {
			gpus[i].Atomics = stream.AllAtomics | stream.OwnerAlone
		}
		m.stage.Connect(gpus)
	}
	m.maxPart = m.e.PutMax()
	if err := m.openContexts(contexts); err != nil {
		return err
	}
	m.members[m.me] = &member{number: m.me, instance: m.instance, gpu: m.stage != nil}
	b := addressBlob{
		Member: uint32(m.me), Members: uint32(m.maxMembers), Window: endpoint.Window, Instance: m.instance,
		Provider: m.e.Caps().Provider, Addr: string(endpoint.Addr),
	}
	if m.stage != nil {
		b.GPU = 1
	}
	m.address = m.sealAddress(&b)
	return nil
}

// openContexts opens n more contexts.
func (m *Mesh) openContexts(n int) error {
	for range n {
		number, err := m.e.OpenContext(uint32(len(m.contexts)))
		if err != nil {
			return err
		}
		m.contexts = append(m.contexts, m.e.Context(number))
	}
	return nil
}

// AddContexts opens n more contexts, and returns the number of the first.
func (m *Mesh) AddContexts(n int) (first int, err error) {
	err = m.locked(func() error {
		if first = len(m.contexts); n < 1 || n > MaxContexts-first {
			return shmerr.Causef(shmerr.ErrArgument, "there are %d, and may be %d", first, MaxContexts)
		}
		return m.openContexts(n)
	})
	if err != nil {
		return 0, &shmerr.Error{Op: "open", Object: fmt.Sprintf("%d contexts", n), Cause: err}
	}
	return first, nil
}

// Bounds of the registration cache, in bytes and regions: those of a job (runtime/job/network).
const cacheBytes, cacheRegions = 1 << 30, 1024

// keepRegistered makes the engine keep the buffers of operations registered, if the kernel can
// report when the program unmaps one. Otherwise each operation registers its buffer.
func (m *Mesh) keepRegistered() {
	if w, err := memmonitor.Open(); err == nil {
		m.e.KeepRegistered(w, mrcache.Limits{Bytes: cacheBytes, Regions: cacheRegions})
	} else {
		m.log("buffers are registered for each operation: " + err.Error())
	}
}

// random returns a random number.
func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint64(b[:])
}

// Member returns this member's number.
func (m *Mesh) Member() int { return m.me }

// fail makes all later calls of the mesh return err, an error that concerns no single member, and
// logs it. The engine calls it with or without its lock.
func (m *Mesh) fail(err error) {
	err = &shmerr.Error{Op: "drive", Object: "mesh", Cause: fmt.Errorf("%w: no operation can go on", err), Remedy: "close the mesh, and open another"}
	if m.failed.CompareAndSwap(nil, &err) {
		m.log(err.Error())
		if m.source != nil {
			m.source.Fail(err)
		}
	}
}

// usable returns why the mesh cannot be used, or nil.
func (m *Mesh) usable() error {
	if m.closed.Load() {
		return shmerr.Causef(ErrClosed, "the mesh is closed")
	}
	if err := m.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// locked calls f with the engine's lock held and returns its error, unless the mesh cannot be used:
// then it returns why. It checks that again with the lock, because Close may have had the lock.
func (m *Mesh) locked(f func() error) (err error) {
	if err := m.usable(); err != nil {
		return err
	}
	m.e.WithLock(func() {
		if err = m.usable(); err == nil {
			err = f()
		}
	})
	return err
}

// Close leaves the mesh. It posts the operations that were begun, informs the other members, and
// waits until these have applied what was sent to them, for at most the timeout of the mesh.
// Requests under way end with an error.
func (m *Mesh) Close() error {
	if m.closed.Load() {
		return nil
	}
	m.e.WithLock(func() {
		m.poll() // the operations of a source begin before the mesh closes
		m.closing = true
	})
	for until := time.Now().Add(m.timeout); m.failed.Load() == nil && time.Now().Before(until); time.Sleep(100 * time.Microsecond) {
		gone := false
		m.e.WithLock(func() {
			m.poll()
			gone = m.allPosted() && m.e.Leave() && m.tryLeave()
		})
		if gone {
			break
		}
	}
	if m.closed.Swap(true) { // another call of Close was faster
		return nil
	}
	m.loop.Stop()
	var open []*Request
	why := shmerr.Causef(ErrClosed, "the mesh is closed")
	m.e.WithLock(func() {
		for _, p := range m.members {
			if p != nil {
				m.setAbsent(p, why)
				open = append(open, p.open...)
			}
		}
	})
	err := m.end()
	for _, r := range open { // nothing uses their memory any more
		if !r.done.Load() {
			r.fail(why)
			r.end()
		}
	}
	if m.source != nil {
		m.source.Fail(why)
	}
	return err
}

// allPosted reports whether the engine has all operations on the members that are present: none
// waits in a member's queue. Before that Close must not call Engine.Leave, which sends each member
// a last flush and waits for the reply: the reply says nothing about operations that are posted
// after the flush. Like tryLeave it leaves out members with which this one has not communicated:
// they may never come.
func (m *Mesh) allPosted() bool {
	for _, p := range m.busy {
		if p.state == present && p.contacted && len(p.queue) > 0 {
			return false
		}
	}
	return true
}

// tryLeave sends each other member a message that this one leaves, once, and reports whether all
// have replied: a member that has replied is absent. It leaves out members with which this one has
// not communicated, unless messages of the program for them have not been sent.
func (m *Mesh) tryLeave() bool {
	all := true
	for _, p := range m.members {
		if p == nil || p.state != present || p.number == m.me || !p.contacted && !p.hasTextToSend() {
			continue
		}
		if !p.informed {
			p.informed = true
			m.queueMessage(p, message{kind: leave})
		}
		all = false
	}
	return all
}
