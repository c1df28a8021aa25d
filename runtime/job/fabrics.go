package job

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/runtime/config"
)

// nicInfo is what every PE tells of its NICs before it opens them.
type nicInfo struct {
	NICs    int
	Fabric  string   // that it would take; "": the provider has no names for fabrics
	Fabrics []string // that it could take instead, and that one
	Version string   // of libfabric, where there is a Fabric
}

// nicInfos tells every PE of this one's NICs, and returns what all have told.
func (j *Job) nicInfos(n *nics) ([]nicInfo, error) {
	mine := nicInfo{NICs: len(n.NICs()), Fabric: n.Fabric()}
	if mine.Fabric != "" {
		mine.Fabrics, mine.Version = n.Fabrics(), n.Version()
	}
	b, err := encode(mine)
	if err != nil {
		return nil, err
	}
	all, err := j.boot.Allgather(b)
	if err != nil {
		return nil, err
	}
	return decodeAll[nicInfo](all)
}

// agreeOnFabric moves this PE's NICs to the fabric that the job takes.
func (j *Job) agreeOnFabric(n *nics, infos []nicInfo) error {
	fabric, err := commonFabric(infos)
	if err != nil || fabric == "" || fabric == n.Fabric() {
		return err
	}
	j.log.Printf("fabric", config.LogInfo, "takes fabric %s in place of %s: not every PE can take the latter", fabric, n.Fabric())
	return n.MoveTo(fabric)
}

// commonFabric is the fabric that all PEs take: that of each where they agree, else the first
// that all are offered. It is "" where some PE has a provider whose fabrics have no names: if
// others have one with names, their endpoints are refused later, by name of the providers.
func commonFabric(infos []nicInfo) (string, error) {
	agreed := true
	for i := range infos {
		if infos[i].Fabric == "" {
			return "", nil
		}
		agreed = agreed && infos[i].Fabric == infos[0].Fabric
	}
	if agreed {
		return infos[0].Fabric, nil
	}
	common := slices.Clone(infos[0].Fabrics)
	var kinds []int // PEs, one of each kind of card
	for pe := range infos {
		common = slices.DeleteFunc(common, func(f string) bool { return !slices.Contains(infos[pe].Fabrics, f) })
		if !slices.ContainsFunc(kinds, func(k int) bool { return slices.Equal(infos[k].Fabrics, infos[pe].Fabrics) }) {
			kinds = append(kinds, pe)
		}
	}
	// Of several, efa: the usual one of older versions, which is the first by name.
	if len(common) > 0 {
		return slices.Min(common), nil
	}
	for _, b := range kinds {
		for _, a := range kinds {
			if a < b && !slices.ContainsFunc(infos[a].Fabrics, func(f string) bool { return slices.Contains(infos[b].Fabrics, f) }) {
				return "", fmt.Errorf("%s and %s: their endpoints do not understand each other (set SHMEM_FABRIC alike for all PEs, or give all the same libfabric)", infos[a].text(a), infos[b].text(b))
			}
		}
	}
	return "", fmt.Errorf("no fabric is offered to all PEs (set SHMEM_FABRIC alike for all PEs, or give all the same libfabric)")
}

func (c *nicInfo) text(pe int) string {
	return fmt.Sprintf("PE %d can take fabric %s of libfabric %s only", pe, strings.Join(c.Fabrics, " or "), c.Version)
}
