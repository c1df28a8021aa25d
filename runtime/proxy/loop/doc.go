// Package loop drives an engine while the program does something else. It owns the thread that
// polls and sleeps (Loop), the consumer that empties rings into the engine (Consumer), the map of
// this process's memory (Locals), the check for rings that stand still, and the processors on which
// the thread runs. It does not know how an operation is sent, ordered or completed, and it knows no
// provider: it reaches the engine by the interfaces Monitor and Poster. Package runtime/job makes
// engines, loops and consumers, and connects them.
//
// # Threads
//
// Run is one goroutine for each engine. It holds the engine's lock for a poll, or for an iteration
// of its consumer, and unlocks it before it sleeps. Any thread that does not hold the lock may call
// Attach, Stop and Finish; the comments of Settle, Settled and Join say when they may be called.
//
// If the provider has C functions, package fastpath serves the simple operations in C for some
// milliseconds at a time, and locks the engine anew in each iteration; then Go does an iteration of
// its own. C leaves other operations as they are. So Go has all of the rules, and C a part of them,
// which changes neither order nor outcome.
//
// A PE may have several engines, each with a loop and a consumer. Consumers of one PE know each
// other (Join), because a quiet or fence that was pushed into one ring covers operations that were
// taken from the others.
//
// # Sleep
//
// A loop with nothing to do sleeps until the network wakes it, and for 250 ms at most. Producers
// that are threads of this process wake it: they store their slots and then check whether it
// sleeps, and it announces the sleep and then checks the slots, with a barrier on both sides.
// Kernels cannot wake a thread, so for them the loop polls every 500 us. While callers poll the
// network, the loop leaves it to them.
//
// # Order
//
// Operations of one ring on one PE are posted in their order. Package proxy says what the engine
// promises for them afterwards. A ring's tail passes an operation only when that is posted or waits
// to be posted, and the producer of a quiet or fence gets its reply when the engine has completed
// the operations before it.
package loop
