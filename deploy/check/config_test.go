package check

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// jetclawIn runs a command of the binary in a home.
func jetclawIn(t *testing.T, home string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), jetclaw(t), args...)
	c.Env = []string{"JETCLAW_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := c.CombinedOutput()
	return string(out), err
}

var setting = regexp.MustCompile(`(?m)^#( *(?:[a-z_]+):(?: |$))`)

// uncommented takes settings that are offered as comments into force.
func uncommented(text string) string {
	return strings.ReplaceAll(setting.ReplaceAllString(text, "$1"), "\t", "  ")
}
