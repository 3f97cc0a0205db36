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

// Duration is a time.Duration that is written as 30s, 5m, 1h30m or 180d. A day has 24 hours.
type Duration time.Duration

// maxDays is how many fit.
const maxDays = int64(math.MaxInt64 / day)

func (d *Duration) parse(text string) error {
	wrong := errors.New("a duration is written as 30s, 5m, 1h30m or 180d")
	rest, days := strings.TrimSpace(text), int64(0)
	if number, after, ok := strings.Cut(rest, "d"); ok {
		if !digits(number) || strings.ContainsAny(after, "-+") {
			return wrong
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n > maxDays {
			return errors.New("this duration is too long")
		}
		if days, rest = n, after; rest == "" {
			rest = "0"
		}
	}
	x, err := time.ParseDuration(rest)
	if err != nil {
		return wrong
	}
	if x > math.MaxInt64-time.Duration(days)*day {
		return errors.New("this duration is too long")
	}
	*d = Duration(time.Duration(days)*day + x)
	return nil
}

func (d Duration) String() string {
	if whole := time.Duration(d) / day; whole > 0 {
		s := strconv.FormatInt(int64(whole), 10) + "d"
		if rest := d % Duration(day); rest != 0 {
			s += rest.String()
		}
		return s
	}
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
