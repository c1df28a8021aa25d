package repo

import (
	"regexp"
	"strings"
	"testing"
)

// rawOrder finds atomic accesses and barriers of the compiler or of the processor.
var rawOrder = regexp.MustCompile(`__atomic_\w+|__ATOMIC_\w+|__sync_\w+|\batomic_\w+\s*\(|__builtin_ia32_[lms]fence|` +
	`\b(?:__)?asm(?:__)?\s+(?:__)?volatile(?:__)?\s*\(\s*(?:""|"(?:[lms]fence|dmb|dsb))`)

// TestOrdersHaveNames finds accesses of the front that state their memory order themselves.
// capi/front/order.h has each order once, with its reason and its other side.
func TestOrdersHaveNames(t *testing.T) {
	named := false
	for _, f := range files(t) {
		if !strings.HasPrefix(f.path, "capi/front/") {
			continue
		}
		if f.path == "capi/front/order.h" {
			named = rawOrder.Match(f.data)
			continue
		}
		for _, at := range rawOrder.FindAllIndex(f.data, -1) {
			t.Errorf("%s:%d: %s: its order has no name (use a macro of capi/front/order.h)",
				f.path, lineOf(f.data, at[0]), f.data[at[0]:at[1]])
		}
	}
	if !named {
		t.Error("capi/front/order.h: no order found")
	}
}
