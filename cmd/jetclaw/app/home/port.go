package home

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Port is the TCP port that the bus of this home had last, 0 when nothing is known. A daemon takes it again where it can,
// so that those who were connected find the next one by themselves.
func (h Home) Port() int {
	data, err := os.ReadFile(h.port())
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || port < 1 || port > 65535 {
		return 0
	}
	return port
}

// SetPort remembers it.
func (l *Lock) SetPort(port int) error {
	return writeFile(l.home.port(), []byte(strconv.Itoa(port)+"\n"))
}

func (h Home) port() string { return filepath.Join(h.run(), "port") }
