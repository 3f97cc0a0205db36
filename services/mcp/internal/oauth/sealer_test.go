package oauth

import (
	"bytes"
	"strings"
	"testing"
)

func TestSealer(t *testing.T) {
	r := newRig(t)
	data := []byte(`{"access":"s3cr3t"}`)
	sealed, err := r.seal.Seal("docs", data)
	if err != nil || bytes.Contains(sealed, []byte("s3cr3t")) || bytes.Contains(sealed, []byte("docs")) {
		t.Fatalf("sealed %q, %v", sealed, err)
	}
	if got, err := r.seal.Open("docs", sealed); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("opened %q, %v", got, err)
	}
	other := newRig(t).seal
	short, err := r.seal.Seal("", nil)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another name":  func() ([]byte, error) { return r.seal.Open("doc", sealed) },
		"a longer name": func() ([]byte, error) { return r.seal.Open("docs2", sealed) },
		"another key":   func() ([]byte, error) { return other.Open("docs", sealed) },
		"a changed bit": func() ([]byte, error) { return r.seal.Open("docs", flipped) },
		"half of it":    func() ([]byte, error) { return r.seal.Open("docs", sealed[:len(sealed)/2]) },
		"nothing":       func() ([]byte, error) { return r.seal.Open("docs", nil) },
		"no name":       func() ([]byte, error) { return r.seal.Open("docs", short) },
	} {
		if got, err := open(); err == nil || got != nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := r.seal.Seal(strings.Repeat("x", 1<<16), nil); err == nil {
		t.Error("a name that is too long was sealed")
	}
	if _, err := NewSealer("AGE-SECRET-KEY-1XYZ"); err == nil || strings.Contains(err.Error(), "XYZ") {
		t.Errorf("a wrong key: %v", err)
	}
}

// TestUnreadable: what another key has encrypted, or what belongs to another server, is as good as nothing, and a login replaces it.
func TestUnreadable(t *testing.T) {
	for name, spoil := range map[string]func(r *rig){
		"another key":    func(r *rig) { r.seal = newRig(r.t).seal },
		"another server": func(r *rig) { r.shelf.values["docs"], _ = r.seal.Seal("notes", []byte(`{}`)) },
		"no record":      func(r *rig) { r.shelf.values["docs"], _ = r.seal.Seal("docs", []byte(`"s3cr3t-x"`)) },
		"no ciphertext":  func(r *rig) { r.shelf.values["docs"] = []byte("s3cr3t-x") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.login()
			spoil(r)
			r.Keeper = r.keeper(0)
			_, err := r.Authorizer("docs", r.d).Authorization(t.Context())
			needsLogin(t, err)
			if s := r.status(); s.HasTokens || s.State != AuthorizationRequired || !strings.Contains(s.Reason, "cannot be decrypted") {
				t.Errorf("status %+v", s)
			}
			if strings.Contains(r.logs.String(), "s3cr3t-x") || strings.Count(r.logs.String(), "cannot be read") != 1 {
				t.Errorf("log %s", r.logs)
			}
			r.login()
			r.works(r.Authorizer("docs", r.d))
			spoil(r)
			if err := r.keeper(0).Logout(t.Context(), "docs", r.d); err != nil || len(r.shelf.values["docs"]) != 0 {
				t.Errorf("logout: %v", err)
			}
		})
	}
}

func TestStoreKey(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"docs", "my-docs_2", "a.b", "a b", "", "ä", strings.Repeat("x", 65), "=" + strings.Repeat("0", 64)} {
		key := storeKey(name)
		if plain := plainName.MatchString(name); plain != (key == name) || !plain && (len(key) != 65 || key[0] != '=') || seen[key] {
			t.Errorf("key of %q: %q", name, key)
		}
		seen[key] = true
	}
}
