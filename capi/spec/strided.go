package spec

const stridedErrors = remoteErrors + " Also when a stride is less than 1."

var (
	blockDst = Param{Name: "dst", C: "ptrdiff_t", Unit: "elements", Doc: "from the start of one block of " +
		"dest to the next; at least 1"}
	blockSst = Param{Name: "sst", C: "ptrdiff_t", Unit: "elements", Doc: "from the start of one block of " +
		"source to the next; at least 1"}
	strideDst   = Param{Name: "dst", C: "ptrdiff_t", Unit: "elements", Doc: "from one copied element of dest to the next; at least 1"}
	strideSst   = Param{Name: "sst", C: "ptrdiff_t", Unit: "elements", Doc: "from one copied element of source to the next; at least 1"}
	stridedPut  = []Param{{Name: "dest", C: "T *", Role: Written}, {Name: "source", C: "const T *", Role: Source}}
	stridedGet  = []Param{{Name: "dest", C: "T *", Role: Result}, {Name: "source", C: "const T *", Role: Read}}
	blockParams = []Param{
		blockDst, blockSst,
		{Name: "bsize", C: "size_t", Unit: "elements", Doc: "of each block"},
		{Name: "nblocks", C: "size_t", Doc: "how many blocks"},
		paramPE,
	}
	elementParams = []Param{strideDst, strideSst, paramNelems, paramPE}
)

var strided = Chapter{
	File:   "strided",
	Title:  "Remote Memory Access Routines",
	Over:   []string{"front.h", "strided.h"},
	Range:  RangeRMA,
	Kernel: kernelStrided,
	Families: []Family{
		{
			Name: "iput", Section: "SHMEM_IPUT", Since: "0.1", Contexts: true,
			Types: RMATypes, Variants: Sized,
			Params: append(append([]Param{}, stridedPut...), elementParams...),
			Front:  "shmemi_iput($ctx, dest, source, dst, sst, 1, nelems, $size, pe, $call)",
			Kernel: []Kernel{{
				Types: KernelTypes, Variants: Sized, Scopes: allScopes,
				Body: "shmemi_iput<$scope, $size>($job, $call, dest, source, dst, sst, nelems, pe)",
			}},
			Doc: "Copies every sst-th element of an array to every dst-th one of an array of another PE. " +
				"It returns when source may be reused; the data may still be in flight.",
			Errors: stridedErrors, Order: "As put.", Check: CheckIput,
		},
		{
			Name: "iget", Section: "SHMEM_IGET", Since: "0.1", Contexts: true,
			Types: RMATypes, Variants: Sized,
			Params: append(append([]Param{}, stridedGet...), elementParams...),
			Front:  "shmemi_iget($ctx, dest, source, dst, sst, 1, nelems, $size, pe, $call)",
			Kernel: []Kernel{{
				Types: KernelTypes, Variants: Sized, Scopes: allScopes,
				Body: "shmemi_iget<$scope, $size>($job, $call, dest, source, dst, sst, nelems, pe)",
			}},
			Doc: "Copies every sst-th element of an array of another PE to every dst-th one of the " +
				"caller's. It returns when the data is in dest.",
			Errors: stridedErrors, Order: "As get.", Check: CheckIget,
		},
		{
			Name: "ibput", Section: "SHMEM_IBPUT", Since: "0.1", Contexts: true,
			Types: RMATypes, Variants: Sized,
			Params: append(append([]Param{}, stridedPut...), blockParams...),
			Front:  "shmemi_iput($ctx, dest, source, dst, sst, bsize, nblocks, $size, pe, $call)",
			Doc: "Copies blocks of bsize elements, dst and sst elements apart, to another PE. It returns " +
				"when source may be reused; the data may still be in flight. Where the blocks of dest " +
				"overlap, it is undefined which elements remain.",
			Errors: stridedErrors, Order: "As put.", Check: CheckIput,
		},
		{
			Name: "ibget", Section: "SHMEM_IBGET", Since: "0.1", Contexts: true,
			Types: RMATypes, Variants: Sized,
			Params: append(append([]Param{}, stridedGet...), blockParams...),
			Front:  "shmemi_iget($ctx, dest, source, dst, sst, bsize, nblocks, $size, pe, $call)",
			Doc: "Copies blocks of bsize elements, dst and sst elements apart, from another PE. It returns " +
				"when the data is in dest. Where the blocks of dest overlap, it is undefined which " +
				"elements remain.",
			Errors: stridedErrors, Order: "As get.", Check: CheckIget,
		},
	},
}
