package thread

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// slot is what an id is stored under: 128 bits, spread evenly.
type slot [16]byte

const idPrefix = "m"

// encoding is strict so that one id has one spelling.
var encoding = base64.RawURLEncoding.Strict()

// MessageID is the id of what came into a session under the source's key: "m" and 22 characters of base64url. Deriving
// it makes a repeat of the source, also at another process, a repeat of the same event.
func MessageID(s session.ID, key string) string {
	h := sha256.New()
	h.Write([]byte(s))
	h.Write([]byte{'|'}) // in no session id
	h.Write([]byte(key))
	sum := h.Sum(make([]byte, 0, sha256.Size))
	b := make([]byte, 0, len(idPrefix)+encoding.EncodedLen(len(slot{})))
	return string(encoding.AppendEncode(append(b, idPrefix...), sum[:len(slot{})]))
}

// slotOf takes any id: one that MessageID did not make (another source of events, a later form) is hashed.
func slotOf(id string) slot {
	var s slot
	if len(id) == len(idPrefix)+encoding.EncodedLen(len(s)) && id[:len(idPrefix)] == idPrefix {
		if n, err := encoding.Decode(s[:], []byte(id[len(idPrefix):])); err == nil && n == len(s) {
			return s
		}
	}
	sum := sha256.Sum256([]byte("id|" + id))
	return slot(sum[:len(s)])
}
