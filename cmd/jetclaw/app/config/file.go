package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Read is the file as it is, within the bounds of Load, with its permissions.
func Read(file string) ([]byte, fs.FileMode, error) {
	data, st, err := readFile(file, maxFile)
	if err != nil {
		return nil, 0, err
	}
	return data, st.Mode(), nil
}

// readFile reads a regular file of at most limit bytes. It is opened without waiting, as a pipe that nobody writes to
// would hold the process for ever. Errors do not repeat the name.
func readFile(name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		return nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("larger than %s", Bytes(limit))
	}
	return data, st, nil
}
