// Package uid brings together PEs that share nothing but 128 bytes: a unique id, which one process
// makes and the program passes to all PEs in its own way.
//
// The process that makes an id becomes its root, the server of the job's bootstrap. It listens on a
// TCP port of every address it has, and the id carries these addresses, of IPv4 and IPv6, with a
// secret. A PE tries them one shortly after the other and uses the first at which a process proves
// that it knows the secret, so that a dead interface, or an address that another host has as well,
// costs only some milliseconds. Root and PEs prove to each other that they know the secret, and do
// not send it.
//
// If the user has set the address and the port of PE 0's host (session.go), each process makes the
// same id, and PE 0 starts the root.
//
// The protocol on a connection is runtime/bootstrap/wire, each frame in an envelope with its
// number. If a connection breaks, the PE makes a new one, and both sides continue with the frame
// after the last one that arrived (conversation.go). A PE that does not connect again in time is
// lost.
//
// The root lives until every PE has left the job, in goroutines of the process that made the id,
// which usually is PE 0. If that process ends before, the job has no bootstrap any more, and the
// PEs can only watch each other.
package uid
