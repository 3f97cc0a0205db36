package natsembed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// streamsFolder is where the server keeps its streams below the store: those of its only account.
const streamsFolder = "jetstream/$G/streams"

// Settle writes through how streams and consumers are configured. Of streams that are not synced the server leaves that to the
// system, which may take half a minute; a power failure until then tears it, and the server does not open such a stream again,
// whatever is stored in it.
func (s *Server) Settle() error {
	return filepath.WalkDir(filepath.Join(s.opts.StoreDir, "jetstream"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && (e.IsDir() || strings.HasPrefix(e.Name(), "meta.")) {
			err = settle(path)
		}
		if errors.Is(err, fs.ErrNotExist) { // what the server has replaced meanwhile
			return nil
		}
		return err
	})
}

func settle(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrInvalid) {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

// tornError says that consumers could not be opened.
type tornError struct{ consumers []consumeAt }

func (e *tornError) Error() string {
	return fmt.Sprintf("%s: what these consumers have delivered cannot be read: %v", ErrStore, e.consumers)
}

// mend removes what kept the server from opening the store and can be made again. It says whether there was such a thing.
func (s *Server) mend(unusable error) bool {
	if torn, ok := errors.AsType[*tornError](unusable); ok {
		return s.forget(torn.consumers)
	}
	return errors.Is(unusable, ErrStore) && s.discard(unusable)
}

// forget removes what consumers have delivered: they deliver everything once more, and a doorbell that has nothing to say is
// acked at once.
func (s *Server) forget(consumers []consumeAt) bool {
	for _, c := range consumers {
		file := filepath.Join(s.streams(), c.stream, "obs", c.consumer, "o.dat")
		if err := os.Remove(file); err != nil {
			s.log.Error("the torn state of a consumer is not removed", "stream", c.stream, "consumer", c.consumer, "error", err)
			return false
		}
		s.log.Warn("what a consumer had delivered could not be read: it delivers everything again", "stream", c.stream, "consumer", c.consumer)
	}
	return true
}

func (s *Server) streams() string {
	return filepath.Join(s.opts.StoreDir, filepath.FromSlash(streamsFolder))
}

// discard removes the store of one stream that the server could not open and that holds only what can be built again. It says
// whether there was such a one.
func (s *Server) discard(unusable error) bool {
	for _, name := range s.opts.Rebuildable {
		if !strings.Contains(unusable.Error(), "> "+name+"'") {
			continue
		}
		dir := filepath.Join(s.streams(), name)
		if _, err := os.Lstat(dir); err != nil {
			return false
		}
		if err := os.RemoveAll(dir); err != nil {
			s.log.Error("a stream that cannot be opened and can be built again is not removed", "stream", name, "error", err)
			return false
		}
		s.log.Warn("a stream could not be opened and is begun anew: what it held is built again", "stream", name, "error", unusable)
		return true
	}
	return false
}
