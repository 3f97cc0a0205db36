package home

import (
	"crypto/ed25519"
	"os"
	"strings"
	"testing"
)

func TestApprovalKey(t *testing.T) {
	h := open(t)
	public, err := h.ApprovalPublic() // an executor may come first
	if err != nil {
		t.Fatal(err)
	}
	key, err := h.ApprovalKey()
	if err != nil || !public.Equal(key.Public()) {
		t.Fatalf("the halves do not fit: %v", err)
	}
	if again, err := h.ApprovalKey(); err != nil || !key.Equal(again) {
		t.Errorf("another key at the second start: %v", err)
	}
	for _, path := range []string{h.approvalKey(), h.approvalPublic()} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, st.Mode(), err)
		}
	}
	if err := os.Remove(h.approvalKey()); err != nil {
		t.Fatal(err)
	}
	fresh, err := h.ApprovalKey()
	if err != nil || fresh.Equal(key) {
		t.Fatalf("no new key: %v", err)
	}
	if public, err = h.ApprovalPublic(); err != nil || !public.Equal(fresh.Public()) {
		t.Errorf("executors still have the old half: %v", err)
	}
}

func TestBrokenApprovalKey(t *testing.T) {
	for name, broken := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"no base64":  {"!", 0o600},
		"short":      {"AAAA", 0o600},
		"for others": {string(encoded(make([]byte, ed25519.SeedSize))), 0o644},
	} {
		h := open(t)
		if err := os.WriteFile(h.approvalKey(), []byte(broken.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(h.approvalKey(), broken.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := h.ApprovalKey(); err == nil || strings.Contains(err.Error(), broken.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
