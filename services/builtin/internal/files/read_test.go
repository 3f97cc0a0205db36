package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRead(t *testing.T) {
	b := newBench(t, map[string]string{
		"plain.txt": "one\ntwo\nthree\n", "open.txt": "one\ntwo", "empty.txt": "", "crlf.txt": "one\r\ntwo\r\n", "bom.txt": mark + "one\ntwo\n",
		"cr.txt": "one\rtwo", "umlaut.txt": "grün ✓\n", "newline.txt": "\n", "onlybom.txt": mark,
	})
	for _, c := range []struct {
		a    args
		want string
	}{
		{args{"path": "plain.txt"}, "one\ntwo\nthree\n"},
		{args{"path": "plain.txt", "offset": 1, "limit": 3}, "one\ntwo\nthree\n"},
		{args{"path": "plain.txt", "limit": 1}, "one\n[lines 1-1; of 3; go on with offset 2]"},
		{args{"path": "plain.txt", "offset": 2, "limit": 1}, "two\n[lines 2-2; of 3; go on with offset 3]"},
		{args{"path": "plain.txt", "offset": 3}, "three\n"},
		{args{"path": "plain.txt", "offset": 2, "skip": 1}, "wo\nthree\n"},
		{args{"path": "open.txt"}, "one\ntwo"},
		{args{"path": "open.txt", "limit": 1}, "one\n[lines 1-1; of 2; go on with offset 2]"},
		{args{"path": "open.txt", "offset": 2}, "two"},
		{args{"path": "empty.txt"}, "[the file is empty]"},
		{args{"path": "crlf.txt"}, "one\ntwo\n"},
		{args{"path": "bom.txt"}, "one\ntwo\n"},
		{args{"path": "bom.txt", "offset": 2}, "two\n"},
		{args{"path": "cr.txt"}, "one\rtwo"},
		{args{"path": "umlaut.txt"}, "grün ✓\n"},
		{args{"path": "newline.txt"}, "\n"},
	} {
		r := b.ok("read_file", c.a)
		if r.Text != c.want || r.Cut != 0 || r.Untrusted || r.Private {
			t.Errorf("%v: %+v, want %q", c.a, r, c.want)
		}
	}
	b.mkdir("dir")
	for _, c := range []struct {
		a    args
		want string
	}{
		{args{"path": "plain.txt", "offset": 4}, "has only 3 lines"},
		{args{"path": "open.txt", "offset": 3}, "has only 2 lines"},
		{args{"path": "empty.txt", "offset": 2}, "is empty"},
		{args{"path": "onlybom.txt"}, "has only 0 lines"},
		{args{"path": "plain.txt", "skip": 9}, "line 1 of plain.txt has no 9 bytes to skip"},
		{args{"path": "none.txt"}, "none.txt does not exist"},
		{args{"path": "none/none.txt"}, "none/none.txt does not exist"},
		{args{"path": "plain.txt/x"}, "is not a folder"},
		{args{"path": "dir"}, "dir is a folder"},
		{args{"path": "."}, ". is a folder"},
		{args{"path": "plain.txt", "offset": -1}, "cannot be negative"},
		{args{"path": 7}, "the arguments cannot be read"},
	} {
		b.fails("read_file", c.a, c.want)
	}
}

func TestBinary(t *testing.T) {
	b := newBench(t, map[string]string{
		"png": "\x89PNG\r\n\x1a\n\x00\x00", "nul": "text\x00text", "latin1": "gr\xfcn", "utf16": "\xff\xfea\x00b\x00", "pdf": "%PDF-1.7\n\xe2\xe3\x00",
		"later": strings.Repeat("0123456789abcde\n", 1000) + "bad \xff line\nbad \x00 line\ngood\n",
		"half":  strings.Repeat("x", headSize-1) + "ü\n", // the head ends within the ü
	})
	for name, want := range map[string]string{
		"png": "image/png, 10 bytes", "nul": "binary file", "latin1": "binary file", "utf16": "utf-16le, 6 bytes", "pdf": "application/pdf",
	} {
		if r := b.ok("read_file", args{"path": name}); !strings.Contains(r.Text, want) || len(r.Text) > 120 {
			t.Errorf("%s: %q", name, r.Text)
		}
		b.fails("edit_file", args{"path": name, "old": "t", "new": "x"}, "is a binary file")
	}
	if r := b.ok("read_file", args{"path": "half"}); len(r.Text) != headSize+2 {
		t.Errorf("half: %d bytes", len(r.Text))
	}
	text := ""
	for _, offset := range []int{999, 1002, 1003} {
		text += b.ok("read_file", args{"path": "later", "offset": offset}).Text + "\n"
	}
	want := strings.Repeat("0123456789abcde\n", 2) +
		"[line 1001 is no text (not UTF-8, or with NUL) and is not shown; go on with offset 1002]\n" +
		"[line 1002 is no text (not UTF-8, or with NUL) and is not shown; go on with offset 1003]\ngood\n\n"
	if text != want {
		t.Errorf("later: %q", text)
	}
}

