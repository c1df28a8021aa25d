// Package waits tests how PEs of a node wait for each other: the sleep protocol of
// capi/front/sleep.c step by step, and the policy of capi/front/wait.c in a model of a machine whose
// sleeping processors are slow to wake.
package waits
