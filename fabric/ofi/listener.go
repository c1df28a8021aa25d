package ofi

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// silence is the longest time for which the kernel holds back a connection to the listening socket
// that has sent no byte. Then it passes the connection to libfabric, which would keep its
// descriptor for good. Until then it is an entry of the kernel's queue of 4,096 half-open
// connections. A PE sends its request with the connection.
const silence = time.Hour

// deferAccept makes the kernel hold back connections to libfabric's listening socket until they
// have sent a byte, and returns the descriptor of the socket. libfabric does not return it, so
// deferAccept searches the descriptors of the process for a socket with this address; it returns -1
// if there is none.
func deferAccept(addr []byte) int {
	return socketThat(func(fd int) bool {
		if listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || listens == 0 {
			return false
		}
		if at, err := unix.Getsockname(fd); err != nil || !sameSocket(at, addr) {
			return false
		}
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, int(silence/time.Second)) == nil
	})
}

// shutdown shuts down the socket of the connection between two addresses, for both sides. libfabric
// does not return the socket, so shutdown searches the descriptors of the process for it.
func shutdown(own, peer []byte) {
	fd := socketThat(func(fd int) bool {
		at, err := unix.Getpeername(fd)
		if err != nil || !sameSocket(at, peer) {
			return false
		}
		at, err = unix.Getsockname(fd)
		return err == nil && sameSocket(at, own)
	})
	if fd >= 0 {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR) // it may have ended by itself
	}
}

// socketThat returns the first descriptor of the process for which the function `is` returns true,
// or -1.
func socketThat(is func(fd int) bool) int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	for _, f := range files {
		if fd, err := strconv.Atoi(f.Name()); err == nil && is(fd) {
			return fd
		}
	}
	return -1
}

// sameSocket reports whether a socket has an address of libfabric's, a struct sockaddr: its port is
// at offset 2, and the IP address at 4 (IPv4) or at 8 (IPv6).
func sameSocket(at unix.Sockaddr, addr []byte) bool {
	if len(addr) < 16 {
		return false
	}
	port := int(binary.BigEndian.Uint16(addr[2:]))
	switch at := at.(type) {
	case *unix.SockaddrInet4:
		return at.Port == port && bytes.Equal(at.Addr[:], addr[4:8])
	case *unix.SockaddrInet6:
		return len(addr) >= 24 && at.Port == port && bytes.Equal(at.Addr[:], addr[8:24])
	}
	return false
}
