// Package fastpathtest has providers in C for those who test or measure a proxy
// that is in C: Box keeps what it is given until a network of Go takes it, Null
// completes everything at once. They own no rules of a network.
//
// Both are called by one thread at a time, as any fabric.Provider.
package fastpathtest
