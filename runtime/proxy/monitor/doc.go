// Package monitor has what the thread that drives an engine asks it besides polling: what to do after
// a poll, whether it may sleep, and how a sleep has ended. It owns the engine's lock and naps, by
// package wake, and the check for sleeps that should have ended. It does not know operations, nor the
// thread.
//
// Methods whose comments do not say otherwise are called without the lock.
package monitor
