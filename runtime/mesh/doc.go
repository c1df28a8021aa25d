// Package mesh connects processes that form no job: members join and leave while others
// communicate, and a member may register memory by itself, at any time. The package owns the
// members, the regions and the requests of a mesh, and the messages by which members agree about
// regions. Operations, their order and the network are those of runtime/proxy, whose engine does
// the work, and the thread that drives the engine is that of runtime/proxy/loop.
//
// A mesh has no state that is shared by the process: a process may have several meshes, and a job
// besides. A mesh gets its settings and its log as arguments. An error ends a request, or the
// connection with a member, or at worst the mesh.
//
// # Members
//
// A member has a number, which the program chooses, and an address, a blob that the program sends
// to the other members (address.go). Two members can communicate as soon as each has added the
// other's address. A member leaves by Close, is lost, or is removed. Its number is not used for
// another member afterwards, so that no late packet is mistaken for one of that member.
//
// A process is a member because it knows the secret of the mesh. No blob contains the secret. Each
// blob ends with a proof that its author knows the secret, so that a blob of another mesh, or one
// that was changed, is rejected when it is read. Connections have a proof of their own.
//
// # Regions
//
// A region has a number, which its owner chooses. Another member imports the region by a blob that
// contains neither an address nor a key: it sends a request to the owner, which records the
// importer and replies with both. To close a region, the owner sends a message to its importers.
// They refuse new operations, wait until those in flight have ended, and reply. After the last
// reply no operation can access the memory any more, and the program may free it. An importer that
// does not reply is removed, and its connection is closed.
//
// GPU memory is a region like any other (gpu.go), if its owner and the members that use it have
// opened their meshes for it. If the owner's NIC can reach it (GPUDirect RDMA), larger puts and
// gets are one-sided operations on it, as on main memory. Otherwise its bytes go through pinned
// memory at the owner, and so do those of GPU memory that is the source or the destination of an
// operation, unless it is such a region: the GPU stage of the engine does that. Signals in GPU
// memory are always updated by the owner.
//
// # Messages
//
// Programs send each other messages (message.go). They travel as those by which members agree about
// regions, and the receiver stores a window of them for each sender.
//
// # Threads and order
//
// Any thread may call the functions of this package. The engine's lock guards all state, and no
// call waits with the lock held. If the engine has no room for an operation, the operation waits in
// the queue of its member, in order; the loop, and callers that test requests, post it later
// (drive.go).
//
// Operations of one context on one member have no order, with three exceptions: a signal follows
// the bytes of its own put, an ordered operation follows all earlier operations, and a flush is
// complete when all earlier operations are. Operations of different contexts have no order.
package mesh
