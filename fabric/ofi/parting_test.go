package ofi

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
)

// TestRequestInRead breaks a connection for one of two PEs while the other has had a part of a
// read. PE 1 asks for another connection, and PE 0 finds that request before its own end is closed.
// It loses PE 1, the read ends once, and operations with a third PE go on.
func TestRequestInRead(t *testing.T) {
	const size = 64 << 20
	provider := linked(t)
	all := joined(t, provider, 3)
	message(t, all, all[0], 2)
	before := sockets(t)
	message(t, all, all[0], 1)
	theirs := -1 // PE 1's end of the connection
	for _, fd := range sockets(t) {
		if at, err := unix.Getsockname(fd); err == nil && !slices.Contains(before, fd) && sameSocket(at, all[1].Addr()) {
			theirs = fd
		}
	}
	if theirs < 0 {
		t.Fatal("no socket is PE 1's end")
	}
	read := fabric.RMA{PE: 1, Len: size, Token: 5}
	to, from := large(t, all[0], size), large(t, all[1], size)
	read.Local, read.Desc, read.Key = to.Base, to.Desc, from.Key
	if all[0].Caps().VirtualAddress {
		read.Remote = uint64(uintptr(from.Base))
	}
	for _, s := range all {
		s.came = nil
	}
	serve(t, all[:1], "room for a read", func() bool { return posts(t, all[0].Read(&read)) })
	queued, same := 0, 0
	serve(t, all[1:2], "an answer that fills the sockets", func() bool {
		n, err := unix.IoctlGetInt(theirs, unix.TIOCOUTQ)
		if err != nil {
			t.Fatal(err)
		}
		if same++; n != queued || n == 0 {
			queued, same = n, 0
		}
		return same > 1000
	})
	if err := unix.Shutdown(theirs, unix.SHUT_RD); err != nil {
		t.Fatal(err)
	}
	links := all[0].Provider.(*endpoint).links
	knock := []unix.PollFd{{Fd: int32(links.e.c.links.listens), Events: unix.POLLIN}}
	serve(t, all[1:2], "another request of PE 1", func() bool {
		n, _ := unix.Poll(knock, 0)
		return n > 0
	})
	// As a poll that looks for connections first.
	var c [8]fabric.Completion
	n, err := links.serve(c[:])
	if err != nil || n != 1 || c[0].Kind != fabric.KindTrouble || c[0].From() != 1 || !strings.Contains(all[0].ErrorText(&c[0]), "asks for another") {
		t.Fatalf("%d completions, error %v: %+v, %s", n, err, c[0], all[0].ErrorText(&c[0]))
	}
	serve(t, all, "the end of the connection", func() bool { return len(links.endpoints) == 1 && len(all[0].came) > 0 })
	was := links.e.c.links.drained
	serve(t, all[:1], "an empty queue", func() bool { return links.e.c.links.drained > was+1 })
	if n := len(all[0].came); n != 1 || all[0].came[0].Token != 5 || all[0].came[0].Err == 0 {
		t.Errorf("%d completions, want one error of token 5: %+v", n, all[0].came)
	}
	message(t, all, all[0], 2)
	message(t, all, all[2], 0)
}

// large registers memory with an endpoint.
func large(t *testing.T, s *side, size int) fabric.Region {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	r, err := s.Register(unsafe.Pointer(&mem[0]), uint64(size))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
