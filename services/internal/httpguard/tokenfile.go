package httpguard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultName is the caller of a token that stands in its file without a name.
	DefaultName = "default"

	maxTokenFile = 64 << 10 // bytes
	// settle is how old a file has to be before its time and size are believed to tell that it was not written to again: clocks
	// of file systems tick slowly, and a token that replaces another is as long.
	settle = 2 * time.Second
)

// ErrTokenFile is a file of tokens that cannot be used.
var ErrTokenFile = errors.New("token file")

// FileTokens reads a file with one token a line, each alone or as "NAME TOKEN"; one alone is DefaultName's. White space around is
// nothing. The file is read again when it has changed, by its time, size or identity. While it is missing, empty, readable by
// others than its owner, or not in this form, everybody is refused.
func FileTokens(path string) Source {
	f := &tokenFile{path: path}
	return f.tokens
}

type tokenFile struct {
	path string
	mu   sync.Mutex
	seen fs.FileInfo       // guarded by mu; the file that set was read from; nil: it has to be read
	set  map[string]string // guarded by mu; it is replaced, never written to
}

func (f *tokenFile) tokens() (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st, err := os.Stat(f.path) // before it is opened: to open a pipe would wait for its writer
	if err == nil {
		err = private(st)
	}
	if err == nil && !unchanged(f.seen, st) {
		err = f.load()
	}
	if err != nil {
		f.seen, f.set = nil, nil
		return nil, fmt.Errorf("%w %s: %w", ErrTokenFile, f.path, err)
	}
	return f.set, nil
}

// load needs mu. It looks at the file that it opened: the name may be another's by now.
func (f *tokenFile) load() error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	st, err := file.Stat()
	if err == nil {
		err = private(st)
	}
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxTokenFile+1))
	if err != nil {
		return err
	}
	set, err := parseTokens(string(data))
	if err != nil {
		return err
	}
	f.seen, f.set = st, set
	if time.Since(st.ModTime()) < settle {
		f.seen = nil
	}
	return nil
}

func unchanged(seen, now fs.FileInfo) bool {
	return seen != nil && os.SameFile(seen, now) && seen.Size() == now.Size() && seen.ModTime().Equal(now.ModTime())
}

func private(st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 { // modes say nothing there
		return fmt.Errorf("its mode is %04o: others on this machine can reach it; chmod 600 it, and replace the tokens if "+
			"anybody may have read them", st.Mode().Perm())
	}
	return nil
}

// parseTokens tells of lines by their numbers: an error goes to the log, where no token belongs.
func parseTokens(data string) (map[string]string, error) {
	if len(data) > maxTokenFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxTokenFile)
	}
	set, owner := map[string]string{}, map[string]string{}
	n := 0
	for line := range strings.Lines(data) {
		n++
		fields := strings.Fields(line)
		switch len(fields) {
		case 0:
			continue
		case 1:
			fields = []string{DefaultName, fields[0]}
		case 2:
		default:
			return nil, fmt.Errorf("line %d: want TOKEN or NAME TOKEN", n)
		}
		name, secret := fields[0], fields[1]
		if WeakToken(secret) {
			return nil, fmt.Errorf("line %d: a token has at least %d printable characters", n, MinToken)
		}
		if _, ok := set[name]; ok {
			return nil, fmt.Errorf("line %d: a second token for %q", n, name)
		}
		if other, ok := owner[secret]; ok {
			return nil, fmt.Errorf("line %d: %q has the token of %q: nobody could tell who calls", n, name, other)
		}
		set[name], owner[secret] = secret, name
	}
	if len(set) == 0 {
		return nil, errors.New("it is empty")
	}
	return set, nil
}
