// Package regcache keeps memory of the program registered with a NIC from one
// operation to the next, where the NIC wants it registered: that costs as long as
// moving some hundred kilobytes. It owns which registrations there are, for how
// long, and how many; the registering is a provider's, and that memory has got
// other pages it is told by a Watch (package unmapped).
//
// A registration holds pages, not addresses. When the program unmaps memory and
// gets other pages at the same address, what was registered moves bytes that nobody
// sees. So Get first asks the Watch, and a registration over memory that has changed
// is used no more. Memory that cannot be watched, and all memory where there is no
// Watch or where it does not know, is registered for one operation, and no longer.
//
// # Threads
//
// A Cache belongs to whoever holds the lock of its provider's engine.
package regcache
