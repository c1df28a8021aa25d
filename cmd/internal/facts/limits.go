package facts

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file requests from the kernel, by netlink, what limits the rate of each interface of this
// process's network namespace. A package for netlink would make the command larger by a seventh.

// Attributes of traffic control (linux/pkt_sched.h), which golang.org/x/sys/unix does not have, and
// offsets of a rate in their structs.
const (
	sizeOfTcmsg = 20

	attrKind    = 1
	attrOptions = 2

	tbfParms, tbfRate64     = 1, 4
	netemRate, netemRate64  = 6, 8
	htbParms, htbCeil64     = 1, 7
	rateOfSpec              = 8      // offset of the rate in struct tc_ratespec
	ceilOfHTB               = 12 + 8 // offset of the rate in ceil, the second tc_ratespec of struct tc_htb_opt
	sizeOfNetem             = 24     // bytes of the struct before the attributes of netem
	ifnameAttr, stateAttr   = 3, 16  // attributes of an interface
	stateUp                 = 6
	bitsOfByte, bitsOfMega  = 8, 1e6
	netlinkBuffer           = 64 << 10
	netlinkSeconds          = 2
	sequence                = 1
	requestDump             = unix.NLM_F_REQUEST | unix.NLM_F_DUMP
	attrHead, attrAlignment = 4, 4
)

// attributes returns the attributes of a netlink message by their types; of several with one type
// the last.
func attributes(data []byte) map[uint16][]byte {
	out := map[uint16][]byte{}
	for len(data) >= attrHead {
		n := int(binary.NativeEndian.Uint16(data))
		if n < attrHead || n > len(data) {
			break
		}
		out[binary.NativeEndian.Uint16(data[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)] = data[attrHead:n]
		data = data[min((n+attrAlignment-1)&^(attrAlignment-1), len(data)):]
	}
	return out
}

// requestAll asks the kernel by netlink for everything of a kind, such as all interfaces, and
// returns the messages of its reply. After an error it returns what came before.
func requestAll(kind uint16, body []byte) (out []syscall.NetlinkMessage) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: netlinkSeconds}) // the kernel replies immediately
	head := unix.NlMsghdr{Len: uint32(unix.SizeofNlMsghdr + len(body)), Type: kind, Flags: requestDump, Seq: sequence}
	request := append(slices.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&head)), unix.SizeofNlMsghdr)), body...)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil
	}
	for {
		buffer := make([]byte, netlinkBuffer)
		n, _, err := unix.Recvfrom(fd, buffer, 0)
		if err != nil {
			return out
		}
		messages, err := syscall.ParseNetlinkMessage(buffer[:n])
		if err != nil {
			return out
		}
		for _, m := range messages {
			if m.Header.Type == unix.NLMSG_DONE || m.Header.Type == unix.NLMSG_ERROR {
				return out
			}
			out = append(out, m)
		}
	}
}

// readLimits adds to each NIC the limit on its rate that traffic control sets, and adds NICs of
// this network namespace that the files do not list.
func (h *Host) readLimits() {
	for _, m := range requestAll(unix.RTM_GETLINK, make([]byte, unix.SizeofIfInfomsg)) {
		if len(m.Data) < unix.SizeofIfInfomsg {
			continue
		}
		index, all := m.Data[4:8], attributes(m.Data[unix.SizeofIfInfomsg:])
		name := string(bytes.TrimRight(all[ifnameAttr], "\x00"))
		if name == "" || name == "lo" || strings.HasPrefix(name, "ifb") {
			continue
		}
		at := slices.IndexFunc(h.NICs, func(n NIC) bool { return n.Name == name })
		if at < 0 {
			at = len(h.NICs)
			h.NICs = append(h.NICs, NIC{Name: name, Up: len(all[stateAttr]) > 0 && all[stateAttr][0] == stateUp})
		}
		h.NICs[at].Limit, h.NICs[at].By = limitOf(index)
	}
}

// limitOf returns the lowest rate of the queues of an interface and of the classes in them, in
// Mb/s, and the kind of queue that has it; 0 if there is no limit. index is the interface's number
// as the kernel's messages have it.
func limitOf(index []byte) (mbps int, by string) {
	for _, kind := range []uint16{unix.RTM_GETQDISC, unix.RTM_GETTCLASS} {
		// Bytes 4 to 7 of struct tcmsg are the interface's index.
		body := make([]byte, sizeOfTcmsg)
		copy(body[4:], index)
		for _, m := range requestAll(kind, body) {
			if len(m.Data) < sizeOfTcmsg || !bytes.Equal(m.Data[4:8], index) {
				continue // the kernel lists the queues of every interface
			}
			all := attributes(m.Data[sizeOfTcmsg:])
			name := string(bytes.TrimRight(all[attrKind], "\x00"))
			if n := int(float64(rateOf(name, all[attrOptions])) * bitsOfByte / bitsOfMega); n > 0 && (mbps == 0 || n < mbps) {
				mbps, by = n, name
			}
		}
	}
	return mbps, by
}

// rateOf returns the rate that the options of a queue or class set, in bytes a second; 0 if they
// set none. Rates that do not fit into 32 bits are in an attribute of 64 bits.
func rateOf(kind string, options []byte) uint64 {
	parms, long, at := uint16(0), uint16(0), 0
	switch kind {
	case "tbf":
		parms, long, at = tbfParms, tbfRate64, rateOfSpec
	case "htb":
		parms, long, at = htbParms, htbCeil64, ceilOfHTB
	case "netem":
		parms, long = netemRate, netemRate64
		options = options[min(sizeOfNetem, len(options)):]
	default:
		return 0
	}
	all := attributes(options)
	if v := all[long]; len(v) >= 8 {
		return binary.NativeEndian.Uint64(v)
	}
	if v := all[parms]; len(v) >= at+4 {
		return uint64(binary.NativeEndian.Uint32(v[at:]))
	}
	return 0
}
