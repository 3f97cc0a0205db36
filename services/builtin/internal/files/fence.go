package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// maxFenced is how many entries of a folder are compared with a file that has several names; beyond it the answer is yes.
const maxFenced = 5000

// fence is a set of files and folders of the workspace, by whatever names they can be reached.
type fence struct {
	space *space
	paths []string      // as they are named, and where that leads
	files []fs.FileInfo // of those that are files
	dirs  []string      // of those that are folders, where they are
	deep  *thicket      // of dirs; nil: not looked at yet
}

// fence looks at the files and folders of a list, of which some may not exist.
func (s *space) fence(list []string) *fence {
	f := &fence{space: s}
	for _, arg := range list {
		name, err := s.name(arg)
		if err != nil {
			continue // a place outside: no tool of ours gets there
		}
		f.paths = append(f.paths, name)
		p, err := s.walk(name)
		if err != nil {
			continue
		}
		f.paths = append(f.paths, p.path)
		switch {
		case p.info == nil:
		case p.info.IsDir():
			f.dirs = append(f.dirs, p.path)
		default:
			f.files = append(f.files, p.info)
		}
		p.close()
	}
	return f
}

// holds says whether the place is in the set: by a path on its way, or as the same file.
func (f *fence) holds(p *place) bool {
	for _, at := range p.all() {
		if slices.ContainsFunc(f.paths, func(dir string) bool { return below(at, dir) }) {
			return true
		}
	}
	if p.info == nil || p.info.IsDir() {
		return false
	}
	if has(f.files, p.info) {
		return true
	}
	if onlyName(p.info) || len(f.dirs) == 0 {
		return false
	}
	if f.deep == nil {
		f.deep = f.space.thicket(f.dirs)
	}
	return f.deep.more || has(f.deep.files, p.info)
}

// inside says whether a path lies in one of the folders, or would.
func (f *fence) inside(at string) bool {
	return slices.ContainsFunc(f.paths, func(dir string) bool { return below(at, dir) && !strings.EqualFold(at, dir) })
}

func has(files []fs.FileInfo, info fs.FileInfo) bool {
	return slices.ContainsFunc(files, func(f fs.FileInfo) bool { return os.SameFile(f, info) })
}

// below says whether name is dir or in it. Case is ignored: some file systems do.
func below(name, dir string) bool {
	if dir == "." || strings.EqualFold(name, dir) {
		return true
	}
	parts, under := strings.Split(name, "/"), strings.Split(dir, "/")
	return len(parts) > len(under) && strings.EqualFold(strings.Join(parts[:len(under)], "/"), dir)
}

// thicket is what lies in some folders at any depth.
type thicket struct {
	files []fs.FileInfo
	links []string
	more  bool // than could be looked at
}

func (s *space) thicket(dirs []string) *thicket {
	t := &thicket{}
	for _, dir := range dirs {
		p, err := s.walk(dir)
		if err != nil {
			t.more = true
			continue
		}
		if p.info != nil && p.info.IsDir() {
			t.grow(p.folder(), dir, 0)
		}
		p.close()
	}
	return t
}

func (t *thicket) grow(dir *os.Root, at string, depth int) {
	entries, more, err := list(dir, maxFenced)
	if errors.Is(err, fs.ErrPermission) {
		return // who reads prompts cannot read it either
	}
	if t.more = t.more || more || err != nil || depth > maxLinks; t.more {
		return
	}
	for _, e := range entries {
		switch name := path.Join(at, e.name); {
		case len(t.files)+len(t.links) > maxFenced:
			t.more = true
			return
		case e.info == nil:
		case e.info.Mode()&fs.ModeSymlink != 0:
			t.links = append(t.links, name)
		case e.info.IsDir():
			next, err := enter(dir, e.name, e.info)
			if errors.Is(err, fs.ErrPermission) {
				continue
			}
			if err != nil {
				t.more = true
				return
			}
			t.grow(next, name, depth+1)
			_ = next.Close()
		default:
			t.files = append(t.files, e.info)
		}
	}
}

// prompts says whether writing to the place changes what every prompt begins with, or a skill.
func (s *space) prompts(p *place) bool {
	if slices.ContainsFunc(p.all(), toolv1.IsPromptFile) || s.fence(append([]string{"skills"}, toolv1.PromptFiles...)).holds(p) {
		return true
	}
	// A skill may be a link, to a file or to a folder that may have more of them.
	for _, name := range s.skills() {
		q, err := s.walk(name)
		if err != nil {
			continue // leads out or in circles: nobody reads it
		}
		is := below(p.path, q.path)
		q.close()
		if is {
			return true
		}
	}
	return false
}

// skills are the links in the folder of skills, and the files that skills are read from.
func (s *space) skills() []string {
	p, err := s.walk("skills")
	if err != nil || p.info == nil || !p.info.IsDir() {
		if err == nil {
			p.close()
		}
		return nil
	}
	entries, more, err := list(p.folder(), maxFenced)
	dir := p.path
	p.close()
	t := s.thicket([]string{dir})
	if more || err != nil || t.more {
		return []string{"."} // everything: too many to tell
	}
	names := t.links
	for _, e := range entries {
		names = append(names, path.Join(dir, e.name, "SKILL.md"))
	}
	return names
}

// secret is the fence around what is private.
func (s *space) secret() *fence {
	return s.fence(append(slices.Clone(toolv1.PrivateFiles), s.private...))
}

// foreign says whether what lies at the place is text from outside: another user's, or put where such things are put.
func (s *space) foreign(p *place, info fs.FileInfo) bool {
	return s.others(info) || slices.ContainsFunc(p.all(), received)
}

func (s *space) others(info fs.FileInfo) bool {
	if info == nil {
		return false
	}
	uid, _, ok := owner(info)
	return ok && uid != s.owner
}

// received says whether name lies below a folder that holds what came from outside.
func received(name string) bool {
	dirs := strings.Split(name, "/")
	return slices.ContainsFunc(dirs[:len(dirs)-1], func(dir string) bool {
		return strings.EqualFold(dir, "inbox") || strings.EqualFold(dir, "downloads")
	})
}
