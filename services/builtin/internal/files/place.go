package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// place is where a path leads, all links followed: a name in a folder that is held open, so that nothing is looked up twice.
type place struct {
	asked string // the path that was walked
	path  string // where it leads: from the workspace, free of links; "." is the workspace
	// trail are the paths, free of links but for their end, of the links that led here.
	trail   []string
	held    []*os.Root // the folders on the way, the last one holds name
	missing []string   // folders that have to be made in the last one, one in the other, before name
	name    string     // "." when the place is a folder, which then is the last one held
	info    fs.FileInfo
}

const (
	maxLinks = 40  // as Linux
	maxSteps = 512 // folders and links on the way
)

func (p *place) folder() *os.Root { return p.held[len(p.held)-1] }

// close lets the folders go; the first one belongs to the space.
func (p *place) close() {
	for _, r := range p.held[1:] {
		_ = r.Close()
	}
	p.held = p.held[:1]
}

// all is every path of the place: what is asked of the last holds for links on the way too.
func (p *place) all() []string { return append(slices.Clone(p.trail), p.path) }

// walk goes the way of a cleaned path from the workspace, as the system would, but never out of it. A place that is not
// there has no info.
func (s *space) walk(name string) (_ *place, err error) {
	p := &place{asked: name, path: ".", held: []*os.Root{s.root}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	links, rest := 0, strings.Split(name, "/")
	for range maxSteps {
		if len(rest) == 0 {
			p.name = "."
			p.info, err = p.folder().Stat(".")
			return p, err
		}
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(p.held) == 1 {
				return nil, errOutside
			}
			_ = p.folder().Close()
			p.held, p.path = p.held[:len(p.held)-1], path.Dir(p.path)
			continue
		}
		here := path.Join(p.path, part)
		info, err := p.folder().Lstat(part)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return p.absent(part, rest)
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return nil, errLinks
			}
			target, err := p.folder().Readlink(part)
			if err != nil {
				return nil, err
			}
			slashed := filepath.ToSlash(target)
			if filepath.IsAbs(target) || strings.HasPrefix(slashed, "/") {
				return nil, errOutside
			}
			p.trail, rest = append(p.trail, here), append(strings.Split(slashed, "/"), rest...)
		case info.IsDir():
			next, err := enter(p.folder(), part, info)
			if err != nil {
				return nil, err
			}
			p.held, p.path = append(p.held, next), here
		case slices.ContainsFunc(rest, func(part string) bool { return part != "" }):
			return nil, errNoDir
		default:
			p.path, p.name, p.info = here, part, info
			return p, nil
		}
	}
	return nil, errLinks
}

// absent is the place of something that is not there, nor the folders rest but its last.
func (p *place) absent(part string, rest []string) (*place, error) {
	way := []string{part}
	for _, part := range rest {
		switch part {
		case "", ".":
		case "..": // of a link: the way back out of nothing
			return nil, fs.ErrNotExist
		default:
			way = append(way, part)
		}
	}
	p.path = path.Join(append([]string{p.path}, way...)...)
	p.missing, p.name = way[:len(way)-1], way[len(way)-1]
	return p, nil
}

// enter opens a folder, which has to be the one that info is of: opening follows a link that took its place.
func enter(in *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	next, err := in.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	got, err := next.Stat(".")
	if err == nil && !os.SameFile(got, info) {
		err = errChanged
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, nil
}

// file opens a regular file to read it. Anything else may wait for ever or do something when it is opened: what is there is
// looked at before, and what was opened is compared with it.
func (p *place) file() (*os.File, fs.FileInfo, error) {
	switch {
	case p.info == nil:
		return nil, nil, fs.ErrNotExist
	case p.info.IsDir():
		return nil, nil, errFolder
	case !p.info.Mode().IsRegular():
		return nil, nil, errSpecial
	}
	f, err := p.folder().OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(info, p.info)) {
		err = errChanged
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

var errLarge = errors.New("is too large for this tool")

// content is all of a file of at most limit bytes, and its state when it was opened.
func (p *place) content(limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := p.file()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, nil, errLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errLarge
	}
	return data, info, err
}

// unchanged says whether b is of the same file as a, not written to since. Both may be nil: still nothing.
func unchanged(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
