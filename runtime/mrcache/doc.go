// Package mrcache keeps memory of the program registered with a NIC from one operation to the
// next, where the NIC wants it registered: a registration takes as long as moving some hundred
// kilobytes. It owns the list of registrations, their lifetime and their number; a provider
// registers, and a Watch (package memmonitor) reports memory that has got other pages.
//
// A registration holds pages, not addresses. When the program unmaps memory and gets other pages at
// the same address, the registration moves bytes that the program does not see. So Get first asks
// the Watch, and a registration over memory that has changed is used no more. Memory that cannot be
// watched, and all memory where there is no Watch or where it does not know, is registered for one
// operation, and no longer.
//
// # Threads
//
// The holder of the lock of its provider's engine owns a Cache.
package mrcache
