package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/backup"
	"github.com/jetclaw/jetclaw/bus/natsembed"
	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
)

// Restoring says how a backup comes back into the home.
type Restoring struct {
	Dir      string
	To       Away // a bus elsewhere instead of the home's journal; none: the home's
	Patience Patience
	Progress func(backup.Progress)
	// Agree is asked once the backup is known to be whole and the home to be free for it. Its error ends it; nothing was changed.
	Agree func(context.Context, backup.Manifest) error
}

// Where the server keeps its streams, below its store; and the store that a restore fills, which is not there else.
const (
	streamsFolder   = "jetstream"
	restoringFolder = "restoring"
)

// Restore puts a backup in the place of the home's journal, which has to be empty. Nobody else may have the home: the error
// is a *home.HeldError then. The new store is made beside the old one and takes its place when it is complete and on the
// disk: one that was interrupted has changed nothing, and is repeated from the beginning.
func (e Env) Restore(ctx context.Context, r Restoring) (m backup.Manifest, err error) {
	if r.To.URL != "" {
		return e.restoreElsewhere(ctx, r)
	}
	if e.Config.Remote.URL != "" {
		return m, errElsewhere
	}
	if err := e.Home.Create(); err != nil {
		return m, err
	}
	lock, err := e.acquire(false)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	options := backup.Options{Progress: r.Progress}
	if m, err = backup.Check(ctx, r.Dir, options); err != nil {
		return m, err
	}
	if err := e.unused(ctx); err != nil {
		return m, err
	}
	if r.Agree != nil {
		if err := r.Agree(ctx, m); err != nil {
			return m, err
		}
	}
	fresh := filepath.Join(e.Home.Data(), restoringFolder)
	if err := os.RemoveAll(fresh); err != nil { // of one that was interrupted
		return m, fmt.Errorf("restore: %w", err)
	}
	err = e.fill(ctx, fresh, r, options)
	if err == nil {
		err = e.replaceStreams(fresh)
	}
	return m, errors.Join(err, os.RemoveAll(fresh))
}

var errElsewhere = errors.New("a backup is restored into the store of this home, but remote.url says that the journal is elsewhere: " +
	"name it by --nats, or take remote.url out of the configuration")

// Refusal is why a restore would be refused now, nil when it would not. err says that this could not be found out. Nothing is changed.
func (e Env) Refusal(ctx context.Context, r Restoring) (refusal, err error) {
	switch _, serr := os.Stat(filepath.Join(e.Home.Data(), streamsFolder)); {
	case r.To.URL != "":
		err = e.WithOwner(ctx, r.To, r.Patience, func(ctx context.Context, admin *bus.Conn) error {
			if err := e.vacant(ctx, admin, r); err != nil || e.Config.Bus.Replicas > 0 {
				return err
			}
			_, err := copiesNow(ctx, admin)
			return err
		})
	case e.Config.Remote.URL != "":
		return errElsewhere, nil
	case errors.Is(serr, fs.ErrNotExist):
		return nil, nil
	default:
		err = e.WithJournal(ctx, func(ctx context.Context, c Client) error {
			admin, err := c.Admin(ctx)
			if err != nil {
				return err
			}
			defer e.part(ctx, admin)
			if err = backup.Empty(ctx, admin); err == nil && c.At != "" {
				refusal = fmt.Errorf("%s has this home: stop it first", c.At)
			}
			return err
		})
	}
	if errors.Is(err, backup.ErrNotEmpty) || errors.Is(err, ErrCopies) || errors.Is(err, errRunning) {
		return err, nil
	}
	return refusal, err
}

// unused is an error when the home's journal has events.
func (e Env) unused(ctx context.Context) error {
	_, err := os.Stat(filepath.Join(e.Home.Data(), streamsFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err = e.onStore(ctx, e.Home.Data(), natsembed.SyncAlways, func(ctx context.Context, c Client, _ *server) error {
		admin, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		return errors.Join(backup.Empty(ctx, admin), admin.Close(ctx))
	})
	if errors.Is(err, backup.ErrNotEmpty) {
		return fmt.Errorf("%s: %w; a backup is restored where there is nothing to lose: move that folder away, or use another home: %s=DIR",
			e.Home.Data(), err, home.EnvVar)
	}
	return err
}

// fill restores into a store of its own. It is synced as a whole afterwards: message by message would take hours.
func (e Env) fill(ctx context.Context, dir string, r Restoring, o backup.Options) error {
	return e.onStore(ctx, dir, natsembed.SyncInterval, func(ctx context.Context, c Client, s *server) error {
		admin, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		if _, err = backup.Restore(ctx, admin, r.Dir, o); err == nil {
			err = applyTopology(ctx, admin, s.limits, executorsOf(e.Config), e.Log)
		}
		if err == nil { // now, as the end of the server has its time
			err = syncAll(filepath.Join(dir, streamsFolder))
		}
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		return errors.Join(err, admin.Close(end))
	})
}

// onStore lets fn talk to a server in this process, without doors or services, on a store.
func (e Env) onStore(ctx context.Context, dir string, sync natsembed.Sync, fn func(context.Context, Client, *server) error) error {
	g, err := e.embedded(false)
	if err != nil {
		return err
	}
	g.server.options.StoreDir, g.server.options.Sync = dir, sync
	c := Client{dial: g.dial}
	v := &visitor{fn: func(ctx context.Context) error { return fn(ctx, c, g.server) }}
	g.modules = append(g.modules, lifecycle.Module{Name: cliUser, Service: v})
	return g.untilLeft(ctx, e.Log)
}

// replaceStreams puts the streams of a store in the place of the home's, which are empty. Between the two steps there are
// none, which is as empty.
func (e Env) replaceStreams(from string) error {
	made, wanted := filepath.Join(from, streamsFolder), filepath.Join(e.Home.Data(), streamsFolder)
	if err := syncAll(made); err != nil {
		return err
	}
	if err := os.RemoveAll(wanted); err != nil {
		return fmt.Errorf("remove the empty store: %w", err)
	}
	if err := os.Rename(made, wanted); err != nil {
		return fmt.Errorf("put the restored store in its place: %w", err)
	}
	return syncPath(e.Home.Data())
}

// syncAll writes a folder to the disk.
func syncAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = syncPath(path)
		}
		if errors.Is(err, fs.ErrNotExist) { // a file that the server has replaced meanwhile
			return nil
		}
		return err
	})
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}
