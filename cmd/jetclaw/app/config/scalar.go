package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size: 1048576, 512KiB, 10GiB (powers of 1024; KB, MB and GB are powers of 1000).
type Bytes int64

var byteUnits = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

func (b *Bytes) parse(text string) error {
	num, size := strings.ReplaceAll(strings.TrimSpace(text), "_", ""), int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(num, u.name); ok {
			num, size = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseInt(num, 10, 64)
	if err != nil || n < 0 {
		return errors.New("a size is written as 1048576, 512KiB or 10GiB")
	}
	if n > math.MaxInt64/size {
		return errors.New("this size is too large")
	}
	*b = Bytes(n * size)
	return nil
}

func (b Bytes) String() string {
	for _, u := range byteUnits {
		if b > 0 && int64(b)%u.size == 0 && strings.HasSuffix(u.name, "iB") {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalYAML writes it as it is read.
func (b Bytes) MarshalYAML() (any, error) { return b.String(), nil }

// MarshalText writes it as it is read.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Duration is a time.Duration that is written as 30s, 5m or 1h30m.
type Duration time.Duration

func (d *Duration) parse(text string) error {
	x, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return errors.New("a duration is written as 30s, 5m or 1h30m")
	}
	*d = Duration(x)
	return nil
}

func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalYAML writes it as it is read.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// MarshalText writes it as it is read.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
