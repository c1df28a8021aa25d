package network

import (
	"fmt"
	"slices"
	"strings"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/job/meet"
)

// nicInfo describes a PE's NICs to all other PEs before it opens them.
type nicInfo struct {
	NICs    int
	Fabric  string   // the fabric that the PE would use; "": the provider has no names for fabrics
	Fabrics []string // all fabrics that the PE could use, Fabric included
	Version string   // of libfabric, where there is a Fabric
}

// nicInfos sends what this PE has chosen, the number of NICs and the fabric, to every PE, and
// returns that of all PEs.
func (nw *Network) nicInfos(n *nics) ([]nicInfo, error) {
	mine := nicInfo{NICs: len(n.NICs()), Fabric: n.Fabric()}
	if mine.Fabric != "" {
		mine.Fabrics, mine.Version = n.Fabrics(), n.Version()
	}
	b, err := meet.Encode(mine)
	if err != nil {
		return nil, err
	}
	all, err := nw.Boot.Allgather(b)
	if err != nil {
		return nil, err
	}
	return meet.DecodeAll[nicInfo](all)
}

// agreeOnFabric moves this PE's NICs to the fabric that all PEs of the job use.
func (nw *Network) agreeOnFabric(n *nics, infos []nicInfo) error {
	fabric, err := commonFabric(infos)
	if err != nil || fabric == "" || fabric == n.Fabric() {
		return err
	}
	nw.Log.Printf("fabric", config.LogInfo, "uses fabric %s instead of %s: not every PE can use the latter", fabric, n.Fabric())
	return n.MoveTo(fabric)
}

// commonFabric returns the fabric that all PEs use: the one that each PE would use, if they agree,
// otherwise the first that is offered to all. It is "" if some PE has a provider whose fabrics have
// no names. If others have a provider with names, their endpoints are refused later, with the names
// of the providers.
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
	var kinds []int // PEs, one for each different nicInfo
	for pe := range infos {
		common = slices.DeleteFunc(common, func(f string) bool { return !slices.Contains(infos[pe].Fabrics, f) })
		if !slices.ContainsFunc(kinds, func(k int) bool { return slices.Equal(infos[k].Fabrics, infos[pe].Fabrics) }) {
			kinds = append(kinds, pe)
		}
	}
	// Of several fabrics the job uses the first by name: that is efa, the one that older versions
	// used.
	if len(common) > 0 {
		return slices.Min(common), nil
	}
	for _, b := range kinds {
		for _, a := range kinds {
			if a < b && !slices.ContainsFunc(infos[a].Fabrics, func(f string) bool { return slices.Contains(infos[b].Fabrics, f) }) {
				return "", fmt.Errorf("%s and %s: their endpoints do not understand each other (set SHMEM_FABRIC to the same value on all PEs, or give all the same libfabric)", infos[a].text(libshmem.PE(a)), infos[b].text(libshmem.PE(b)))
			}
		}
	}
	return "", fmt.Errorf("no fabric is offered to all PEs (set SHMEM_FABRIC to the same value on all PEs, or give all the same libfabric)")
}

// text says which fabrics a PE can use, for errors.
func (c *nicInfo) text(pe libshmem.PE) string {
	return fmt.Sprintf("PE %d can only use fabric %s of libfabric %s", pe, strings.Join(c.Fabrics, " or "), c.Version)
}
