package shmerr

import (
	"strconv"
	"strings"

	"libshmem"
)

// PEs returns PE numbers as text, with runs shortened: "PE 3", "PEs 1, 4-7".
func PEs(pes []libshmem.PE) string {
	var b strings.Builder
	b.WriteString("PE")
	if len(pes) != 1 {
		b.WriteString("s")
	}
	for i := 0; i < len(pes); {
		j := i
		for j+1 < len(pes) && pes[j+1] == pes[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(" " + strconv.Itoa(int(pes[i])))
		switch {
		case j == i+1:
			b.WriteString(", " + strconv.Itoa(int(pes[j])))
		case j > i+1:
			b.WriteString("-" + strconv.Itoa(int(pes[j])))
		}
		i = j + 1
	}
	return b.String()
}
