package ofi

/*
#cgo noescape shmemi_ofi_poll
#cgo nocallback shmemi_ofi_poll
#cgo noescape shmemi_ofi_poll_all
#cgo nocallback shmemi_ofi_poll_all
#cgo nocallback shmemi_ofi_arm
#cgo nocallback shmemi_ofi_recv
#cgo nocallback shmemi_ofi_send
#cgo nocallback shmemi_ofi_write
#cgo nocallback shmemi_ofi_read
#include <stdlib.h>
#include "endpoint.h"
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// endpoint is a fabric.Provider on one libfabric endpoint.
type endpoint struct {
	c     *C.struct_shmemi_ofi
	caps  fabric.Caps
	addr  []byte
	ip    bool // addresses are struct sockaddr
	named bool // addresses are strings, which end with a byte of 0

	version string // of libfabric
	noGPU   error  // why GPU memory cannot be registered; nil: it can
	notes   []string

	regions []*C.struct_fid_mr // by Region.ID; nil where none is registered now

	links *links // the connections that this package makes; nil: the provider is used without them
}

var (
	_ fabric.Atomics        = (*endpoint)(nil)
	_ fabric.BelatedCounter = (*endpoint)(nil)
	_ fabric.Sleeper        = (*endpoint)(nil)
	_ fabric.Noter          = (*endpoint)(nil)
)

// Open loads libfabric, chooses a provider and a NIC, and opens an endpoint on it.
func Open(cfg fabric.Config) (fabric.Provider, error) { return OpenPicked(cfg, nil) }

// OpenPicked is Open, but the NIC is the first that pick returns, as Hints.Pick does.
func OpenPicked(cfg fabric.Config, pick func([]NIC) ([]int, error)) (fabric.Provider, error) {
	c, err := Choose(cfg.Library, Hints{Provider: cfg.Provider, Fabric: cfg.Fabric, NICs: cfg.NICs, GPU: cfg.GPU, Pick: pick})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	endpoints, err := c.firstNIC().Open(cfg) // one NIC, so one endpoint
	if err != nil {
		return nil, err
	}
	return endpoints[0], nil
}

// open opens an endpoint on the NIC of an offer, with the features of cfg that the provider grants;
// the endpoint's Caps report which. It does not use the offer's info, but a copy.
func (l Library) open(o *offer, cfg fabric.Config) (fabric.Provider, error) {
	var info *C.struct_fi_info
	e := &endpoint{
		c: (*C.struct_shmemi_ofi)(C.calloc(1, C.sizeof_struct_shmemi_ofi)), version: l.Version,
		noGPU: shmerr.Causef(shmerr.ErrUnsupported, "the endpoint was opened without GPU memory"),
	}
	_, linked := connects(o.Provider)
	if cfg.GPU {
		info, e.noGPU = l.withGPU(o)
		e.notes = l.obstacleNotes(o, e.noGPU)
	}
	if info == nil {
		info = C.fi_dupinfo(o.info)
	}
	if info == nil || e.c == nil {
		if info != nil {
			C.fi_freeinfo(info)
		}
		C.free(unsafe.Pointer(e.c))
		return nil, &shmerr.Error{Op: "open", Object: "fabric", Cause: shmerr.ErrNoMemory}
	}
	if cfg.IfUnordered && granted(o, info).SendAfterWrite {
		cfg.Data, cfg.Fence = false, false
	}
	info = l.withExtras(info, o.Provider, &cfg)
	e.caps = granted(o, info)
	with := e.extras(info, &cfg)
	e.caps.GPU = e.noGPU == nil
	e.caps.DMABuf = e.caps.GPU && l.api >= withDMABuf && registersDMABuf(o.Provider)
	// If writes and messages keep their order, a message proves as much as delivery completions
	// would, and saves an acknowledgement for each write.
	if !e.caps.SendAfterWrite || !e.caps.WriteAfterWrite || cfg.Delivery {
		e.caps.DeliveryComplete = C.shmemi_ofi_can_deliver(l.api, info) != 0
	}
	if e.caps.DeliveryComplete {
		with |= C.WITH_DELIVERY
		// Over a socket each message would have an acknowledgement of its own, which takes a
		// quarter of a round trip more; and the kernel reports a lost interface only after a
		// quarter of an hour, so that the acknowledgements would be of little use.
		if e.caps.SendComplete = cfg.Delivery && !fabric.OverSockets(o.Provider); e.caps.SendComplete {
			with |= C.WITH_ARRIVAL
		}
	}
	object := "provider " + o.Provider + " on " + o.NIC
	tokens := cfg.Tokens
	if e.caps.RNRRetries {
		tokens += cfg.MoreRecv
	}
	own, arrivals := queueEntries(&cfg, &e.caps)
	if cfg.Blocks {
		with |= C.WITH_BLOCKS
	}
	if linked {
		with |= C.WITH_LINKS
	}
	ret := C.shmemi_ofi_open(e.c, info, C.uint32_t(tokens), C.uint32_t(own+arrivals), C.uint32_t(own), with)
	if ret == 0 {
		e.caps.Arrivals = int(e.c.queue) - own
		ret = e.openAtomics(&cfg)
	}
	if ret != 0 {
		call := C.GoString(e.c.failed)
		return nil, &shmerr.Error{
			Op: "open", Object: object, Cause: errors.Join(fmt.Errorf("%s: %w", call, fault(ret)), e.release()),
			Remedy: "name another provider in SHMEM_PROVIDER or another NIC in SHMEM_NIC_LIST; shmem-info --fabric lists both",
		}
	}
	if e.caps.WaitFD = e.c.queue_fd >= 0; !e.caps.WaitFD {
		e.note("no wait descriptor")
	}
	e.caps.Block = int(e.c.block)
	e.learnPeerToPeer()
	e.noteOptions()
	format := info.addr_format
	e.named = format == C.FI_ADDR_STR
	e.ip = format == C.FI_SOCKADDR || format == C.FI_SOCKADDR_IN || format == C.FI_SOCKADDR_IN6
	addr := make([]byte, 256)
	n := C.size_t(len(addr))
	if ret := C.shmemi_ofi_name(e.c, unsafe.Pointer(&addr[0]), &n); ret != 0 || int(n) > len(addr) {
		return nil, &shmerr.Error{Op: "open", Object: object, Cause: errors.Join(fmt.Errorf("fi_getname: %w", fault(ret)), e.release())}
	}
	if e.addr = addr[:n:n]; linked {
		e.openLinks(&cfg)
	}
	return e, nil
}

// queueEntries returns how many completions of this endpoint's tokens the completion queue has to
// hold, and how many further entries it needs for arrivals and further receive buffers
// (Caps.Arrivals).
func queueEntries(cfg *fabric.Config, caps *fabric.Caps) (own, arrivals int) {
	own = max(cfg.Queue, cfg.Tokens)
	if caps.Data > 0 {
		arrivals = cfg.Arrivals
	}
	if caps.RNRRetries {
		arrivals += cfg.MoreRecv
	}
	return own, arrivals
}

// orderedSize is the number of bytes up to which the bytes of operations must keep their order for
// that order to be of use; callers cut larger operations.
const orderedSize = 64 << 20

// granted returns the promises of an endpoint that libfabric grants with info.
func granted(o *offer, info *C.struct_fi_info) fabric.Caps {
	order := uint64(info.tx_attr.msg_order) & uint64(info.rx_attr.msg_order)
	mode := info.domain_attr.mr_mode
	// Up to these sizes an order of operations also holds for their bytes. Callers rely on that at
	// any size.
	longest := min(info.ep_attr.max_msg_size, orderedSize)
	writesInOrder := info.ep_attr.max_order_waw_size >= longest
	readsInOrder := info.ep_attr.max_order_raw_size >= longest
	return fabric.Caps{
		Provider: o.Provider, Domain: o.NIC, Fabric: o.Fabric,
		MaxMessage: uint64(info.ep_attr.max_msg_size), MaxInject: int(info.tx_attr.inject_size), MaxInjectWrite: injectWrite(o, info),
		InjectBlind:     o.Provider == "efa" || o.Provider == "cxi",
		InjectSilent:    strings.HasSuffix(o.Provider, ";ofi_rxm"), // prov/rxm/src/rxm_cq.c: RXM_INJECT_TX (R15s)
		RNRRetries:      o.Fabric == "efa-direct",
		WriteAfterWrite: order&C.FI_ORDER_RMA_WAW != 0 && writesInOrder,
		SendAfterWrite:  order&C.FI_ORDER_SAW != 0 && writesInOrder,
		SendAfterSend:   order&C.FI_ORDER_SAS != 0,
		ReadAfterWrite:  order&C.FI_ORDER_RMA_RAW != 0 && readsInOrder,
		VirtualAddress:  mode&C.FI_MR_VIRT_ADDR != 0,
		LocalMR:         mode&C.FI_MR_LOCAL != 0,
		PinsMemory:      mode&C.FI_MR_ALLOCATED != 0,
		LocalSegments:   int(info.tx_attr.iov_limit),
		RemoteSegments:  int(info.tx_attr.rma_iov_limit),
		SendQueue:       int(info.tx_attr.size),
		RecvQueue:       int(info.rx_attr.size),
		Speed:           uint64(C.shmemi_ofi_speed(info)),
	}
}

// injectWrite returns the most bytes of a write that may be injected. It is the limit for messages,
// but 0 on efa-direct, whose NICs inject messages only.
func injectWrite(o *offer, info *C.struct_fi_info) int {
	if o.Fabric == "efa-direct" {
		return 0
	}
	return int(info.tx_attr.inject_size)
}

// Caps implements fabric.Provider: it returns what the endpoint promises and supports.
func (e *endpoint) Caps() fabric.Caps { return e.caps }

// note adds a few words to e.notes: about an option that was set or refused, or about what the
// endpoint cannot do.
func (e *endpoint) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

// Notes implements fabric.Noter: it returns what the endpoint could set or use.
func (e *endpoint) Notes() []string { return slices.Clone(e.notes) }

// Addr implements fabric.Provider: it returns the address for the other PEs' Connect.
func (e *endpoint) Addr() []byte { return slices.Clone(e.addr) }

// Connect implements fabric.Provider: it stores the addresses of all PEs, by number, without which
// no operation on them is possible.
func (e *endpoint) Connect(addrs [][]byte) error {
	if e.c.npeers != 0 {
		return &shmerr.Error{Op: "connect", Object: e.caps.Provider, Cause: shmerr.Causef(shmerr.ErrArgument, "the peers are known already")}
	}
	if len(addrs) == 0 {
		return nil
	}
	// An address vector of TCP takes some 300 bytes for each address, and a PE of a large job
	// communicates with few others. So an address is stored here, and inserted into the vector
	// before the first operation on its PE. That is not possible if completions name the writer,
	// since some providers find the sender of a completion in the vector.
	storedSize := 0 // bytes of each stored address; 0: addresses are inserted at once
	if e.ip && !e.caps.Source {
		storedSize = len(e.addr)
	}
	if ret := C.shmemi_ofi_peers(e.c, C.uint32_t(len(addrs)), C.size_t(storedSize)); ret != 0 {
		return &shmerr.Error{Op: "connect", Object: e.caps.Provider, Cause: fault(ret)}
	}
	if e.links != nil {
		e.links.addrs = addrs
	}
	for pe, addr := range libshmem.ByPE(addrs) {
		if len(addr) == 0 {
			continue
		}
		if err := e.connectOne(pe, addr); err != nil {
			return &shmerr.Error{
				Op: "connect", Object: fmt.Sprintf("%s to PE %d", e.caps.Provider, pe), Cause: err,
				Remedy: "start every PE with the same SHMEM_PROVIDER, and with NICs on one network in SHMEM_NIC_LIST",
			}
		}
	}
	if ret := C.shmemi_ofi_learn_sources(e.c); ret != 0 {
		return &shmerr.Error{Op: "connect", Object: e.caps.Provider, Cause: fault(ret)}
	}
	return nil
}

// connectOne stores the address of a PE, or fails if it is of another kind than this endpoint's.
func (e *endpoint) connectOne(pe libshmem.PE, a []byte) error {
	// The address vector reads a string, which names a process and an endpoint, up to its byte of
	// 0. Of other addresses it reads as many bytes as this endpoint's has. The first two bytes of
	// an IP address are its kind.
	same := len(a) == len(e.addr) && (!e.ip || bytes.Equal(a[:2], e.addr[:2]))
	if e.named {
		same = a[len(a)-1] == 0
	}
	if !same {
		return shmerr.Causef(shmerr.ErrArgument, "its address is of another kind than this PE's (%d bytes, here %d)", len(a), len(e.addr))
	}
	if e.links != nil {
		return e.links.addPeer(pe)
	}
	if ret := C.shmemi_ofi_peer(e.c, C.uint32_t(pe), unsafe.Pointer(&a[0])); ret != 0 {
		return fault(ret)
	}
	return nil
}

// Recv posts a receive buffer. It runs for each message, so it allocates nothing in Go.
func (e *endpoint) Recv(buf unsafe.Pointer, n int, desc uintptr, t fabric.Token) error {
	ret := C.shmemi_ofi_recv(e.c, buf, C.size_t(n), C.uintptr_t(desc), C.uint32_t(t))
	if ret == 0 {
		return nil
	}
	return e.refusal("receive into", -1, t, ret)
}

// Send implements fabric.Provider: it posts a message. sendWith posts those with a fence, and those
// whose completion must say that they have arrived.
func (e *endpoint) Send(s *fabric.Send) error {
	if s.Fence || e.caps.SendComplete && !s.Inject {
		return e.sendWith(s)
	}
	ret := C.shmemi_ofi_send(e.c, C.uint32_t(s.To), s.Buf, C.size_t(s.Len), C.uintptr_t(s.Desc), C.uint32_t(s.Token), number(s.Inject))
	if ret == 0 {
		return nil
	}
	return e.refusal("send to", s.To, s.Token, ret)
}

// Write implements fabric.Provider: it posts a one-sided write. writeWith posts those with
// immediate data or a fence.
func (e *endpoint) Write(r *fabric.RMA) error {
	if r.Notify || r.Fence {
		return e.writeWith(r)
	}
	ret := C.shmemi_ofi_write(e.c, C.uint32_t(r.PE), r.Local, C.size_t(r.Len), C.uintptr_t(r.Desc),
		C.uint64_t(r.Remote), C.uint64_t(r.Key), C.uint32_t(r.Token), number(r.Inject))
	if ret == 0 {
		return nil
	}
	return e.refusal("write to", r.PE, r.Token, ret)
}

// Read implements fabric.Provider: it posts a one-sided read. readWith posts those with a fence.
func (e *endpoint) Read(r *fabric.RMA) error {
	if r.Fence {
		return e.readWith(r)
	}
	ret := C.shmemi_ofi_read(e.c, C.uint32_t(r.PE), r.Local, C.size_t(r.Len), C.uintptr_t(r.Desc),
		C.uint64_t(r.Remote), C.uint64_t(r.Key), C.uint32_t(r.Token))
	if ret == 0 {
		return nil
	}
	return e.refusal("read from", r.PE, r.Token, ret)
}

// number returns 1 for true and 0 for false, because the C functions have numbers.
func number(yes bool) C.int {
	if yes {
		return 1
	}
	return 0
}

// refusal returns the error of an operation that libfabric, or a check before it, has not posted.
// pe is negative for a receive buffer.
func (e *endpoint) refusal(what string, pe libshmem.PE, t fabric.Token, ret C.int) error {
	if ret == -C.FI_EAGAIN { // this is frequent, and under load, so it allocates nothing
		return fabric.ErrAgain
	}
	object := fmt.Sprintf("PE %d", pe)
	if pe < 0 {
		object = fmt.Sprintf("buffer %d", t)
	}
	switch {
	case ret == -C.FI_EHOSTUNREACH && (pe < 0 || uint64(pe) >= uint64(e.c.npeers)):
		return &shmerr.Error{Op: what, Object: object, Cause: shmerr.Causef(shmerr.ErrPE, "%d PEs are connected", e.c.npeers)}
	case uint64(t) >= uint64(e.c.tokens):
		return &shmerr.Error{Op: what, Object: object, Cause: shmerr.Causef(shmerr.ErrArgument, "token %d is not below %d", t, e.c.tokens)}
	case ret == -C.FI_EHOSTUNREACH:
		return &shmerr.Error{Op: what, Object: object, Cause: shmerr.Causef(shmerr.ErrPE, "it has no address, or the provider %s no route to it", e.caps.Provider)}
	}
	return &shmerr.Error{Op: what, Object: object, Cause: fmt.Errorf("%s: %w", e.caps.Provider, fault(ret))}
}

// Poll implements fabric.Provider: it moves up to len(c) completions to c. Before that it does work
// that C cannot do (SHMEMI_IN_GO) for the connections that this package makes.
func (e *endpoint) Poll(c []fabric.Completion) (int, error) {
	if len(c) == 0 {
		return 0, nil
	}
	n := C.shmemi_ofi_poll(unsafe.Pointer(e.c), (*C.struct_shmemi_completion)(unsafe.Pointer(&c[0])), C.int(len(c)))
	if n == C.SHMEMI_IN_GO {
		if n, err := e.links.serve(c); n > 0 || err != nil {
			return n, err
		}
		n = C.shmemi_ofi_poll_all(e.c, (*C.struct_shmemi_completion)(unsafe.Pointer(&c[0])), C.int(len(c)))
	}
	if n >= 0 {
		return int(n), nil
	}
	var cause error = fault(n)
	if n == -C.FI_EOVERRUN {
		cause = fmt.Errorf("%w: %w", fabric.ErrOverrun, cause)
	}
	if text := C.shmemi_ofi_failure(e.c, C.NO_TOKEN); text != nil && n != -C.FI_EOVERRUN {
		cause = fmt.Errorf("an operation without a token failed: %s", C.GoString(text))
	}
	return 0, &shmerr.Error{Op: "poll", Object: e.caps.Provider, Cause: cause}
}

// Arm implements fabric.Provider: it returns false if there is work for a Poll.
func (e *endpoint) Arm() bool { return C.shmemi_ofi_arm(unsafe.Pointer(e.c)) != 0 }

// Ready implements fabric.Provider: it reports whether a Poll is known to have work now.
func (e *endpoint) Ready() bool { return C.shmemi_ofi_ready(unsafe.Pointer(e.c)) != 0 }

// Wait implements fabric.Provider: it sleeps until there may be a completion, or for d, and reports
// whether something has ended the sleep earlier.
func (e *endpoint) Wait(d time.Duration) (bool, error) {
	ret := C.shmemi_ofi_wait(unsafe.Pointer(e.c), C.int64_t(d))
	if ret < 0 {
		return false, &shmerr.Error{Op: "wait", Object: "for " + e.caps.Provider, Cause: fault(ret)}
	}
	return ret > 0, nil
}

// WaitFD implements fabric.Sleeper: it returns a descriptor to wait on in place of Wait, or -1 if
// there is none. After an Arm that has returned true, it is readable when a Wait would end:
// something arrives, or Wake is called. Wait(0) then consumes the event.
func (e *endpoint) WaitFD() int {
	if e.c.queue_fd < 0 {
		return -1
	}
	return int(e.c.events_fd)
}

// Wake implements fabric.Provider: it ends a Wait of another thread.
func (e *endpoint) Wake() { C.shmemi_ofi_wake(unsafe.Pointer(e.c)) }

// Native implements fabric.Provider: it returns the C functions that do the work of Poll, Recv, an
// injected Send and others, for callers in C that must not enter Go.
func (e *endpoint) Native() fabric.Native {
	return fabric.Native{
		Self: unsafe.Pointer(e.c),
		Poll: C.shmemi_ofi_poll, Arm: C.shmemi_ofi_arm, Wait: C.shmemi_ofi_wait, Wake: C.shmemi_ofi_wake,
		Recv: C.shmemi_ofi_native_recv, Inject: C.shmemi_ofi_native_inject,
	}
}

// Strangers implements fabric.Provider: it returns how many messages and connections of processes
// outside the job were dropped.
func (e *endpoint) Strangers() uint64 {
	n := uint64(e.c.strangers)
	if e.links != nil {
		n += e.links.m.Strangers
	}
	return n
}

// Belated implements fabric.BelatedCounter: it returns how many requests and words of PEs of the job
// were dropped because they came too late, such as a request after a later one of the same PE.
func (e *endpoint) Belated() uint64 {
	if e.links == nil {
		return 0
	}
	return e.links.m.Belated
}

// ErrorText implements fabric.Provider: it describes the error of a completion, with the provider's
// own text if the C half has stored one for the token.
func (e *endpoint) ErrorText(c *fabric.Completion) string {
	if c.Err == 0 {
		return "no error"
	}
	if c.Kind == fabric.KindTrouble && e.links != nil {
		return e.links.lastErr
	}
	if text := C.shmemi_ofi_failure(e.c, C.uint32_t(c.Token)); text != nil {
		return fmt.Sprintf("%s, token %d", C.GoString(text), c.Token)
	}
	return fmt.Sprintf("%s, token %d", fault(-C.int(c.Err)).Error(), c.Token)
}

// Close implements fabric.Provider: it ends connections and registrations, and closes the endpoint
// even if one of these fails.
func (e *endpoint) Close() error {
	if e.c == nil {
		return nil
	}
	var errs []error
	if e.links != nil {
		e.links.close()
	}
	for id := range e.regions {
		if e.regions[id] != nil {
			errs = append(errs, e.Unregister(fabric.Region{ID: id}))
		}
	}
	return errors.Join(append(errs, e.release())...)
}

// release closes all open objects of libfabric and frees the C memory of the endpoint.
func (e *endpoint) release() error {
	ret := C.shmemi_ofi_close(e.c)
	what := C.GoString(e.c.failed)
	C.free(unsafe.Pointer(e.c))
	e.c = nil
	if ret != 0 {
		return &shmerr.Error{Op: "close", Object: what, Cause: fault(ret)}
	}
	return nil
}
