package ofi

/*
#cgo CFLAGS: -I${SRCDIR}/../../capi/abi
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "load.h"
#include "endpoint.h"

_Static_assert(sizeof(struct shmemi_completion) == 24, "layout of fabric.Completion");
*/
import "C"

import (
	"fmt"
	"time"
	"unsafe"

	"libshmem/fabric"
)

// Provider is one endpoint of libfabric.
type Provider struct {
	o    *C.struct_shmemi_ofi // in C memory: libfabric keeps pointers into it
	caps fabric.Caps
	addr []byte
	mrs  []*C.struct_fid_mr
	key  uint64
}

var _ fabric.Provider = (*Provider)(nil)

var _ = [1]byte{}[unsafe.Sizeof(fabric.Completion{})-C.sizeof_struct_shmemi_completion]

// Open loads libfabric, chooses a provider and a NIC, and opens an endpoint.
func Open(c fabric.Config) (fabric.Provider, error) {
	if err := load(c.Library); err != nil {
		return nil, err
	}
	info, err := choose(c)
	if err != nil {
		return nil, fmt.Errorf("open network: %w", err)
	}
	p := &Provider{o: (*C.struct_shmemi_ofi)(C.calloc(1, C.sizeof_struct_shmemi_ofi))}
	name, domain := C.GoString(info.fabric_attr.prov_name), C.GoString(info.domain_attr.name)
	if rc := C.shmemi_ofi_open(p.o, info, C.uint32_t(c.Tokens)); rc != 0 {
		err := fmt.Errorf("open network %s on %s: %s: %s", name, domain, C.GoString(p.o.step), text(-rc))
		_ = p.Close()
		return nil, err
	}
	p.caps = capsOf(info)
	p.caps.WaitFD = p.o.wait_fd >= 0
	if p.caps.DeliveryComplete {
		p.o.write_flags = C.FI_DELIVERY_COMPLETE
	}
	if err := p.name(); err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

func load(library string) error {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var why [1024]C.char
	if C.shmemi_ofi_load(name, &why[0], C.size_t(len(why))) != 0 {
		return fmt.Errorf("load libfabric: %s (install libfabric 1.11 or later, or name the file by SHMEM_LIBFABRIC)", C.GoString(&why[0]))
	}
	return nil
}

// orderedWrite is the size up to which writes must keep their order for the
// order to be of use; callers cut larger operations.
const orderedWrite = 64 << 20

// capsOf reads what was granted. A provider that keeps writes and messages in
// order is not asked for delivery completions: a message sent after the writes
// tells the same and saves an answer for each write.
func capsOf(i *C.struct_fi_info) fabric.Caps {
	order := uint64(i.tx_attr.msg_order)
	all := func(bits uint64) bool { return order&bits == bits }
	mode := uint64(i.domain_attr.mr_mode)
	c := fabric.Caps{
		Provider:        C.GoString(i.fabric_attr.prov_name),
		Domain:          C.GoString(i.domain_attr.name),
		Fabric:          C.GoString(i.fabric_attr.name),
		MaxMessage:      uint64(i.ep_attr.max_msg_size),
		MaxInject:       int(i.tx_attr.inject_size),
		WriteAfterWrite: all(C.FI_ORDER_WAW) && i.ep_attr.max_order_waw_size >= orderedWrite,
		SendAfterWrite:  all(C.FI_ORDER_SAW),
		SendAfterSend:   all(C.FI_ORDER_SAS),
		ReadAfterWrite:  all(C.FI_ORDER_RAW) && i.ep_attr.max_order_raw_size > 0,
		VirtualAddress:  mode&C.FI_MR_VIRT_ADDR != 0,
		LocalMR:         mode&C.FI_MR_LOCAL != 0,
		PinsMemory:      mode&C.FI_MR_ALLOCATED != 0,
	}
	c.DeliveryComplete = !c.SendAfterWrite || !c.WriteAfterWrite
	return c
}

func (p *Provider) name() error {
	var buf [C.SHMEMI_OFI_ADDR_MAX]byte
	n := C.size_t(len(buf))
	if rc := C.shmemi_ofi_address(p.o, unsafe.Pointer(&buf[0]), &n); rc != 0 {
		return fmt.Errorf("open network %s: fi_getname: %s", p.caps.Provider, text(-rc))
	}
	p.addr = append([]byte(nil), buf[:n]...)
	return nil
}

func text(errno C.int) string { return C.GoString(C.fi_strerror(errno)) }

// Caps implements fabric.Provider.
func (p *Provider) Caps() fabric.Caps { return p.caps }

// Addr implements fabric.Provider.
func (p *Provider) Addr() []byte { return p.addr }

// Connect implements fabric.Provider.
func (p *Provider) Connect(addrs [][]byte) error {
	if rc := C.shmemi_ofi_connect(p.o, C.uint32_t(len(addrs))); rc != 0 {
		return fmt.Errorf("address vector of %d PEs: %s", len(addrs), text(-rc))
	}
	for pe, a := range addrs {
		if len(a) == 0 {
			continue
		}
		if rc := C.shmemi_ofi_insert(p.o, C.uint32_t(pe), unsafe.Pointer(&a[0])); rc != 0 {
			return fmt.Errorf("address of PE %d: %s", pe, text(-rc))
		}
	}
	return nil
}

// Register implements fabric.Provider.
func (p *Provider) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	var mr *C.struct_fid_mr
	p.key++
	if rc := C.shmemi_ofi_register(p.o, base, C.size_t(n), C.uint64_t(p.key), &mr); rc != 0 {
		return fabric.Region{}, fmt.Errorf("register %d bytes with %s: %s (raise ulimit -l, or lower SHMEM_SYMMETRIC_SIZE)",
			n, p.caps.Provider, text(-rc))
	}
	p.mrs = append(p.mrs, mr)
	return fabric.Region{Base: base, Len: n, Key: uint64(mr.key), Desc: uintptr(mr.mem_desc), ID: len(p.mrs)}, nil
}

