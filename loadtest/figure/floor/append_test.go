package floor_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
)

func TestAppends(t *testing.T) {
	in, err := json.Marshal(floor.Appends{
		Sync: "interval", Sessions: 3, Events: 100, AtOnce: 2, Step: floor.Step{Kind: "message.received", Header: 400, Data: 120},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := floor.ServeAppend(t.Context(), bytes.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var r floor.Appended
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Took <= 0 || r.PerSecond <= 0 {
		t.Errorf("%v, %+v", err, r)
	}
	if _, err := floor.RunAppends(t.Context(), floor.Appends{Sessions: 1, AtOnce: 1}); err == nil {
		t.Error("nothing was appended, and that is no error")
	}
}
