package job

import (
	"strings"
	"testing"

	"libshmem/runtime/config"
)

func TestAgreeStatics(t *testing.T) {
	one := Statics{Size: 8192, Like: "0x4000+0x1100 ab"}
	other := Statics{Size: 8192, Like: "0x4000+0x1100 cd"}
	none := Statics{Cause: "the program itself does not need libshmem.so", Remedy: "link it"}
	for _, tt := range []struct {
		name  string
		all   []Statics
		cause string // "": they are symmetric
	}{
		{"the same program", []Statics{one, one, one}, ""},
		{"alone", []Statics{one}, ""},
		{"two programs", []Statics{one, one, other}, "PE 2 runs another program than PE 0"},
		{"the first is the other one", []Statics{other, one, one}, "runs another program than PE 0"},
		{"one without", []Statics{one, none}, "PE 1 has none: " + none.Cause},
		{"all without", []Statics{none, none}, none.Cause},
		{"switched off on one", []Statics{one, one.allowed(config.StaticsOff)}, "PE 1 has none: SHMEM_STATICS is off"},
	} {
		infos := make([]peerInfo, len(tt.all))
		for i, s := range tt.all {
			infos[i].Statics = s
		}
		for me := range infos {
			got, err := agreeStatics(infos, me, config.StaticsAuto)
			if err != nil {
				t.Errorf("%s, PE %d: %v", tt.name, me, err)
			}
			if (tt.cause == "") != (got.Size > 0) {
				t.Errorf("%s, PE %d: %+v", tt.name, me, got)
			}
			if me == 0 && !strings.Contains(got.Cause, tt.cause) {
				t.Errorf("%s, PE 0: %q, want %q", tt.name, got.Cause, tt.cause)
			}
			if got.Size == 0 && got.Remedy == "" {
				t.Errorf("%s, PE %d: no remedy", tt.name, me)
			}
			if _, err := agreeStatics(infos, me, config.StaticsOn); (err != nil) != (tt.cause != "") {
				t.Errorf("%s, PE %d, SHMEM_STATICS=on: %v", tt.name, me, err)
			}
		}
	}
}

// The area is whole pages, below everything else of the internal area, and the offsets
// of the rest do not depend on it.
func TestLayoutOfStatics(t *testing.T) {
	without := NewLayout(8, 0)
	with := NewLayout(8, 3*controlPage)
	if with.StaticsOffset%controlPage != 0 || with.StaticsOffset-without.Internal != 3*controlPage {
		t.Errorf("with %+v, without %+v", with, without)
	}
	if with.Internal != with.StaticsOffset || with.TeamsOffset != without.TeamsOffset || with.InboxOffset != without.InboxOffset {
		t.Errorf("with %+v, without %+v", with, without)
	}
}