// Unregister implements fabric.Provider.
func (p *Provider) Unregister(r fabric.Region) error {
	if r.ID < 1 || r.ID > len(p.mrs) || p.mrs[r.ID-1] == nil {
		return nil
	}
	mr := p.mrs[r.ID-1]
	p.mrs[r.ID-1] = nil
	for n := len(p.mrs); n > 0 && p.mrs[n-1] == nil; n-- {
		p.mrs = p.mrs[:n-1]
	}
	if rc := C.fi_close(&mr.fid); rc != 0 {
		return fmt.Errorf("unregister %d bytes: %s", r.Len, text(-rc))
	}
	return nil
}

// Recv implements fabric.Provider.
func (p *Provider) Recv(buf unsafe.Pointer, n int, desc uintptr, t fabric.Token) error {
	return p.posted(C.shmemi_ofi_recv(p.o, buf, C.size_t(n), C.uintptr_t(desc), C.uint32_t(t)), "fi_recv")
}

// Send implements fabric.Provider.
func (p *Provider) Send(s *fabric.Send) error {
	return p.posted(C.shmemi_ofi_send(p.o, C.uint32_t(s.To), s.Buf, C.size_t(s.Len), C.uintptr_t(s.Desc), C.uint32_t(s.Token), flag(s.Inject)), "fi_send")
}

// Write implements fabric.Provider.
func (p *Provider) Write(op *fabric.RMA) error {
	return p.posted(C.shmemi_ofi_write(p.o, C.uint32_t(op.PE), op.Local, C.size_t(op.Len), C.uintptr_t(op.Desc),
		C.uint64_t(op.Remote), C.uint64_t(op.Key), C.uint32_t(op.Token), flag(op.Inject)), "fi_writemsg")
}

// Read implements fabric.Provider.
func (p *Provider) Read(op *fabric.RMA) error {
	return p.posted(C.shmemi_ofi_read(p.o, C.uint32_t(op.PE), op.Local, C.size_t(op.Len), C.uintptr_t(op.Desc),
		C.uint64_t(op.Remote), C.uint64_t(op.Key), C.uint32_t(op.Token)), "fi_read")
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

func (p *Provider) posted(rc C.int, call string) error {
	switch rc {
	case 0:
		return nil
	case -C.FI_EAGAIN:
		return fabric.ErrAgain
	}
	return fmt.Errorf("%s on %s: %s", call, p.caps.Provider, text(-rc))
}

// Poll implements fabric.Provider.
func (p *Provider) Poll(c []fabric.Completion) (int, error) {
	n := C.shmemi_ofi_poll(unsafe.Pointer(p.o), (*C.struct_shmemi_completion)(unsafe.Pointer(unsafe.SliceData(c))), C.int(len(c)))
	if n < 0 {
		return 0, fmt.Errorf("completion queue of %s: %s", p.caps.Provider, text(-n))
	}
	return int(n), nil
}

// Arm implements fabric.Provider.
func (p *Provider) Arm() bool { return C.shmemi_ofi_arm(unsafe.Pointer(p.o)) != 0 }

// Wait implements fabric.Provider.
func (p *Provider) Wait(d time.Duration) (bool, error) {
	rc := C.shmemi_ofi_wait(unsafe.Pointer(p.o), C.int64_t(d))
	if rc < 0 {
		return false, fmt.Errorf("wait for %s: %s", p.caps.Provider, text(-rc))
	}
	return rc > 0, nil
}

// Wake implements fabric.Provider.
func (p *Provider) Wake() { C.shmemi_ofi_wake(unsafe.Pointer(p.o)) }

// Native implements fabric.Provider.
func (p *Provider) Native() fabric.Native {
	return fabric.Native{
		Self: unsafe.Pointer(p.o),
		Poll: C.shmemi_ofi_poll, Arm: C.shmemi_ofi_arm, Wait: C.shmemi_ofi_wait, Wake: C.shmemi_ofi_wake,
	}
}

// ErrorText implements fabric.Provider.
func (p *Provider) ErrorText(c *fabric.Completion) string {
	return fmt.Sprintf("%s: %s (%s)", p.caps.Provider, text(C.int(c.Err)), C.GoString(&p.o.error[0]))
}

// Close implements fabric.Provider.
func (p *Provider) Close() error {
	for _, mr := range p.mrs {
		if mr != nil {
			C.fi_close(&mr.fid)
		}
	}
	C.shmemi_ofi_close(p.o)
	C.free(unsafe.Pointer(p.o))
	p.o, p.mrs = nil, nil
	return nil
}
