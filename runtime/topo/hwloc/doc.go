// Package hwloc asks the hwloc library for a description of this machine.
//
// It owns the library, which is opened when the first question comes and need not be there, and the
// question: without plug-ins, without caches and cores, with every PCI device. runtime/topo
// interprets the answer: it passes as text in hwloc's own format, so that no layout of its objects
// is relied on.
//
// Any thread may call it; the calls follow each other. It promises no memory order.
package hwloc
