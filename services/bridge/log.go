package bridge

import (
	"context"
	"log/slog"
)

// lowered passes everything on as debugging: what a client does wrong it is told, and must not fill the log.
type lowered struct{ next slog.Handler }

func (l lowered) Enabled(ctx context.Context, _ slog.Level) bool {
	return l.next.Enabled(ctx, slog.LevelDebug)
}

func (l lowered) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return l.next.Handle(ctx, r)
}

func (l lowered) WithAttrs(attrs []slog.Attr) slog.Handler { return lowered{l.next.WithAttrs(attrs)} }

func (l lowered) WithGroup(name string) slog.Handler { return lowered{l.next.WithGroup(name)} }
