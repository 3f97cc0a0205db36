package provider

import (
	"context"

	"github.com/jetclaw/jetclaw/services/turns/model"
)

// Model answers requests. It is called from many goroutines at once.
type Model interface {
	// Name is "provider/model".
	Name() string
	// Endpoint says where it is, for a person.
	Endpoint() string
	// Generate makes one model call. It calls onDelta with pieces of the text as they come, in its own goroutine, and
	// returns when the answer is whole, or with a *model.Error, or with ctx's error soon after ctx has ended.
	Generate(ctx context.Context, r model.Request, onDelta func(string)) (model.Answer, error)
}
