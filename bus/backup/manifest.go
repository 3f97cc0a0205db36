package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Manifest says what a backup holds.
type Manifest struct {
	Format  int       `json:"format"`  // of the folder: 1
	Version string    `json:"version"` // the jetclaw that made it
	Began   time.Time `json:"began"`   // what was acknowledged before is in it
	Ended   time.Time `json:"ended"`
	Streams []Stream  `json:"streams"` // in the order in which they were saved
	Sum     string    `json:"sha256"`  // of the manifest itself, as compact JSON without it
}

// Stream is one stream of a backup.
type Stream struct {
	Name      string          `json:"name"` // of the stream, and of its file
	Bytes     int64           `json:"bytes"`
	SHA256    string          `json:"sha256"`
	Messages  uint64          `json:"messages"`
	First     uint64          `json:"first"` // sequence of the first message; without any, one above Last
	Last      uint64          `json:"last"`  // last sequence that was given, also when its message is gone
	Consumers int             `json:"consumers"`
	Config    json.RawMessage `json:"config"` // of the stream, as the server has it
}

// Events is how many events the backup holds.
func (m Manifest) Events() uint64 {
	for _, s := range m.Streams {
		if s.Name == subject.Journal {
			return s.Messages
		}
	}
	return 0
}

// Bytes is the size of all files but the manifest.
func (m Manifest) Bytes() (n int64) {
	for _, s := range m.Streams {
		n += s.Bytes
	}
	return n
}

const (
	format       = 1
	manifestName = "manifest.json"
	maxManifest  = 1 << 20
)

// What can be wrong with a folder.
var (
	// ErrNone says that the folder holds no backup, or none that was finished.
	ErrNone = errors.New("there is no backup")
	// ErrDamaged says that the backup is not what was written.
	ErrDamaged = errors.New("the backup is damaged")
	// ErrNewer says that a newer jetclaw wrote it in a way that this one does not know.
	ErrNewer = errors.New("the backup was made by a newer jetclaw")
)

// names are the streams of a backup in the order of the package comment.
func names() []string {
	return []string{
		subject.Journal, subject.Timers, "OBJ_" + subject.Blobs, "KV_" + subject.Settings, "KV_" + subject.Catalog,
		subject.Dead, subject.System,
	}
}

// rebuilt is the stream that is left out, and removed by a restore: it belongs to another journal then.
const rebuilt = "KV_" + subject.Snap

func (m Manifest) sum() (string, error) {
	m.Sum = ""
	data, err := json.Marshal(m)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

func (m Manifest) write(dir string) error {
	var err error
	if m.Sum, err = m.sum(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f, err := create(filepath.Join(dir, manifestName))
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// readManifest reads and checks the manifest of a folder.
func readManifest(dir string) (m Manifest, err error) {
	path := filepath.Join(dir, manifestName)
	f, err := openFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("%w in %s: it has no %s, which is written last", ErrNone, dir, manifestName)
	case err != nil:
		return m, fmt.Errorf("read the backup: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return m, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > maxManifest {
		return m, fmt.Errorf("%w: %s is too large", ErrDamaged, path)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	if m.Format > format {
		return m, fmt.Errorf("%w: %s has format %d, this one knows %d; use jetclaw %q", ErrNewer, path, m.Format, format, m.Version)
	}
	sum, err := m.sum()
	switch {
	case err != nil:
		return m, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	case m.Format != format || sum != m.Sum:
		return m, fmt.Errorf("%w: %s was changed after it was written", ErrDamaged, path)
	}
	return m, m.complete(path)
}

// complete wants each stream once: a backup without one of them would restore to less than there was.
func (m Manifest) complete(path string) error {
	var have []string
	for _, s := range m.Streams {
		var c struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(s.Config, &c); err != nil || c.Name != s.Name {
			return fmt.Errorf("%w: %s: the configuration of stream %s is of another one", ErrDamaged, path, s.Name)
		}
		have = append(have, s.Name)
	}
	want := names()
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(have, want) {
		return fmt.Errorf("%w: %s names the streams %q, want %q", ErrDamaged, path, have, want)
	}
	return nil
}

// Verify says whether a backup is whole: its manifest, and each file by size and SHA-256. The errors are ErrNone,
// ErrDamaged, ErrNewer, and those of the file system.
func Verify(dir string) (Manifest, error) { return Check(context.Background(), dir, Options{}) }

// Check is Verify for who tells how far it is, or wants to stop it.
func Check(ctx context.Context, dir string, o Options) (Manifest, error) {
	m, err := readManifest(dir)
	if err != nil {
		return m, err
	}
	for _, s := range m.Streams {
		if err := s.check(ctx, dir, o); err != nil {
			return m, err
		}
	}
	return m, nil
}

func (s Stream) check(ctx context.Context, dir string, o Options) error {
	path := filepath.Join(dir, s.Name)
	f, err := openFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s is missing", ErrDamaged, path)
	case err != nil:
		return fmt.Errorf("read the backup: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("read the backup: %w", err)
	case !st.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a regular file", ErrDamaged, path)
	case st.Size() != s.Bytes:
		return fmt.Errorf("%w: %s has %d bytes, want %d", ErrDamaged, path, st.Size(), s.Bytes)
	}
	sum := sha256.New()
	buf := make([]byte, chunkSize)
	for done := int64(0); ; {
		n, err := f.Read(buf)
		sum.Write(buf[:n])
		done += int64(n)
		o.tell(Progress{Doing: Checking, Stream: s.Name, Done: done, Total: s.Bytes})
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	if want, err := hex.DecodeString(s.SHA256); err != nil || !bytes.Equal(sum.Sum(nil), want) {
		return fmt.Errorf("%w: %s is not what was written: its SHA-256 differs", ErrDamaged, path)
	}
	return nil
}
