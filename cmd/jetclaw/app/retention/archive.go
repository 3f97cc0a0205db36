package retention

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// ErrAtWork says that another run works on the same folder.
var ErrAtWork = errors.New("sessions are being archived already")

// folder is where archives lie. It is held by one run at a time.
type folder struct {
	dir  string
	lock *flock.Flock
}

// Names of what is no archive.
const (
	lockName  = ".lock"
	unnamed   = ".unnamed-*" // archives that are being written
	abandoned = time.Hour    // after which one of those is not written any more
	extension = ".jsonl.gz"
)

// open makes the folder if it is missing, and takes it.
func open(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of archives: %w", err)
	}
	f := &folder{dir: dir, lock: flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))}
	ok, err := f.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", dir, ErrAtWork)
	}
	return f, nil
}

func (f *folder) close() error { return f.lock.Close() }

// sweep removes what runs that died have left.
func (f *folder) sweep(now time.Time) error {
	names, err := filepath.Glob(filepath.Join(f.dir, unnamed))
	if err != nil {
		return err
	}
	for _, name := range names {
		if st, err := os.Stat(name); err == nil && now.Sub(st.ModTime()) > abandoned {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// has says whether an archive is there, and can be read to its end: so many events, the last of which is at a cursor.
func (f *folder) has(name string, lines int, last uint64) bool {
	there, err := readBack(filepath.Join(f.dir, filepath.Base(name)))
	return err == nil && there.lines == lines && there.last == last
}

func (f *folder) remove(name string) error {
	if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
		return err
	}
	return syncDir(f.dir)
}

const (
	longName = 180 // of a session id in a file name; file systems take 255 bytes
	hashed   = 16
)

// nameOf is what the archive of a session is called, without the extension.
func nameOf(s session.ID, last uint64) string {
	name := string(s)
	if len(name) > longName {
		sum := sha256.Sum256([]byte(s))
		name = name[:longName-hashed-1] + "_" + hex.EncodeToString(sum[:])[:hashed]
	}
	return name + "-" + strconv.FormatUint(last, 10)
}

// content is what an archive is checked by.
type content struct {
	lines int
	last  uint64 // cursor
	sum   [sha256.Size]byte
}

// write writes an archive, reads it back, and gives it its name. each calls add for the events in their order. made says
// that there was no archive of this content before.
func (f *folder) write(name string, each func(add func(envelope.Event) error) error) (file string, made bool, err error) {
	tmp, err := os.CreateTemp(f.dir, unnamed) // 0600
	if err != nil {
		return "", false, err
	}
	wrote, err := fill(tmp, each)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return "", false, errors.Join(err, os.Remove(tmp.Name()))
	}
	if read, err := readBack(tmp.Name()); err != nil || read != wrote {
		err = errors.Join(fmt.Errorf("the archive reads as %d events up to %d; written were %d up to %d", read.lines, read.last, wrote.lines, wrote.last), err)
		return "", false, errors.Join(err, os.Remove(tmp.Name()))
	}
	file, made = f.free(name, wrote)
	if err := os.Rename(tmp.Name(), filepath.Join(f.dir, file)); err != nil {
		return "", false, errors.Join(err, os.Remove(tmp.Name()))
	}
	return file, made, syncDir(f.dir)
}

func fill(w *os.File, each func(add func(envelope.Event) error) error) (c content, err error) {
	buffered := bufio.NewWriter(w)
	packed := gzip.NewWriter(buffered)
	sum := sha256.New()
	out := io.MultiWriter(packed, sum)
	err = each(func(ev envelope.Event) error {
		line, err := envelope.LineOf(ev)
		if err != nil {
			return err
		}
		c.lines++
		c.last = ev.Cursor
		_, err = out.Write(append(line, '\n'))
		return err
	})
	if err != nil {
		return c, err
	}
	c.sum = sumOf(sum)
	for _, step := range []func() error{packed.Close, buffered.Flush, w.Sync} {
		if err := step(); err != nil {
			return c, err
		}
	}
	return c, nil
}

func sumOf(h hash.Hash) [sha256.Size]byte { return [sha256.Size]byte(h.Sum(nil)) }

// readBack is what a file holds.
func readBack(path string) (c content, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe of that name would be waited for
	if err != nil {
		return c, err
	}
	defer file.Close()
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() {
		return c, errors.Join(errors.New("not a regular file"), err)
	}
	packed, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return c, err
	}
	sum := sha256.New()
	lines := bufio.NewReader(io.TeeReader(packed, sum))
	var last []byte
	for {
		line, err := lines.ReadBytes('\n') // a body may be of any length
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c, err
		}
		c.lines++
		last = line
	}
	var l struct {
		Cursor uint64 `json:"cursor"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(last), &l); err != nil {
		return c, fmt.Errorf("the last line: %w", err)
	}
	c.last, c.sum = l.Cursor, sumOf(sum)
	return c, packed.Close()
}

// free is the name for an archive: its own, if nothing is there or the same, as a run that died leaves it. Else another
// journal had a session of this name.
func (f *folder) free(name string, c content) (file string, made bool) {
	file = name + extension
	for n := 2; ; n++ {
		path := filepath.Join(f.dir, file)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return file, true
		}
		if there, err := readBack(path); err == nil && there == c {
			return file, false
		}
		file = name + "." + strconv.Itoa(n) + extension
	}
}

// syncDir makes names durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
