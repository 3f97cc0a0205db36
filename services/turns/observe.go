package turns

import (
	"context"
	"errors"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// Observer is told of model calls, for metrics and traces. It may not block.
type Observer interface {
	// ModelCall says that the model of a reference is about to be asked, and gives the call a context.
	ModelCall(ctx context.Context, ref string) (context.Context, Observed)
}

// Observed is one call that an Observer was told of.
type Observed interface {
	Said() // the model says something; called again with each piece
	Ended(u turnv1.Usage, err error)
}

// ErrorClass is the class of a failed model call, one of a few words; "" when err is none.
func ErrorClass(err error) string {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return string(e.Class)
	}
	return ""
}

// Generate makes one model call, in front of who is told of it.
func (l *listed) Generate(ctx context.Context, r model.Request, onDelta func(string)) (model.Answer, error) {
	if l.observer == nil {
		return l.generate(ctx, r, onDelta)
	}
	ctx, seen := l.observer.ModelCall(ctx, l.Name())
	a, err := l.generate(ctx, r, func(text string) {
		if text != "" {
			seen.Said()
		}
		onDelta(text)
	})
	seen.Ended(a.Usage, err)
	return a, err
}
