package main

import (
	"fmt"
	"strings"

	"libshmem/capi/spec"
)

// tileHeader returns the header of NVSHMEM's tile functions, which kernels call with tensors. They
// are templates: the program chooses the algorithm and the tensor types.
func tileHeader(s *spec.Surface) string {
	var b strings.Builder
	writeHeaderTop(&b, s.TileHeader)
	b.WriteString(s.TileHeader.Types + "\n#if defined(SHMEMI_KERNEL) && defined(" + withPrefixes(s, "@@I_TENSORS") + ")\n")
	b.WriteString("namespace " + spec.TileNamespace + "\n{\n")
	for i := range s.Tiles {
		t := &s.Tiles[i]
		fmt.Fprintf(&b, "\n/* %s */\n", t.Doc)
		for _, f := range t.TileFunctions() {
			given := ""
			if t.Tensors {
				given = "typename src_tensor_t, typename dst_tensor_t, typename tuple_t, "
			}
			body := strings.NewReplacer("$scope", f.Scope, "$job", "SHMEMI_JOB", "$call", fmt.Sprintf("%#xu", spec.CallNumber(f.FullName()))).Replace(t.Body)
			fmt.Fprintf(&b, "template <%s%s algo> SHMEMI_ONLY int %s(%s) SHMEMI_RUN(int, %s)\n", given, t.Algo, f.Name, t.Params, body)
		}
	}
	b.WriteString("\n} // namespace " + spec.TileNamespace + "\n#endif\n\n#endif\n")
	return b.String()
}
