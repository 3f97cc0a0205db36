package outbox

import "github.com/jetclaw/jetclaw/services/outbox/internal/callback"

// CallbackConfig says where the HTTP channel pushes.
type CallbackConfig = callback.Config

// Callback is the sender of the HTTP channel: a POST to a configured URL, see internal/callback for the wire.
func Callback(c CallbackConfig) (Sender, error) {
	s, err := callback.New(c)
	if err != nil {
		return nil, err // not s: a nil pointer in an interface would not be nil
	}
	return s, nil
}
