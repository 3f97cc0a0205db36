package bus

import (
	"context"
	"encoding/json"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Rules of machines lie among the values of their services, by the digest that events carry (envelope.Event.Rules).

const rulesKey = "rules"

// RulesKey is the key of the value that has rules of the connection's service.
func RulesKey(digest string) string { return rulesKey + "." + digest }

// Rules are what a service's machine was configured with; nil when nobody has recorded them. The Spec of whoever asks has
// ReadsRules.
func (c *Conn) Rules(ctx context.Context, service, digest string) (json.RawMessage, error) {
	at := valuePrefix + service + "." + RulesKey(digest)
	m, err := c.request(ctx, "$JS.API.DIRECT.GET.KV_"+subject.Settings+"."+at, nil)
	switch {
	case err != nil:
		return nil, fault.New(fault.Unavailable, "rules %s of %s: %w", digest, service, err)
	case m.Header.Get("Status") != "" || m.Header.Get("KV-Operation") != "":
		return nil, nil
	case copiedAnswer(m.Header, at):
		return nil, fault.New(fault.Internal, "rules %s of %s: %w", digest, service, errCopied)
	}
	return m.Data, nil
}
