// Command gen writes what other languages read of our contracts: schemas/json/<type>.json, one JSON Schema for each event
// type, and schemas/asyncapi.yaml, who says what on which subject. Both follow from the Go types and the registry, and
// hold nothing else: no time, no version of a tool. With -check it writes nothing and exits 1 naming what differs.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "write nothing; exit 1 when a file is not what would be written")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	want, err := generate(root)
	if err != nil {
		return err
	}
	stale, err := differing(root, want)
	if err != nil {
		return err
	}
	if check {
		if len(stale) > 0 {
			return fmt.Errorf("not current: %s (go run ./cmd/internal/gen)", strings.Join(stale, ", "))
		}
		return nil
	}
	for _, name := range stale {
		if err := put(filepath.Join(root, name), want[name]); err != nil {
			return err
		}
		fmt.Println(name)
	}
	return nil
}

// generate is every generated file: its content by its path from the module's root.
func generate(root string) (map[string][]byte, error) {
	d, err := parseDocs(root)
	if err != nil {
		return nil, err
	}
	files, err := jsonSchemas(d)
	if err != nil {
		return nil, err
	}
	if files[asyncapiFile], err = asyncAPI(d); err != nil {
		return nil, err
	}
	return files, nil
}

// differing names the files that are missing, old, or left over from a type that is gone.
func differing(root string, want map[string][]byte) ([]string, error) {
	var stale []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		have, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil || !bytes.Equal(have, want[name]) {
			stale = append(stale, name)
		}
	}
	there, err := filepath.Glob(filepath.Join(root, schemaDir, "*"))
	if err != nil {
		return nil, err
	}
	for _, path := range there {
		if name := schemaDir + "/" + filepath.Base(path); want[name] == nil {
			stale = append(stale, name)
		}
	}
	return stale, nil
}

// put writes a file, or removes it when there is nothing to write.
func put(path string, data []byte) error {
	if data == nil {
		return os.Remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// moduleRoot is the nearest folder above that has a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("run inside the module: no go.mod here or above")
		}
		dir = up
	}
}
