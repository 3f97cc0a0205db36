package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// deployDir is the folder that is checked, repoDir the repository.
const (
	deployDir = ".."
	repoDir   = "../.."
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tool is the path of a program that the checks need.
func tool(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: apt-get install %s", name, from)
	}
	return path
}

// run is what a command prints; the test ends where it fails.
func run(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
	}
	return string(out)
}

// image is what the image from scratch holds, laid out by the script that the Dockerfile runs.
var image = struct { //nolint:gochecknoglobals // built once for all tests
	sync.Once
	dir string
	err error
	out []byte
}{}

func imageDir(t *testing.T) string {
	t.Helper()
	image.Do(func() {
		if image.dir, image.err = os.MkdirTemp("", "jetclaw-image-"); image.err != nil { //nolint:usetesting // it outlives this test
			return
		}
		if image.err = os.Chmod(image.dir, 0o755); image.err != nil { // as the root of a container
			return
		}
		script, err := filepath.Abs(filepath.Join(deployDir, "image", "rootfs"))
		if err != nil {
			image.err = err
			return
		}
		image.out, image.err = exec.Command(script, image.dir, "check").CombinedOutput()
	})
	if image.err != nil {
		t.Fatalf("lay out the image: %v\n%s", image.err, image.out)
	}
	return image.dir
}

// jetclaw is the binary of the image.
func jetclaw(t *testing.T) string {
	t.Helper()
	return filepath.Join(imageDir(t), "usr", "bin", "jetclaw")
}

// natsServer is built from the module that jetclaw itself is built with.
var natsServer = struct { //nolint:gochecknoglobals // built once for all tests
	sync.Once
	path string
	err  error
	out  []byte
}{}

func natsServerPath(t *testing.T) string {
	t.Helper()
	natsServer.Do(func() {
		var dir string
		if dir, natsServer.err = os.MkdirTemp("", "nats-server-"); natsServer.err != nil { //nolint:usetesting // it outlives this test
			return
		}
		natsServer.path = filepath.Join(dir, "nats-server")
		c := exec.Command("go", "build", "-buildvcs=false", "-o", natsServer.path, "github.com/nats-io/nats-server/v2")
		c.Dir = repoDir
		natsServer.out, natsServer.err = c.CombinedOutput()
	})
	if natsServer.err != nil {
		t.Fatalf("build nats-server: %v\n%s", natsServer.err, natsServer.out)
	}
	return natsServer.path
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == underFilter {
		os.Exit(runUnderFilter(os.Args[2:]))
	}
	code := m.Run()
	os.RemoveAll(image.dir)
	os.RemoveAll(image.dir + "-prepared")
	if natsServer.path != "" {
		os.RemoveAll(filepath.Dir(natsServer.path))
	}
	os.Exit(code)
}
