package files

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

const (
	dirMode  = 0o700
	fileMode = 0o600

	maxWhole = 16 << 20 // bytes of a file that is changed in part
)

// target finds what a call writes to, and refuses what it must not write to.
func (s *space) target(arg string) (*place, error) {
	p, err := s.find(arg)
	if err != nil {
		return nil, err
	}
	if err := s.may(p); err != nil {
		p.close()
		return nil, explain(p.asked, err)
	}
	return p, nil
}

func (s *space) may(p *place) error {
	name := show(p.asked)
	switch {
	case p.info != nil && p.info.IsDir():
		return errFolder
	case p.info != nil && !p.info.Mode().IsRegular():
		return errSpecial
	case p.info == nil && strings.ContainsFunc(p.path, unicode.IsControl):
		return tool.Refuse("%s: a name with control characters is not made", name)
	case p.info != nil && p.info.Mode().Perm()&0o200 == 0:
		return tool.Refuse("%s is read-only", name)
	case !s.call.Allowed && s.prompts(p):
		hint := ""
		if toolv1.IsPromptFile(p.path) {
			hint = "; call again with the path " + show(p.path)
		}
		return tool.Refuse("writing %s changes what every conversation begins with, and no person has allowed that%s", name, hint)
	}
	return s.asDecided()
}

// asDecided says whether the files that the call was decided about are still the same.
func (s *space) asDecided() error {
	for _, f := range s.call.Files {
		digest, err := s.digest(f.Path)
		if err != nil {
			return err
		}
		if digest != f.Digest {
			return tool.Refuse("the file %s has changed since this was approved; read it again", show(f.Path))
		}
	}
	return nil
}

// digest is the SHA-256 of a file in hexadecimal digits, "" when there is none.
func (s *space) digest(arg string) (string, error) {
	p, err := s.find(arg)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer p.close()
	f, _, err := p.file()
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", explain(p.asked, err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", explain(p.asked, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// put makes data the content of the place. was is the file that data was made from, or nil: whatever is there is replaced.
func (s *space) put(ctx context.Context, p *place, was fs.FileInfo, data []byte) error {
	there := len(p.held)
	if err := p.make(); err != nil {
		return explain(p.asked, err)
	}
	temp := ".jetclaw-" + rand.Text() + ".tmp"
	f, err := p.folder().OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return explain(p.asked, err)
	}
	err = fill(f, p.info, was != nil, data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		s.landing()
		err = s.again(p, was)
	}
	if err == nil {
		err = p.folder().Rename(temp, p.name)
	}
	if err != nil {
		_ = p.folder().Remove(temp)
		return explain(p.asked, err)
	}
	settle(p.held[there-1:])
	return nil
}

// settle makes the names in folders durable before the call says that it is done. Not every system can.
func settle(folders []*os.Root) {
	for _, r := range folders {
		if d, err := r.Open("."); err == nil {
			_ = d.Sync()
			_ = d.Close()
		}
	}
}

// make makes the folders that are missing. They stay when the write fails.
func (p *place) make() error {
	for _, name := range p.missing {
		if err := p.folder().Mkdir(name, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := p.folder().Lstat(name)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return errChanged
		}
		next, err := enter(p.folder(), name, info)
		if err != nil {
			return err
		}
		p.held = append(p.held, next)
	}
	p.missing = nil
	return nil
}

// fill writes a new file that is to take the place of an old one, nil for none. With parts, data has text of the old file:
// were its owner lost, the text of somebody else would pass for the agent's own.
func fill(f *os.File, old fs.FileInfo, parts bool, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if old != nil {
		have, err := f.Stat()
		if err != nil {
			return err
		}
		uid, gid, _ := owner(old)
		if u, g, ok := owner(have); ok && (u != uid || g != gid) {
			if err := f.Chown(uid, gid); err != nil && parts && u != uid {
				return tool.Refuse("it belongs to another user; write a copy of it under another name")
			}
		}
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	return f.Sync() // before the rename: a file without content could else be what a power failure leaves
}

// again looks a last time at where the place is, what is there, and what was decided.
func (s *space) again(p *place, was fs.FileInfo) error {
	q, err := s.walk(p.asked)
	if err != nil {
		return err
	}
	defer q.close()
	here, err := p.folder().Stat(".")
	if err != nil {
		return err
	}
	there, err := q.folder().Stat(".")
	if err != nil {
		return err
	}
	if q.path != p.path || len(q.missing) > 0 || !os.SameFile(here, there) || (q.info == nil) != (p.info == nil) {
		return errChanged
	}
	if was != nil && !unchanged(was, q.info) {
		return errChanged
	}
	return s.may(q)
}
