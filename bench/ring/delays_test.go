package main

import "testing"

func TestDelaysAreNearTheirStep(t *testing.T) {
	for _, v := range []int64{0, 1, 63, 64, 65, 127, 128, 1000, 1023, 1024, 4097, 123456789, 1 << 35} {
		var d delays
		d.add(v)
		got := d.quantile(0.5)
		if got < float64(v) || got > float64(v)*1.016+1 {
			t.Errorf("a delay of %d ns is given back as %v", v, got)
		}
	}
}

func TestQuantiles(t *testing.T) {
	var d delays
	for i := range int64(1000) {
		d.add(i * 100)
	}
	d.add(-5)
	for _, c := range []struct{ q, want float64 }{{0.5, 50000}, {0.99, 99000}, {0.999, 99900}} {
		if got := d.quantile(c.q); got < c.want*0.98 || got > c.want*1.02 {
			t.Errorf("quantile %v of 0, 100, 200 ... 99900 is %v, want about %v", c.q, got, c.want)
		}
	}
	if d.early != 1 || d.max != 99900 || d.count != 1001 {
		t.Errorf("early %d, max %d, count %d", d.early, d.max, d.count)
	}
}
