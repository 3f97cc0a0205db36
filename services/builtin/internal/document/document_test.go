package document_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/services/builtin/internal/document"
)

// wide is text as UTF-16 with a mark.
func wide(text string, order binary.AppendByteOrder) []byte {
	out := order.AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name string
		data string
		text string
		err  error
	}{
		{name: "nothing"},
		{name: "plain", data: "hello\r\nélan 😀\n", text: "hello\r\nélan 😀\n"},
		{name: "a mark", data: "\xef\xbb\xbfa,b\n", text: "a,b\n"},
		{name: "a mark alone", data: "\xef\xbb\xbf"},
		{name: "HTML as it is", data: "<html><script>x</script>", text: "<html><script>x</script>"},
		{name: "what begins like a bitmap", data: "BMW is a word", text: "BMW is a word"},
		{name: "UTF-16, little", data: string(wide("né 😀\n", binary.LittleEndian)), text: "né 😀\n"},
		{name: "UTF-16, big", data: string(wide("né 😀\n", binary.BigEndian)), text: "né 😀\n"},
		{name: "UTF-16, nothing", data: "\xff\xfe"},
		{name: "UTF-16, half a character", data: "\xff\xfea\x00b", err: document.ErrNoText},
		{name: "UTF-16, half a pair", data: "\xfe\xff\xd8\x3d\x00a", err: document.ErrNoText},
		{name: "UTF-16, half a pair at the end", data: "\xfe\xff\xd8\x3d", err: document.ErrNoText},
		{name: "UTF-16, a NUL", data: "\xff\xfea\x00\x00\x00", err: document.ErrNoText},
		{name: "UTF-16 without a mark", data: "a\x00b\x00", err: document.ErrNoText},
		{name: "UTF-32", data: "\xff\xfe\x00\x00a\x00\x00\x00", err: document.ErrNoText},
		{name: "Latin-1", data: "\xe9lan", err: document.ErrEncoding},
		{name: "a NUL", data: "a\x00b", err: document.ErrNoText},
		{name: "a PDF that is all letters", data: "%PDF-1.4\nhello", err: document.ErrNoText},
		{name: "a picture", data: "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", err: document.ErrNoText},
		{name: "an archive", data: "PK\x03\x04\x14\xff\xfe", err: document.ErrNoText},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := document.Read([]byte(c.data))
			if !errors.Is(err, c.err) || got.Text != c.text || got.Left != 0 {
				t.Errorf("%q, %d left, %v; want %q, %v", got.Text, got.Left, err, c.text, c.err)
			}
		})
	}
}

// What is too long ends behind a line, and it is known how much of the file follows.
func TestLongTexts(t *testing.T) {
	line := strings.Repeat("é", 600) + "\n" // 1201 bytes, 1202 in UTF-16
	lines := strings.Repeat(line, 4000)
	whole := document.MaxText / len(line)
	for _, c := range []struct {
		name  string
		data  []byte
		bytes int
		left  int
	}{
		{"lines", []byte(lines), whole * 1201, (4000 - whole) * 1201},
		{"lines in UTF-16", wide(lines, binary.LittleEndian), whole * 1201, (4000 - whole) * 1202},
		{"no lines", []byte("a" + strings.Repeat("é", document.MaxText/2)), document.MaxText - 1, 2},
		{"no lines, in UTF-16", wide("a"+strings.Repeat("é", document.MaxText/2), binary.BigEndian), document.MaxText - 1, 2},
		{"just short enough", []byte(strings.Repeat("a", document.MaxText)), document.MaxText, 0},
		{"just short enough, in UTF-16", wide(strings.Repeat("a", document.MaxText), binary.BigEndian), document.MaxText, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := document.Read(c.data)
			if err != nil || len(got.Text) != c.bytes || got.Left != c.left {
				t.Errorf("%d bytes, %d left, %v; want %d, %d", len(got.Text), got.Left, err, c.bytes, c.left)
			}
		})
	}
}

// Whatever comes, what is given is a text; and every text can be read, however it is encoded.
func TestWhatIsGivenIsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.SampledFrom([]string{"", "\xff\xfe", "\xfe\xff", "\xef\xbb\xbf"}).Draw(t, "start")
		data := append([]byte(start), rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")...)
		got, err := document.Read(data)
		if err == nil && (!utf8.ValidString(got.Text) || strings.Contains(got.Text, "\x00")) || err != nil && got.Text != "" {
			t.Fatalf("%q is read as %q, %v", data, got.Text, err)
		}
		text := strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", "")
		for _, d := range [][]byte{[]byte("\xef\xbb\xbf" + text), wide(text, binary.LittleEndian), wide(text, binary.BigEndian)} {
			if got, err := document.Read(d); err != nil || got.Text != text {
				t.Fatalf("%q is read as %q, %v", text, got.Text, err)
			}
		}
	})
}
