// Package topo knows which PEs share a machine.
//
// It is pure but for HostID, which reads /proc. It knows nothing of memory or
// networks; runtime/pe makes segments of its nodes and connects the rest.
package topo
