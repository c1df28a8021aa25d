package efa

import "slices"

// needs returns all of them. Those of a defect begin with its number.
func needs() []need {
	return slices.Concat(sizeNeeds, lossNeeds, cudaNeeds, fabricNeeds, memoryNeeds, slingshotNeeds)
}
