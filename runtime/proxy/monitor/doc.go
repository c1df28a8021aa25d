// Package monitor has the methods for the thread that drives an engine, besides polling: the next
// step after a poll, whether it may sleep, and how a sleep has ended. It owns the engine's lock and
// naps, by package wake, and the check for sleeps that should have ended. It knows neither
// operations nor the thread.
//
// Methods whose comments do not say otherwise are called without the lock.
package monitor
