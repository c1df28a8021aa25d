// Package ofi is the fabric.Provider over libfabric: one reliable datagram
// endpoint, its completion queue and its address vector. It is the only place
// that includes rdma/*.h.
//
// libfabric is loaded by dlopen, so that the library also works where it is
// missing; load.c holds the few functions of libfabric that are real symbols,
// everything else in its interface is inline over tables of the objects.
//
// What polls and sleeps is C (endpoint.c), because callers that wait in C call
// it without crossing into Go. What opens and chooses is Go.
package ofi
