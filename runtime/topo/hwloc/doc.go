// Package hwloc asks the hwloc library what this machine looks like.
//
// It owns the library, which is opened when the first question comes and need not be
// there, and the question: without plug-ins, without caches and cores, with every PCI
// device. What the answer means is for runtime/topo: it passes as text in hwloc's own
// format, so that no layout of its objects is relied on.
//
// Any thread may call it; the calls follow each other. It promises no memory order.
package hwloc
