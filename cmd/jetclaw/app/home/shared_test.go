package home

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// Processes of one cluster share a folder of keys and start at the same time: each secret is made by one of them, and all have that.
func TestSecretsAreMadeOnce(t *testing.T) {
	const processes = 8
	for range 20 {
		h := open(t)
		if err := h.Create(); err != nil {
			t.Fatal(err)
		}
		var serial atomic.Int64
		got := make([]string, processes)
		var work sync.WaitGroup
		for i := range got {
			work.Go(func() {
				token, err := h.Token()
				key, kerr := h.ApprovalKey()
				public, perr := h.ApprovalPublic()
				id, ierr := h.MCPIdentity(func() (string, error) { return fmt.Sprint("identity ", serial.Add(1)), nil })
				if err != nil || kerr != nil || perr != nil || ierr != nil {
					t.Error(err, kerr, perr, ierr)
				}
				got[i] = fmt.Sprintf("%s %x %x %s", token, key, public, id)
			})
		}
		work.Wait()
		for _, g := range got {
			if g != got[0] {
				t.Fatalf("several secrets: %.30s… and %.30s…", g, got[0])
			}
		}
	}
}
