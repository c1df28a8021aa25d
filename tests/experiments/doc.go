// Package experiments runs programs with one fault each under the modes slow, early and chaos of
// libshmem_preload.so, and the same programs without the fault, which have to stay silent.
package experiments
