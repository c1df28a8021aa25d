// Package uid brings together PEs that share nothing but 128 bytes: a unique id, which one process
// makes and the program hands to all PEs in its own way.
//
// The process that makes an id is its root. It listens on a TCP port of every address it has, and
// the id carries these addresses, of IPv4 and IPv6, with a secret. A PE tries them one shortly
// after the other and takes the first that proves to know the secret, so that an interface that is
// dead, or an address that another host has as well, costs some milliseconds and no more. Root and
// PEs prove to each other that they know the secret, which never travels again.
//
// Where the user has set the address and the port of PE 0's host (session.go), each process makes
// the same id, and the root begins with PE 0.
//
// The protocol on the connection is runtime/bootstrap/wire, each frame in an envelope with its
// number. A connection that breaks is made anew by the PE, and both sides go on with the frame
// after the last one that came (conversation.go). A PE whose connection stays away is lost.
//
// The root lives until every PE has left the job, in goroutines of the process that made the id,
// which is mostly that of PE 0. When that process ends before, the job has no bootstrap any more,
// and each PE watches the others as it can.
package uid
