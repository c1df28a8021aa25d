// Package hwloc gets a description of this machine from the hwloc library.
//
// It opens the library at the first call, and returns an error if hwloc is not installed. It
// decides what the description contains: every PCI device, but no caches and cores, and nothing
// from plug-ins. The description is a text in hwloc's own format, so that no layout of hwloc's
// objects matters; runtime/topo interprets the text.
//
// Any thread may call it; one call runs at a time. It promises no memory order.
package hwloc
