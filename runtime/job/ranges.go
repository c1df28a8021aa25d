package job

import (
	"libshmem/runtime/config"
	"libshmem/runtime/nvtx"
	"libshmem/runtime/shmerr"
)

// Ranges show this PE's work to a profiler (SHMEM_NVTX).
type Ranges struct {
	// Open returns which of some groups of ranges will be shown: none if no profiler is attached,
	// and -1 if the library was built without support for ranges. It is called if SHMEM_NVTX names
	// groups.
	Open func(config.Ranges) int
	// Proxy shows the work of the proxies.
	Proxy nvtx.Show

	live config.Ranges // the groups that are shown
}

// open turns on the groups of NVTX ranges that SHMEM_NVTX names. The functions are in C, which may
// have been built without NVTX.
func (r *Ranges) open(groups config.Ranges) error {
	if groups == 0 || r.Open == nil {
		return nil
	}
	live := r.Open(groups)
	if live < 0 {
		return &shmerr.Error{
			Op: "read", Object: "SHMEM_NVTX", Cause: shmerr.Causef(shmerr.ErrSetting, "this libshmem.so was built without NVTX and has no ranges"),
			Remedy: "unset it, or build the library after scripts/setup demo, which fetches NVTX's headers",
		}
	}
	r.live = config.Ranges(live)
	return nil
}

// proxy returns the function that shows the ranges of proxies; nil: they are not shown.
func (r *Ranges) proxy() nvtx.Show {
	if r.live&config.RangeProxy == 0 {
		return nil
	}
	return r.Proxy
}

// FastPath reports whether puts, gets and atomics may be served inline, which shows no ranges to a
// profiler.
func (r *Ranges) FastPath() bool { return r.live&config.RangesInline == 0 }

// FastOrder reports whether fences and quiets may be served inline, which shows no ranges to a
// profiler.
func (r *Ranges) FastOrder() bool { return r.live&config.RangeMemOrder == 0 }
