package ofi

/*
#cgo nocallback shmemi_ofi_next_event
#include <stdlib.h>
#include "endpoint.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/ofi/handshake"
	"libshmem/fabric/ofi/pair"
	"libshmem/runtime/shmerr"
)

// connected is the suffix of the name of a provider whose connections this package makes, over
// endpoints that libfabric calls FI_EP_MSG. libfabric's own reliable datagrams over sockets accept
// any process that connects to the port.
const connected = fabric.Connected

// connects reports whether this package makes a provider's connections, and returns the provider's
// name without the suffix connected.
func connects(provider string) (base string, yes bool) { return strings.CutSuffix(provider, connected) }

// links are the connections of an endpoint. It makes and ends in libfabric the connections that a
// pair.Machine decides on, and passes libfabric's events to the Machine.
type links struct {
	e         *endpoint
	m         *pair.Machine
	began     time.Time
	id        handshake.ID
	addrs     [][]byte                       // of all PEs: the socket, then the ID of the endpoint
	endpoints map[pair.Conn]*C.struct_fid_ep // of the connections that are not closed
	ended     []endedConn                    // whose end the Machine has not been told yet
	losses    []loss                         // that Poll has not reported
	lastErr   string                         // text of the last loss that Poll has reported
}

// endedConn is a connection that has ended. Its last completions may still be in the completion
// queue. They have been read once a later poll has found the queue empty.
type endedConn struct {
	conn    pair.Conn
	drained C.uint64_t // number of polls that had found the queue empty when it ended
}

// loss is a lost PE that Poll has not reported yet.
type loss struct {
	pe  libshmem.PE
	why string
}

// maxEvents caps the reads of the event queue in one Poll, so that requests of processes outside
// the job cannot keep the Poll busy.
const maxEvents = 64

// openLinks makes the state of an endpoint's connections, once the passive endpoint listens at
// e.addr. It appends the endpoint's ID to the address.
func (e *endpoint) openLinks(cfg *fabric.Config) {
	l := &links{e: e, began: time.Now(), id: handshake.Random[handshake.ID](), endpoints: map[pair.Conn]*C.struct_fid_ep{}}
	l.m = pair.New(pair.Config{Key: cfg.Key, Me: handshake.Side{PE: libshmem.NoPE, ID: l.id}, ID: l.idOf, Late: cfg.Late}, l)
	e.links = l
	e.c.links.listens = C.int(deferAccept(e.addr))
	if e.c.links.listens < 0 || C.shmemi_ofi_watch(e.c, e.c.links.listens, 0) != 0 {
		e.note("its listening socket is not watched")
	}
	e.addr = append(e.addr, l.id[:]...)
}

// idOf returns the ID of a PE's endpoint, which is at the end of its address; false if the PE has
// no address of this kind.
func (l *links) idOf(pe libshmem.PE) (id handshake.ID, ok bool) {
	if !pe.In(len(l.addrs)) || len(l.addrs[pe]) != len(l.e.addr) {
		return id, false
	}
	return handshake.ID(l.addrs[pe][len(l.e.addr)-len(id):]), true
}

// addPeer lets operations connect to a PE, whose address is in l.addrs. If the address is that of
// this endpoint, the PE is this process. It returns an error if the PE's number does not fit a
// word.
func (l *links) addPeer(pe libshmem.PE) error {
	if int(pe) >= 1<<C.PE_BITS {
		return shmerr.Causef(shmerr.ErrArgument, "no more than %d PEs can be numbered", 1<<C.PE_BITS)
	}
	C.shmemi_ofi_use(l.e.c, C.uint32_t(pe), nil)
	if id, _ := l.idOf(pe); id == l.id {
		l.setMe(pe)
	}
	return nil
}

// setMe sets the number of this PE. It is not known before Connect, or before a request names it.
func (l *links) setMe(pe libshmem.PE) { l.m.Me.PE, l.e.c.links.me = pe, C.uint32_t(pe) }

// serve does the work of connections that C leaves to Go: it passes the time, words of handshakes,
// events, and PEs that operations wait to reach to the pair machine. If PEs have been lost, it
// stores a completion in c that reports one of them. It returns the number of completions in c.
func (l *links) serve(c []fabric.Completion) (n int, err error) {
	shared := l.e.c.links // what C and Go both change
	C.shmemi_ofi_go_called(shared)
	l.m.Tick(time.Since(l.began))
	l.readWords()
	events, err := l.handleEvents()
	if err != nil {
		return 0, err
	}
	l.reportEnded()
	for ; shared.first_wanted != shared.next_wanted; shared.first_wanted++ {
		wanted := unsafe.Slice(shared.wanted, len(l.addrs))
		l.m.Want(libshmem.PE(wanted[shared.first_wanted%C.uint32_t(len(wanted))]))
	}
	for n < len(c) && len(l.losses) > 0 {
		c[n] = fabric.Completion{Token: fabric.NoToken, Kind: fabric.KindTrouble, Err: C.FI_ECONNABORTED}
		c[n].SetFrom(l.losses[0].pe)
		l.lastErr = fmt.Sprintf("PE %d: %s", l.losses[0].pe, l.losses[0].why)
		l.losses = l.losses[1:]
		n++
		break // one at a time: ErrorText explains the last one
	}
	if events > 0 || len(l.ended) > 0 || len(l.losses) > 0 {
		C.shmemi_ofi_call_go(shared)
	}
	C.shmemi_ofi_go_done(shared, number(l.m.Moving()), number(events > 0))
	return n, nil
}

// readWords passes the words of handshakes that polls have received to the pair machine. C puts
// each word into 64 bits: in the lower half its value, the proof, above that the PE, and from bit
// WORD_AT on, in 3 bits, which word it is.
func (l *links) readWords() {
	shared := l.e.c.links
	for _, word := range shared.words[:shared.nwords] {
		pe := libshmem.PE(word >> 32 & (1<<C.PE_BITS - 1))
		l.m.HandleWord(pe, handshake.Word(word>>C.WORD_AT&7), uint32(word))
	}
	shared.nwords = 0
}

// handleEvents reads the event queue, passes the events to the pair machine and returns their
// number. One read of the queue accepts a socket, and a later one finds its request. So it returns
// only after two reads in a row that found no event, while no socket waits to be accepted.
func (l *links) handleEvents() (events int, err error) {
	var ev C.struct_shmemi_ofi_event
	empty := 0
	for reads := 0; reads < maxEvents && (empty < 2 || C.shmemi_ofi_request_waits(l.e.c.links) != 0); reads++ {
		switch ret := C.shmemi_ofi_next_event(l.e.c, &ev); {
		case ret < 0:
			return events, &shmerr.Error{Op: "read event queue", Object: l.e.caps.Provider, Cause: fault(ret)}
		case ret == 0:
			empty++
			continue
		}
		events, empty = events+1, 0
		data := C.GoBytes(unsafe.Pointer(&ev.data[0]), C.int(ev.len))
		switch conn := pair.Conn(ev.conn); ev.kind {
		case C.REQUESTED:
			before := l.m.Me.PE
			if l.m.Request(pair.Handle(unsafe.Pointer(ev.info)), data); before != l.m.Me.PE {
				l.setMe(l.m.Me.PE)
			}
		case C.REPLIED:
			l.m.HandleReply(conn, data)
		case C.FAILED:
			l.m.HandleFailure(conn, data, fault(-ev.err).Error())
		default:
			l.ended = append(l.ended, endedConn{conn, l.e.c.links.drained})
		}
	}
	return events, nil
}

// reportEnded reports the end of connections whose completions have all been read: the queue has
// been found empty since the connection ended (drained).
func (l *links) reportEnded() {
	kept := l.ended[:0]
	for _, s := range l.ended {
		if s.drained == l.e.c.links.drained {
			kept = append(kept, s)
			continue
		}
		l.m.HandleDisconnect(s.conn)
	}
	l.ended = kept
}

// Connect implements pair.Network: it starts a connection c to a PE, and sends the request with it.
func (l *links) Connect(c pair.Conn, pe libshmem.PE, request []byte) error {
	var ep *C.struct_fid_ep
	addr := l.addrs[pe]
	ret := C.shmemi_ofi_connect(l.e.c, C.uint32_t(c), unsafe.Pointer(&addr[0]), unsafe.Pointer(&request[0]), C.size_t(len(request)), &ep)
	if ret != 0 {
		return fault(ret)
	}
	l.endpoints[c] = ep
	return nil
}

// Accept implements pair.Network: it accepts the request h of a peer as connection c, and sends the
// reply with it.
func (l *links) Accept(c pair.Conn, h pair.Handle, reply []byte) error {
	var ep *C.struct_fid_ep
	info := infoOf(h)
	if ret := C.shmemi_ofi_accept(l.e.c, C.uint32_t(c), info, unsafe.Pointer(&reply[0]), C.size_t(len(reply)), &ep); ret != 0 {
		return fault(ret)
	}
	l.endpoints[c] = ep
	return nil
}

// Reject implements pair.Network: it refuses a request, with the reply if there is one.
func (l *links) Reject(h pair.Handle, reply []byte) {
	C.shmemi_ofi_reject(l.e.c, infoOf(h), unsafe.Pointer(unsafe.SliceData(reply)), C.size_t(len(reply)))
}

// Drop implements pair.Network: it closes a connection.
func (l *links) Drop(c pair.Conn) {
	if ep := l.endpoints[c]; ep != nil {
		C.shmemi_ofi_drop(ep)
		delete(l.endpoints, c)
	}
}

// Shutdown implements pair.Network. It shuts the connection's socket down, so that libfabric ends
// the connection. If libfabric does not know the addresses of the socket, the connection has ended
// already, or the peer ends it.
func (l *links) Shutdown(c pair.Conn) {
	var own, peer [addrLen]byte
	ep := l.endpoints[c]
	if ep == nil || C.shmemi_ofi_addresses(ep, unsafe.Pointer(&own[0]), unsafe.Pointer(&peer[0]), addrLen) != 0 {
		return
	}
	shutdown(own[:], peer[:])
}

// addrLen is room for the address of a socket.
const addrLen = 128

// Use implements pair.Network: it makes operations on a PE use connection c, or none.
func (l *links) Use(pe libshmem.PE, c pair.Conn) {
	C.shmemi_ofi_use(l.e.c, C.uint32_t(pe), l.endpoints[c])
}

// Send implements pair.Network: it sends a word of the handshake on a connection, and returns
// false if the queue is full.
func (l *links) Send(c pair.Conn, w handshake.Word, proof uint32) bool {
	word := C.WORD_MARK | uint64(w)<<C.WORD_AT | uint64(l.m.Me.PE)<<32 | uint64(proof)
	return C.shmemi_ofi_send_word(l.e.c, l.endpoints[c], C.uint64_t(word)) != -C.FI_EAGAIN
}

// Lose implements pair.Network: it makes operations on a PE fail, and notes the loss for the next
// poll.
func (l *links) Lose(pe libshmem.PE, why string) {
	C.shmemi_ofi_unreachable(l.e.c, C.uint32_t(pe))
	l.losses = append(l.losses, loss{pe, why})
	C.shmemi_ofi_call_go(l.e.c.links)
}

// infoOf returns libfabric's description of a request from its handle, which is its address.
func infoOf(h pair.Handle) *C.struct_fi_info { return *(**C.struct_fi_info)(unsafe.Pointer(&h)) }

// close ends all connections, and refuses the requests that are still in the event queue.
func (l *links) close() {
	if l.e.c.links == nil || l.e.c.links.eq == nil {
		return
	}
	l.m.Close()
	for events := 1; events > 0; {
		var err error
		if events, err = l.handleEvents(); err != nil {
			return
		}
	}
}
