package turns

import (
	"context"

	"github.com/jetclaw/jetclaw/services/turns/internal/offline"
	"github.com/jetclaw/jetclaw/services/turns/internal/openai"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// Model answers prompts. It is called from many goroutines at once.
type Model interface {
	// Name is "provider/model".
	Name() string
	// Endpoint says where it is, for a person.
	Endpoint() string
	// Generate makes one model call. It calls onDelta with pieces of the text as they come, in its own goroutine, and
	// returns when the answer is whole, or with a *model.Error, or with ctx's error soon after ctx has ended.
	Generate(ctx context.Context, r model.Request, onDelta func(string)) (model.Answer, error)
}

// OpenAIConfig says which model of which OpenAI-compatible server answers.
type OpenAIConfig = openai.Config

// NewOpenAI is a model behind an OpenAI-compatible server. It calls nobody yet.
func NewOpenAI(c OpenAIConfig) (Model, error) {
	m, err := openai.New(c)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// NewOffline is the built-in model that needs nothing and thinks nothing.
func NewOffline() Model { return offline.Model{} }
