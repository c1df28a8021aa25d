// Package endpoint owns this PE's end of one network: the provider, the registration of the
// symmetric segment and of callers' memory, the message buffers, the routes to the memory of other
// PEs, and the list of lost PEs. It knows neither the meaning of a message nor the operations under
// way.
//
// It starts no thread and takes no lock: its caller holds the engine's lock in each call. Memory
// order is the provider's.
package endpoint
