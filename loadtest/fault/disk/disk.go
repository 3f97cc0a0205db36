// Package disk is a disk whose power can be cut, and that can be full: it builds loadtest/fault/powerfs, which is a module of its own,
// runs it as a child and tells it what to do. It mounts, so it needs root and /dev/fuse; without them it fails. The child ends,
// and unmounts, with this process.
package disk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build compiles powerfs into dir and returns the path of the binary.
func Build(ctx context.Context, dir string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	bin := filepath.Join(dir, "powerfs")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, ".")
	cmd.Dir = filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "loadtest", "fault", "powerfs")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build powerfs: %w\n%s", err, out)
	}
	return bin, nil
}

// Disk is one disk. Its methods are called one at a time.
type Disk struct {
	bin        string
	backing    string
	mountpoint string
	names      string

	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	cried bytes.Buffer
}

// Loss is what a cut took back; see loadtest/fault/powerfs.
type Loss struct {
	Files   int   `json:"files"`   // that had something unsynced
	Writes  int   `json:"writes"`  // taken back
	Kept    int   `json:"kept"`    // unsynced and left all the same
	Torn    int   `json:"torn"`    // of which a part was left
	Bytes   int64 `json:"bytes"`   // taken back
	Names   int   `json:"names"`   // taken back
	Renamed int   `json:"renamed"` // names that were unsynced and left all the same
}

// Count is what a disk has done since it has power.
type Count struct {
	Writes      int   `json:"writes"`
	Syncs       int   `json:"syncs"`
	Names       int   `json:"names"`
	Full        int   `json:"full"` // operations that found no room
	Used        int64 `json:"used"` // bytes of all files
	Unsynced    int   `json:"unsynced"`
	Uncommitted int   `json:"uncommitted"`
}

// Names are ways in which names of files survive.
const (
	Journal = "journal" // any fsync commits all names before it, as ext4 and XFS do
	Strict  = "strict"  // a name is safe when its directory was synced
)

// Mount gives mountpoint, a directory that is made, the disk of backing. bin is what Build made.
func Mount(bin, backing, mountpoint, names string) (*Disk, error) {
	for _, dir := range []string{backing, mountpoint} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	d := &Disk{bin: bin, backing: backing, mountpoint: mountpoint, names: names}
	return d, d.On()
}

// On gives the disk power again.
func (d *Disk) On() error {
	cmd := exec.CommandContext(context.Background(), d.bin, "--names", d.names, d.backing, d.mountpoint) // ends with its input
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	d.cried.Reset()
	cmd.Stderr = &d.cried
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start powerfs: %w", err)
	}
	d.cmd, d.in, d.out = cmd, in, bufio.NewScanner(out)
	return d.answer(&struct{}{})
}

// Cut takes back what was not synced; what of it is left all the same is drawn by the seed. Nobody can use the disk until it is
// On again. Who has written to it should be dead: a program that gets errors may still say something.
func (d *Disk) Cut(seed uint64) (l Loss, err error) {
	if err := d.tell(&l, "cut %d", seed); err != nil {
		return l, err
	}
	return l, d.wait()
}

// Room gives the disk a size in bytes, beyond which it is full; 0: that of the disk below.
func (d *Disk) Room(bytes int64) error { return d.tell(&struct{}{}, "room %d", bytes) }

// Others says how many bytes of it others have taken.
func (d *Disk) Others(bytes int64) error { return d.tell(&struct{}{}, "others %d", bytes) }

// Count says what it has done.
func (d *Disk) Count() (c Count, err error) { return c, d.tell(&c, "stat") }

// Sync writes through all that is on it.
func (d *Disk) Sync() error { return d.tell(&struct{}{}, "sync") }

// Close unmounts it; nothing is lost then.
func (d *Disk) Close() error {
	if d.cmd == nil {
		return nil
	}
	_ = d.in.Close()
	return d.wait()
}

func (d *Disk) wait() error {
	err := d.cmd.Wait()
	d.cmd = nil
	if err != nil {
		return fmt.Errorf("powerfs: %w: %s", err, bytes.TrimSpace(d.cried.Bytes()))
	}
	return nil
}

func (d *Disk) tell(answer any, format string, args ...any) error {
	if _, err := fmt.Fprintf(d.in, format+"\n", args...); err != nil {
		return fmt.Errorf("powerfs: %w", err)
	}
	return d.answer(answer)
}

func (d *Disk) answer(into any) error {
	if !d.out.Scan() {
		if err := d.wait(); err != nil {
			return err
		}
		return fmt.Errorf("powerfs has ended: %s", bytes.TrimSpace(d.cried.Bytes()))
	}
	return json.Unmarshal(d.out.Bytes(), into)
}
