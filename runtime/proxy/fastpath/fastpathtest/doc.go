// Package fastpathtest has providers in C for tests and measurements of the part of the proxy that
// is in C. Box keeps what is posted until a network in Go takes it; Null completes everything at
// once. They have no rules of a network.
//
// One thread at a time calls either, as for any fabric.Provider.
package fastpathtest
