package anthropic

import (
	"encoding/json"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
)

// usage is what has been counted so far. The numbers of the stream are totals: a later one takes the place of an earlier.
type usage struct{ input, output, read, write int }

// add takes what a part of the stream says. Reading it never fails.
func (u *usage) add(raw string) {
	var in struct {
		Input  json.RawMessage `json:"input_tokens"`
		Output json.RawMessage `json:"output_tokens"`
		Read   json.RawMessage `json:"cache_read_input_tokens"`
		Write  json.RawMessage `json:"cache_creation_input_tokens"`
	}
	if json.Unmarshal([]byte(raw), &in) != nil {
		return
	}
	for _, c := range []struct {
		raw   json.RawMessage
		total *int
	}{{in.Input, &u.input}, {in.Output, &u.output}, {in.Read, &u.read}, {in.Write, &u.write}} {
		if n := provider.Tokens(c.raw); n > 0 {
			*c.total = n
		}
	}
}

func (u *usage) total() turnv1.Usage {
	return turnv1.Usage{Input: u.input + u.read + u.write, Output: u.output, CacheRead: u.read, CacheWrite: u.write}
}
