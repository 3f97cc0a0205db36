package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

const (
	maxDepth   = 3
	maxEntries = 500     // that are shown
	maxLook    = 100_000 // entries of a folder that are sorted
)

// entry is what a folder has by a name. Its info is nil when it has gone or cannot be looked at.
type entry struct {
	name string
	info fs.FileInfo
}

// list is the entries of a folder, sorted, at most limit of them; more says that there are others.
func list(dir *os.Root, limit int) (entries []entry, more bool, err error) {
	names, more, err := names(dir, limit)
	for _, name := range names {
		info, err := dir.Lstat(name)
		if err != nil {
			info = nil
		}
		entries = append(entries, entry{name, info})
	}
	return entries, more, err
}

func names(dir *os.Root, limit int) (names []string, more bool, err error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	names, err = d.Readdirnames(limit + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(names) > limit {
		names, more = names[:limit], true
	}
	slices.Sort(names)
	return names, more, err
}

// vast says whether a folder is one that is not worth looking into unless somebody asks for it.
func vast(name string) bool { return name == ".git" || name == "node_modules" }

// listing is the answer of list_dir as it grows.
type listing struct {
	space     *space
	ctx       context.Context //nolint:containedctx // lives as long as one call
	text      strings.Builder
	shown     int
	left      int
	more      bool // left is not all
	untrusted bool
	private   bool
	fence     *fence
}

func (k *kit) list(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := tool.Read[struct {
		Path  string `json:"path"`
		Depth int    `json:"depth"`
	}](c)
	if err != nil {
		return tool.Result{}, err
	}
	s, err := k.open(c)
	if err != nil {
		return tool.Result{}, err
	}
	defer s.close()
	if args.Path == "" {
		args.Path = "."
	}
	p, err := s.existing(args.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer p.close()
	if !p.info.IsDir() {
		return tool.Result{}, explain(p.asked, errNoDir)
	}
	l := &listing{space: s, ctx: ctx, fence: s.fence(s.private)}
	l.untrusted = slices.ContainsFunc(p.all(), func(at string) bool { return received(at + "/") })
	l.private = slices.ContainsFunc(p.all(), func(at string) bool { return l.fence.inside(at + "/") })
	if err := l.folder(p.folder(), p.path, "", min(max(args.Depth, 1), maxDepth)); err != nil {
		return tool.Result{}, explain(p.asked, err)
	}
	switch {
	case l.shown == 0:
		l.text.WriteString("[the folder is empty]\n")
	case l.more:
		fmt.Fprintf(&l.text, "[at least %d more are not shown: list a folder of these, or search_files]\n", l.left)
	case l.left > 0:
		fmt.Fprintf(&l.text, "[%d more are not shown: list a folder of these, or search_files]\n", l.left)
	}
	return tool.Result{Text: l.text.String(), Untrusted: l.untrusted, Private: l.private}, nil
}

// folder lists one folder: at is where it is, shown what stands before its entries.
func (l *listing) folder(dir *os.Root, at, shown string, depth int) error {
	names, more, err := names(dir, maxLook)
	if err != nil {
		return err
	}
	l.more = l.more || more
	for _, name := range names {
		if l.ctx.Err() != nil {
			return context.Cause(l.ctx)
		}
		if l.shown == maxEntries {
			l.left++
			continue
		}
		l.shown++
		info, err := dir.Lstat(name)
		if err != nil {
			fmt.Fprintf(&l.text, "%s (%s)\n", show(shown+name), bare(err))
			continue
		}
		here := path.Join(at, name)
		l.untrusted = l.untrusted || l.space.others(info) || received(here)
		l.private = l.private || l.fence.inside(here)
		fmt.Fprintf(&l.text, "%s%s\n", show(shown+name), l.kind(here, info))
		if !info.IsDir() || depth == 1 || vast(name) {
			continue
		}
		next, err := enter(dir, name, info)
		if err != nil {
			fmt.Fprintf(&l.text, "%s/ (cannot be listed: %s)\n", show(shown+name), bare(err))
			continue
		}
		err = l.folder(next, here, shown+name+"/", depth-1)
		_ = next.Close()
		if err != nil {
			fmt.Fprintf(&l.text, "%s/ (cannot be listed: %s)\n", show(shown+name), bare(err))
		}
	}
	return nil
}

// kind is what stands behind a name.
func (l *listing) kind(at string, info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "/"
	case mode.IsRegular():
		return fmt.Sprintf(" (%d bytes)", info.Size())
	case mode&fs.ModeSymlink != 0:
		p, err := l.space.walk(at)
		if errors.Is(err, errOutside) {
			return " (link that leads outside of the workspace)"
		}
		if err != nil {
			return " (link: " + bare(err) + ")"
		}
		defer p.close()
		l.untrusted = l.untrusted || received(p.path)
		if p.info == nil {
			return " -> " + show(p.path) + " (does not exist)"
		}
		if p.info.IsDir() {
			return " -> " + show(p.path) + "/"
		}
		return " -> " + show(p.path)
	case mode&fs.ModeNamedPipe != 0:
		return " (pipe)"
	case mode&fs.ModeSocket != 0:
		return " (socket)"
	case mode&fs.ModeDevice != 0:
		return " (device)"
	}
	return " (special file)"
}
