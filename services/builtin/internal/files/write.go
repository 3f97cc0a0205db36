package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

func (k *kit) write(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := tool.Read[struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		Append  bool   `json:"append"`
	}](c)
	if err != nil {
		return tool.Result{}, err
	}
	return k.change(ctx, c, args.Path, func(p *place) ([]byte, fs.FileInfo, string, error) {
		name, size := show(p.asked), len(args.Content)
		switch {
		case p.info == nil:
			return []byte(args.Content), nil, fmt.Sprintf("created %s: %d bytes", name, size), nil
		case !args.Append:
			return []byte(args.Content), nil, fmt.Sprintf("replaced %s: %d bytes, it had %d", name, size, p.info.Size()), nil
		}
		data, info, err := p.content(maxWhole)
		if err != nil {
			return nil, nil, "", err
		}
		data = append(data, args.Content...)
		return data, info, fmt.Sprintf("added %d bytes to %s: it has %d now", size, name, len(data)), nil
	})
}

// change writes to a file what f makes of it, and reports what f says. A nil info says that what f gives has nothing of the
// file in it.
func (k *kit) change(ctx context.Context, c tool.Call, arg string, f func(*place) ([]byte, fs.FileInfo, string, error)) (tool.Result, error) {
	s, err := k.open(c)
	if err != nil {
		return tool.Result{}, err
	}
	defer s.close()
	return k.alone(ctx, func() (tool.Result, error) {
		p, err := s.target(arg)
		if err != nil {
			return tool.Result{}, err
		}
		defer p.close()
		data, was, said, err := f(p)
		if hint, ok := errors.AsType[*mismatch](err); ok {
			return tool.Result{Text: hint.text, Failed: true, Private: s.secret().holds(p), Untrusted: s.foreign(p, p.info)}, nil
		}
		if err != nil {
			return tool.Result{}, explain(p.asked, err)
		}
		if err := s.put(ctx, p, was, data); err != nil {
			return tool.Result{}, err
		}
		return tool.Result{Text: said}, nil
	})
}

// mismatch says why a file was not changed, in words that may quote it.
type mismatch struct{ text string }

func (m *mismatch) Error() string { return m.text }
