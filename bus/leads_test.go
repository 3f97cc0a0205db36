package bus

import (
	"encoding/json"
	"testing"
	"time"
)

// TestLeads has what servers say: with one copy, with all, after one was lost, and when the leader is cut off.
func TestLeads(t *testing.T) {
	for said, want := range map[string]bool{
		`{}`: true,
		`{"cluster":{"leader":"n1","replicas":[{"name":"n2","active":900000000},{"name":"n3","active":1000000}]}}`:                    true,
		`{"cluster":{"leader":"n1","replicas":[{"name":"n2","active":900000000},{"name":"n3","offline":true,"active":60000000000}]}}`: true,
		`{"cluster":{"leader":"n1","replicas":[{"name":"n2","active":3500000000},{"name":"n3","active":3100000000}]}}`:                false,
		`{"cluster":{"leader":"n1","replicas":[{"name":"n2","offline":true,"active":1},{"name":"n3","offline":true,"active":1}]}}`:    false,
	} {
		var info streamInfo
		if err := json.Unmarshal([]byte(said), &info); err != nil {
			t.Fatal(err)
		}
		if got := info.leads(); got != want {
			t.Errorf("%s: %v", said, got)
		}
	}
	if soon >= 4*time.Second {
		t.Error("longer than a copy waits before it asks to be elected")
	}
}
