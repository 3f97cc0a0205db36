package botapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// File says where a file can be fetched, for an hour at least (Bot API: File).
type File struct {
	Path string // for Download
	Size int64  // bytes; 0 when the server does not say
}

type fileParams struct {
	ID string `json:"file_id"`
}

// GetFile asks for the place of a file. The public server refuses those beyond 20 MB.
func (c *Client) GetFile(ctx context.Context, id string) (File, error) {
	const method = "getFile"
	result, err := c.call(ctx, ask{method: method, params: fileParams{ID: id}})
	if err != nil {
		return File{}, err
	}
	var got struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	if json.Unmarshal(result, &got) != nil || got.Path == "" {
		return File{}, unreadable(method)
	}
	return File{Path: got.Path, Size: max(got.Size, 0)}, nil
}

// download stands for the method in errors.
const download = "download"

// Download fetches a file of at most so many bytes; a larger one is ErrTooBig. Repeating it does no harm, whatever its Class.
func (c *Client) Download(ctx context.Context, path string, most int64) ([]byte, error) {
	place, reason := placeOf(path)
	if reason != "" {
		return nil, &Error{Method: download, Class: Refused, Description: "the path of the file " + reason}
	}
	a := ask{method: download, limit: fetchLimit, most: max(most, 0)}
	got, e := c.exchange(ctx, a, http.MethodGet, c.root+"/file/bot"+c.token+"/"+place, nil)
	if e != nil {
		return nil, e
	}
	if got.status != http.StatusOK {
		if _, e := c.resultOf(a, got); e != nil {
			return nil, e
		}
		return nil, c.foreign(a, got) // {"ok":true} is not a file either
	}
	switch {
	case got.over:
		return nil, &Error{Method: download, Class: Refused, Code: got.status, Description: ErrTooBig.Error(), cause: ErrTooBig}
	case got.cut != "":
		return nil, c.foreign(a, got)
	}
	return got.body, nil
}

// placeOf makes a path of the server's fit for a URL, or says what is wrong with it. It comes from outside, and what it is put
// behind holds the token: it must not lead anywhere else.
func placeOf(path string) (place, reason string) {
	const longest = 1024
	switch {
	case path == "" || len(path) > longest || !utf8.ValidString(path):
		return "", "is empty, too long or not UTF-8"
	case strings.HasPrefix(path, "/"):
		return "", "is absolute: the Bot API server runs with --local, and keeps files on its own disk"
	case strings.ContainsAny(path, `\?#%:`) || strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", "holds characters that do not belong there"
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if p == "" || p == "." || p == ".." {
			return "", "leads elsewhere"
		}
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/"), ""
}
