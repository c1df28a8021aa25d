// Package front runs units of capi/front by themselves, over a core that the test has written: what
// two threads do to each other in each of their possible orders, and what the compiler makes of
// code whose order it must keep. It needs no library.
package front
