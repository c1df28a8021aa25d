// Package fastpathtest has fake providers in C, for tests and measurements of the part of the proxy
// that is in C. Box stores messages and receive buffers until a network in Go fetches them; Null
// completes every operation at once. Neither has the rules of a network. Path calls the functions
// of fastpath.h from Go.
//
// One thread at a time calls a provider, as for any fabric.Provider.
package fastpathtest
