package oauth

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"filippo.io/age"
)

// Sealer encrypts records at rest, with age. Its methods may be called from any goroutine.
//
// The public half of its identity is nowhere in what it seals: who can write to the store and has not the identity can bring
// back an older record of the same name, but can neither read one nor make one.
type Sealer struct {
	identity *age.X25519Identity
}

// errSealed takes the place of age's errors, which show some of what they could not read.
var errSealed = errors.New("it is damaged, or was sealed with another key")

// NewIdentity makes a secret key as NewSealer takes it.
func NewIdentity() (string, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", fmt.Errorf("make an age identity: %w", err)
	}
	return id.String(), nil
}

// NewSealer takes an age secret key, AGE-SECRET-KEY-1….
func NewSealer(identity string) (*Sealer, error) {
	id, err := age.ParseX25519Identity(identity)
	if err != nil {
		return nil, errors.New("this is no age secret key: it begins with AGE-SECRET-KEY-1") // err would show some of it
	}
	return &Sealer{identity: id}, nil
}

// Seal encrypts data together with name.
func (s *Sealer) Seal(name string, data []byte) ([]byte, error) {
	if len(name) > math.MaxUint16 {
		return nil, errors.New("seal a record: its name is too long")
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, s.identity.Recipient())
	if err != nil {
		return nil, fmt.Errorf("seal the record of %s: %w", name, err)
	}
	head := binary.BigEndian.AppendUint16(nil, uint16(len(name)))
	for _, part := range [][]byte{head, []byte(name), data} {
		if _, err := w.Write(part); err != nil {
			return nil, fmt.Errorf("seal the record of %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("seal the record of %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// Open decrypts what Seal has made with the same name. What was sealed under another name is refused, so that a value that was
// moved to another key of the store gives its tokens to nobody.
func (s *Sealer) Open(name string, sealed []byte) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), s.identity)
	if err != nil {
		return nil, fmt.Errorf("open the record of %s: %w", name, errSealed)
	}
	plain, err := io.ReadAll(io.LimitReader(r, 2*maxRecord))
	if err != nil {
		return nil, fmt.Errorf("open the record of %s: %w", name, errSealed)
	}
	if len(plain) < 2 {
		return nil, fmt.Errorf("open the record of %s: it is too short", name)
	}
	n, rest := int(binary.BigEndian.Uint16(plain)), plain[2:]
	if len(rest) < n || string(rest[:n]) != name {
		return nil, fmt.Errorf("open the record of %s: it was sealed for another name", name)
	}
	return rest[n:], nil
}
