// Package topo knows which PEs share a machine, and which of its NICs are near to each of them.
//
// It also distributes the processors of a machine among the PEs that a launcher starts there
// (ReadProcessors, Deal).
//
// It owns the description of a machine (Machine), read from the text that hwloc writes (ReadXML) or
// from /sys (ReadSys); the distance of two places of the machine (Distance); which PE uses which
// NICs (Share, Plan) and the settings for that choice (ParseList, ParseMapping); and the output of
// a machine and a choice as text (Draw, Table). The library hwloc is in runtime/topo/hwloc, so that
// everything here is tested with descriptions of machines in files.
//
// It knows nothing of memory or networks: runtime/job makes memory segments for its nodes, passes
// it the NICs that libfabric offers, and binds threads.
//
// Any thread may call it. Once ReadXML or ReadSys has returned a Machine, only Only changes it.
package topo
