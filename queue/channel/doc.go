// Package channel serves the proxy channel of NVSHMEM's device code: kernels that were compiled
// with NVIDIA's headers and device archive submit operations on PEs that loads and stores do not
// reach as requests in a buffer. The package decodes the requests and pushes them into a ring
// (package queue), as a producer like any other, so that the proxies carry them out, and returns
// results to the kernels. It knows the layouts of NVSHMEM 3.3 to 3.8, which were read in the
// headers of NVIDIA's wheels; a request says itself which form it has, so one channel serves code
// of several releases.
//
// # Layout
//
// A request is a row of entries of 8 bytes. The lowest bit of each entry says whether it is stored:
// it changes from one round through the buffer to the next. Positions count bytes through all
// rounds. Kernels reserve positions by an addition, and store the entries in any order, so each
// entry is read with acquire order.
//
//	base       offset in the target's heap 40 bits, operation 8, group 8, flag 8
//	put, get   address 56 and flag; length 48, lowest byte of the address 8, flag; queue 32, PE 16
//	p          lower half of the value, PE 16; upper half, size 16
//	put_signal as put; offset of the signal 40, operation 8, lowest byte of the value; the rest
//	amo        lower half of the operand, PE 16, operation 8; upper half, size 16, lowest byte of
//	           the comparand; the rest of it; number of the element for the result
//	fence      base alone
//
// From 3.5 on operations on a queue pair have codes that are greater by 100. Then p and amo have
// one entry more, and a quiet is a request: the kernel waits until complete has passed it.
//
// # Order
//
// Requests enter the ring in the order of their positions. A fence in the channel is a fence in the
// ring, pushed before the next operation. A put, a fence and an operation on a signal in a row, a
// put with signal up to 3.4, are one operation. The position of a quiet (quiet_issue) is
// acknowledged when a quiet that was pushed after all requests below it is complete: then the bytes
// of gets can be read by kernels, too.
package channel
