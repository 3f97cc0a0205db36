package files

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

const (
	maxHits      = 100
	maxPattern   = 1000             // bytes
	maxHit       = 300              // bytes of a line that are shown
	maxSearched  = 2 << 20          // bytes of a file
	maxFiles     = 50_000           // that are looked at
	maxNested    = 64               // folders
	searchBudget = 30 * time.Second // then what was found is told
)

type searchArgs struct {
	Pattern string `json:"pattern"`
	Literal bool   `json:"literal"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
	Limit   int    `json:"limit"`
}

// hunt is one search as it goes on.
type hunt struct {
	space *space
	ctx   context.Context //nolint:containedctx // lives as long as one call
	match *regexp.Regexp
	wants func(path string) bool
	limit int
	base  string // path of the folder that is searched, with a slash
	fence *fence

	text               strings.Builder
	hits, seen         int
	binary, large, bad int    // files that were left out
	stop               string // why it ended early
	private, untrusted bool
}

func (k *kit) search(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := tool.Read[searchArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	h := &hunt{limit: maxHits, wants: func(string) bool { return true }}
	if args.Limit > 0 {
		h.limit = min(args.Limit, maxHits)
	}
	if h.match, err = expression(args); err != nil {
		return tool.Result{}, err
	}
	if args.Glob != "" {
		if h.wants, err = glob(args.Glob); err != nil {
			return tool.Result{}, tool.Refuse("the glob %s cannot be read: %v", show(args.Glob), err)
		}
	}
	if h.space, err = k.open(c); err != nil {
		return tool.Result{}, err
	}
	defer h.space.close()
	if args.Path == "" {
		args.Path = "."
	}
	p, err := h.space.existing(args.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer p.close()
	h.fence = h.space.secret()
	inner, cancel := context.WithTimeout(ctx, searchBudget)
	defer cancel()
	h.ctx = inner
	if p.info.IsDir() {
		h.base = p.path + "/"
		h.folder(p.folder(), p, 0)
	} else {
		h.file(p)
	}
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	return tool.Result{Text: h.report(), Private: h.private, Untrusted: h.untrusted}, nil
}

func expression(args searchArgs) (*regexp.Regexp, error) {
	switch {
	case args.Pattern == "":
		return nil, tool.Refuse("the pattern is empty")
	case len(args.Pattern) > maxPattern:
		return nil, tool.Refuse("the pattern has more than %d bytes", maxPattern)
	case args.Literal:
		args.Pattern = regexp.QuoteMeta(args.Pattern)
	}
	re, err := regexp.Compile(args.Pattern)
	if err != nil {
		return nil, tool.Refuse("the pattern is no regular expression (RE2): %v. Set literal to search for plain text",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

// over says whether the search ends here.
func (h *hunt) over() bool {
	switch {
	case h.stop != "":
	case h.ctx.Err() != nil:
		h.stop = "it took too long"
	case h.seen >= maxFiles:
		h.stop = fmt.Sprintf("there are more than %d files", maxFiles)
	case h.hits >= h.limit:
		h.stop = fmt.Sprintf("%d lines found", h.hits)
	case h.text.Len() >= maxRead:
		h.stop = "the answer is long enough"
	}
	return h.stop != ""
}

// folder searches a folder. Links are not followed: what they lead to in the workspace is searched where it is.
func (h *hunt) folder(dir *os.Root, p *place, depth int) {
	names, more, err := names(dir, maxLook)
	if err != nil || more || depth > maxNested {
		h.bad++
	}
	if depth > maxNested {
		return
	}
	for _, name := range names {
		if h.over() {
			return
		}
		info, err := dir.Lstat(name)
		if err != nil {
			h.bad++
			continue
		}
		here := *p
		here.path, here.name, here.info = path.Join(p.path, name), name, info
		switch {
		case info.Mode().IsRegular():
			// A glob may be meant from the workspace, or from the folder that is searched.
			if h.wants(here.path) || h.wants(strings.TrimPrefix(here.path, h.base)) {
				h.file(&here)
			}
		case info.IsDir() && !vast(name):
			next, err := enter(dir, name, info)
			if err != nil {
				h.bad++
				continue
			}
			here.held = append(append([]*os.Root(nil), p.held...), next)
			h.folder(next, &here, depth+1)
			_ = next.Close()
		}
	}
}

func (h *hunt) file(p *place) {
	h.seen++
	if p.info.Size() > maxSearched {
		h.large++
		return
	}
	data, info, err := p.content(maxSearched)
	switch {
	case err != nil:
		h.bad++
		return
	case !isText(data):
		h.binary++
		return
	}
	before := h.hits
	h.lines(p.path, bytes.TrimPrefix(data, []byte(mark)))
	if h.hits > before {
		h.flag(p, info)
	}
}

func (h *hunt) flag(p *place, info fs.FileInfo) {
	h.private = h.private || h.fence.holds(p)
	h.untrusted = h.untrusted || h.space.foreign(p, info)
}

func (h *hunt) lines(name string, data []byte) {
	if len(data) == 0 {
		return
	}
	n := 0
	for line := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		n++
		if n%1000 == 0 && h.ctx.Err() != nil {
			return
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		at := h.match.FindIndex(line)
		if at == nil {
			continue
		}
		fmt.Fprintf(&h.text, "%s:%d: %s\n", show(name), n, around(line, at))
		h.hits++
		if h.hits >= h.limit || h.text.Len() >= maxRead {
			return
		}
	}
}

// around is a line, or of a long one what is around the match.
func around(line []byte, at []int) string {
	if len(line) <= maxHit {
		return string(line)
	}
	from := max(min(at[0]-maxHit/4, len(line)-maxHit), 0)
	out := strings.ToValidUTF8(string(line[from:from+maxHit]), "")
	if from > 0 {
		out = "…" + out
	}
	if from+maxHit < len(line) {
		out += "…"
	}
	return out
}

func (h *hunt) report() string {
	h.over()
	if h.hits == 0 {
		h.text.WriteString("[no line found]\n")
	}
	if h.stop != "" {
		fmt.Fprintf(&h.text, "[the search ended early: %s; narrow it by path, glob or pattern]\n", h.stop)
	}
	var out []string
	for _, c := range []struct {
		n    int
		what string
	}{{h.binary, "binary"}, {h.large, "larger than 2 MiB"}, {h.bad, "unreadable"}} {
		if c.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(out) > 0 {
		fmt.Fprintf(&h.text, "[not searched: %s]\n", strings.Join(out, ", "))
	}
	return h.text.String()
}
