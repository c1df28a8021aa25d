// Package mrcache keeps memory of the program registered with a NIC from one operation to the
// next, if the NIC needs registrations: a registration takes as long as moving some hundred
// kilobytes. It owns the list of registrations, their lifetime and their number; a provider makes
// the registrations, and a Watch (package memmonitor) reports memory that now has other pages.
//
// A registration holds pages, not addresses. When the program unmaps memory and gets other pages at
// the same address, the registration moves bytes that the program does not see. So Get first reads
// the Watch's changes, and drops registrations over memory that has changed. Memory that cannot be
// watched is registered for one operation only, and so is all memory if there is no Watch, or while
// the Watch sees a change whose range it does not know yet.
//
// # Threads
//
// A thread may use a Cache while it holds the lock of the engine of the Cache's provider.
package mrcache
