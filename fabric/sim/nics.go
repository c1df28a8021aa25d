package sim

import (
	"libshmem/fabric"
	"libshmem/fabric/faults"
)

// The models of NICs follow libfabric's providers for these NICs: their figures are those of
// fabric/ofi/stub/rules.tsv (zz_rules.go), and TestTable compares their behaviour with it. Facts
// that the table does not have, the wires among them, are assumptions as of the newest release in
// the table.
//
// In one thing they differ from the providers: a completion queue that overruns reports it, so that
// a test notices.

// Verbs returns the model of reliable connections of InfiniBand (verbs;ofi_rxm): in order, but for
// messages after writes, which rxm does not promise beside atomic operations, and without fences.
func Verbs() Model {
	return Model{
		Name: "verbs",
		Caps: fabric.Caps{
			MaxMessage: 1 << 30, MaxInject: ruleG61, MaxInjectWrite: ruleG61, VirtualAddress: true, LocalMR: true, PinsMemory: true,
			WriteAfterWrite: true, SendAfterSend: true, DeliveryComplete: true, InjectSilent: true,
			Data: ruleG62, Source: true, LocalSegments: 30, RemoteSegments: 1,
			Atomics: fabric.Ops(0).With(fabric.OpFetchAdd, 8).With(fabric.OpCompareSwap, 8),
		},
		MTU: 4096, Header: 58, Bandwidth: 200e9, Latency: Microsecond, Depth: ruleG66, Detect: 2 * Millisecond,
		Strangers: true,
		Faults:    faults.Faults{Reorder: 0.05, Delay: 5 * Microsecond, Late: 0.2, Split: 0.2},
	}
}

// VerbsPaths returns Verbs over a wire of many paths, on which packets overtake each other: a NIC
// writes each packet of 4 KiB in order, counted from the start of the Write, and that is the only
// order.
func VerbsPaths() Model {
	m := Verbs()
	m.Name = "verbs-paths"
	m.Caps.WriteAfterWrite, m.Caps.SendAfterSend, m.Caps.Block = false, false, 4096
	m.Faults = faults.Faults{Reorder: 0.5, Delay: 5 * Microsecond, Late: 0.2, Split: 0.3}
	return m
}

// srd returns what the models of the fabrics efa and efa-direct share: Amazon's NIC (EFA) at 200
// Gb/s, whose protocol SRD sends packets of 8 KiB over many paths, without any order. The option
// FI_OPT_EFA_WRITE_IN_ORDER_ALIGNED_128_BYTES, by which the NIC writes the bytes of each aligned
// block of 128 in order and exactly once, is off in this model: a packet of a Write may be written
// twice. The library asks libfabric for FI_ORDER_SAS, SAW and WAW together. Neither fabric offers all
// three, so endpoints get no order.
func srd() Model {
	return Model{
		Caps: fabric.Caps{
			VirtualAddress: true, LocalMR: true, PinsMemory: true, DeliveryComplete: true,
			Data: ruleG7, Source: true, RemoteSegments: ruleG6d, RecvQueue: ruleR16c,
		},
		MTU: 8192, Header: 100, Bandwidth: 200e9, Latency: 8 * Microsecond, Depth: ruleR16b, Queue: ruleR3b, Detect: 5 * Millisecond,
		Faults: faults.Faults{Reorder: 0.5, Delay: 20 * Microsecond, Duplicate: 0.002, Late: 0.2, Split: 0.3},
	}
}

// EFA returns the model of the fabric efa: software moves messages, and the NIC moves Writes and
// Reads once the peer has replied to a handshake.
func EFA() Model {
	m := srd()
	m.Name = "efa"
	m.Caps.MaxMessage, m.Caps.LocalSegments = ruleG4a, ruleG6a
	m.Caps.MaxInject = min(ruleG4e-m.Header, ruleG5a)
	m.Caps.MaxInjectWrite = m.Caps.MaxInject
	m.Handshake, m.Software, m.Strangers = ruleR10c, true, true
	return m
}

// EFADirect returns the model of the fabric efa-direct, on which a message has at most the MTU and
// a receiver that is not ready makes the sender repeat it. The numbers are those of rules.tsv.
func EFADirect() Model {
	m := srd()
	m.Name = "efa-direct"
	m.Caps.MaxMessage, m.Caps.LocalSegments = ruleG4b, ruleG6c
	m.Caps.MaxInject, m.Caps.MaxInjectWrite = ruleG5c, ruleG5d
	m.Longest, m.Retries = ruleG4e, true
	return m
}

// EFA100 returns EFADirect with NICs of 100 Gb/s, of which a host has many.
func EFA100() Model {
	m := EFADirect()
	m.Name, m.Bandwidth = "efa-100", 100e9
	return m
}
