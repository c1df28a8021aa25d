package mrcache_test

import (
	"fmt"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/mrcache"
)

// BenchmarkGet measures the registration of an operation's buffer: a hit, and without a cache, by a
// NIC that does no more than hold the pages.
func BenchmarkGet(b *testing.B) {
	for _, n := range []uintptr{16 << 10, 64 << 10, 1 << 20, 16 << 20} {
		for _, kept := range []bool{true, false} {
			b.Run(fmt.Sprintf("%dKiB/kept=%v", n>>10, kept), func(b *testing.B) {
				nic, p := openNIC(b), anonymous(b, nil, n)
				touch(p, n)
				c := mrcache.New(nic, nil, limits)
				if kept {
					c = mrcache.New(nic, openWatch(b), limits)
				}
				for b.Loop() {
					once(b, c, p, n)
				}
				_ = c.Close()
				_, _, _ = unix.Syscall(unix.SYS_MUNMAP, uintptr(p), n, 0)
			})
		}
	}
}

// BenchmarkShortLived is a buffer that is mapped, used once and unmapped, which a
// cache only makes slower; plain is without any registration.
func BenchmarkShortLived(b *testing.B) {
	const n = 256 << 10
	for _, how := range []string{"plain", "kept", "single"} {
		b.Run(how, func(b *testing.B) {
			nic := openNIC(b)
			c := mrcache.New(nic, nil, limits)
			if how == "kept" {
				c = mrcache.New(nic, openWatch(b), limits)
			}
			for b.Loop() {
				p := anonymous(b, nil, n)
				touch(p, n)
				if how != "plain" {
					once(b, c, p, n)
				}
				call(b, "munmap", unix.SYS_MUNMAP, uintptr(p), n)
			}
			_ = c.Close()
		})
	}
}

func touch(p unsafe.Pointer, n uintptr) {
	for i := uintptr(0); i < n; i += page {
		*(*byte)(unsafe.Add(p, i)) = 1
	}
}

func once(b *testing.B, c *mrcache.Cache, p unsafe.Pointer, n uintptr) {
	r, err := c.Get(p, uint64(n))
	if err == nil {
		err = c.Put(r)
	}
	if err != nil {
		b.Fatal(err)
	}
}
