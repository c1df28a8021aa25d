// Package hostmem owns the memory of the symmetric heaps of one node: one memory file, one mapping
// of it in every PE, and the decision whether more of it can be used.
//
// The first PE of the node makes the file with Create and passes its descriptor to the others over
// a Unix socket (Listen, Serve, Receive). Every PE then maps the whole file once (Map). The file
// has one slice per PE, in the order of their rank on the node; Plan divides a slice. The file has
// no name in any file system, so the size limit of /dev/shm does not matter, and it disappears with
// the last process that maps it.
//
// Mapping reserves only address space. A page takes memory when it is first touched. Commit checks
// beforehand whether there is enough memory: if not, the allocation fails, and the kernel does not
// kill the process later. Package heap decides which bytes are in use.
//
// Nothing here is safe for concurrent use, and no function starts a thread.
package hostmem
