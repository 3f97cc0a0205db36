package retention

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
)

// attachments is the folder, beside the archives, of what people have sent: a file for each, named by its SHA-256 as the events
// name it. The same file of several sessions is kept once.
const attachments = "files"

// keep writes an attachment, if it is not there yet, before the archive that names it gets its own name.
func (f *folder) keep(digest string, data []byte) error {
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return errors.New("it is not what it was")
	}
	dir := filepath.Join(f.dir, attachments)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := filepath.Join(dir, digest)
	if there, err := os.ReadFile(name); err == nil && sha256.Sum256(there) == sha256.Sum256(data) {
		return nil
	}
	tmp, err := os.CreateTemp(f.dir, unnamed) // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(dir)
}
