// Package ofi is the fabric over libfabric: it finds the library, chooses a provider and its NICs,
// and is a fabric.Provider on one reliable datagram endpoint. Where libfabric's datagrams over
// sockets connect with any process, it can make the connections itself, each with a proof of both
// ends: connected.go and connected.c, by the rules of fabric/ofi/pair. It is the only package that
// includes libfabric's headers.
//
// It knows no heap, no team and no order beyond the provider's grants, and starts no thread. Some
// providers start threads of their own.
//
// libfabric is not linked: load.c opens it at the first use and stands in for its few entry points,
// so that a job on one machine needs no libfabric and a build against old headers runs with a newer
// library. All other calls of libfabric's interface go through tables inside its objects. The
// headers may be older than the library, so objects of libfabric's types come from the library's
// own allocators only.
//
// Completions are kept in C memory, one context for each token, so that posting and polling
// allocate nothing in Go. native.h declares the functions that poll and wait without Go.
//
// choose.go and nics.go have the defaults, endpoint.c the hints for the provider, and
// fabric/fabrictest tests the result.
package ofi
