// Package mesh is the engine without a job: members that join and leave while others work, and
// memory that one of them registers by itself, at any time. It owns the members, the regions and
// the requests of a mesh, and the messages by which members agree about regions. Operations, their
// order and the network are those of runtime/proxy, and the thread that drives the engine is that
// of runtime/proxy/loop.
//
// Nothing here belongs to the process: a process may have several meshes, and a job besides. A mesh
// gets its settings and its log as values, and an error ends a request or a member, or at worst the
// mesh.
//
// # Members
//
// A member has a number, which the program gives it, and an address, a blob that the program
// carries to the others (address.go). A member works with another as soon as it has added the blob
// of that one, and has been added by it. It leaves by Close, is lost, or is removed. Its number is
// not given to another member afterwards, so that no late packet can be taken for one of the next.
//
// The secret is what makes a process a member. It is in no blob. Blobs carry a proof of it, so that
// one of another mesh, or a changed one, is refused when it is read, and the connections carry
// another.
//
// # Regions
//
// A region has a number that its member gives it. Another member imports it by a blob that has
// neither address nor key: it asks the owner, who notes the importer and answers with both. To close
// a region the owner tells its importers, which refuse new operations, let those under way end, and
// answer. After the last answer the memory is free: no operation can meet it any more. An importer
// that does not answer is removed, with its connection.
//
// # Threads and order
//
// Any thread may call. All state is under the engine's lock, and no call waits with the lock held.
// Where the engine has no room for an operation it waits in the queue of its member, in order; the
// loop and callers that test requests post it later (drive.go).
//
// Operations of a context on one member have no order but this: a signal follows the bytes of its
// own put, an ordered operation follows all earlier ones, and a flush is complete when all earlier
// ones are. Contexts have no order between them.
package mesh