func TestHugeFiles(t *testing.T) {
	b := newBench(t, map[string]string{"sparse": "text\n"})
	b.must(os.Truncate(b.at("sparse"), 1<<40))
	if r := b.ok("read_file", args{"path": "sparse"}); !strings.Contains(r.Text, "binary file") {
		t.Errorf("got %q", r.Text)
	}
	b.fails("edit_file", args{"path": "sparse", "old": "text", "new": "x"}, "too large")
	b.fails("write_file", args{"path": "sparse", "content": "x", "append": true}, "too large")
	if r := b.ok("search_files", args{"pattern": "text"}); !strings.Contains(r.Text, "1 larger than 2 MiB") {
		t.Errorf("got %q", r.Text)
	}
	line := strings.Repeat("x", 99) + "\n"
	b.put("large", strings.Repeat(line, 200_000))
	r := b.ok("read_file", args{"path": "large", "offset": 150_000})
	if want := "[lines 150000-150572; 4942800 more bytes follow; go on with offset 150573]"; !strings.HasSuffix(r.Text, want) || r.Cut != 4942800 {
		t.Errorf("got %q, cut %d", r.Text[len(r.Text)-90:], r.Cut)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, a := range map[string]args{
		"read_file": {"path": "large", "offset": 1 << 40}, "search_files": {"pattern": "x"}, "list_dir": {},
		"write_file": {"path": "new", "content": "x"}, "edit_file": {"path": "large", "old": "x", "new": "y"},
	} {
		if r, err := b.with(ctx, name, a); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %q", name, err, r.Text)
		}
	}
	b.wants("new", "(none)")
}

var (
	goOn   = regexp.MustCompile(`\[lines \d+-\d+; [^\]]*; go on with offset (\d+)\]$`)
	within = regexp.MustCompile(`\n\[line \d+ is cut here; go on with offset (\d+) and skip (\d+)\]$`)
)

// TestPagesAreTheText reads made-up texts piece by piece.
func TestPagesAreTheText(t *testing.T) {
	b := newBench(t, nil)
	piece := rapid.OneOf(
		rapid.StringMatching(`[a-zäß✓🙂 ]{0,20}`), rapid.Just("\n"), rapid.Just("\r\n"), rapid.Just("\r"), rapid.Just("\n\n"),
		rapid.Map(rapid.IntRange(1, 5*maxRead/2), func(n int) string { return strings.Repeat("lang🙂", n/8) }),
		rapid.Map(rapid.IntRange(maxRead-2, maxRead+2), func(n int) string { return strings.Repeat("x", n) + "\r\n" }),
		rapid.Map(rapid.IntRange(1, 7000), func(n int) string { return strings.Repeat("eine Zeile\n", n) }),
	)
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(rt, "pieces"), "")
		if text == "" {
			return
		}
		limit := rapid.SampledFrom([]int{0, 0, 1, 7, 5000}).Draw(rt, "limit")
		if strings.Count(text, "\n") > 100 && limit > 0 {
			limit = 5000
		}
		first := rapid.SampledFrom([]string{"", mark}).Draw(rt, "mark")
		b.put("text", first+text)
		var got strings.Builder
		a := args{"path": "text", "limit": limit}
		for {
			r := b.ok("read_file", a)
			if len(r.Text) > maxRead+200 {
				rt.Fatalf("a piece has %d bytes", len(r.Text))
			}
			if m := within.FindStringSubmatch(r.Text); m != nil {
				got.WriteString(strings.TrimSuffix(r.Text, m[0]))
				a["offset"], _ = strconv.Atoi(m[1])
				a["skip"], _ = strconv.Atoi(m[2])
				continue
			}
			m := goOn.FindStringSubmatch(r.Text)
			if m == nil {
				got.WriteString(r.Text)
				break
			}
			got.WriteString(strings.TrimSuffix(r.Text, m[0]))
			a["offset"], _ = strconv.Atoi(m[1])
			a["skip"] = 0
		}
		if want := lf(text); got.String() != want {
			rt.Fatalf("read %d bytes, want %d: %s", got.Len(), len(want), difference(got.String(), want))
		}
	})
}

func difference(a, b string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("at %d: %.20q, %.20q", i, a[i:], b[i:])
		}
	}
	return "one is longer"
}
