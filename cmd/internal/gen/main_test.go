package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestModuleRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	if dir, err := moduleRoot(); err == nil {
		t.Fatalf("found %s outside of any module", dir)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("go.mod", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join("a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	if dir, err := moduleRoot(); err != nil || dir != here {
		t.Fatalf("found %s, %v; want %s", dir, err, here)
	}
}
