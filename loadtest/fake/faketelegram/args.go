package faketelegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxBody   = 1 << 20
	maxUpload = 60 << 20
)

func (q *query) int(name string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(q.args[name]), 10, 64) // Telegram, too, takes what is not a number for 0
	return n
}

func (q *query) bool(name string) bool {
	switch strings.ToLower(q.args[name]) {
	case "true", "1", "yes":
		return true
	}
	return false
}

// readArgs reads the arguments of a call from its address and its body: JSON, a form, or a multipart form, whose files are
// named only.
func readArgs(w http.ResponseWriter, r *http.Request) (map[string]string, int, error) {
	args := map[string]string{}
	for k, v := range r.URL.Query() {
		args[k] = v[0]
	}
	kind := r.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "multipart/form-data") {
		r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
		if err := r.ParseMultipartForm(maxUpload); err != nil { //nolint:gosec // the body is limited above
			return nil, 0, readError(err, "can't parse multipart form")
		}
		size := 0
		for k, v := range r.MultipartForm.Value {
			args[k] = v[0]
			size += len(k) + len(v[0])
		}
		for k, v := range r.MultipartForm.File {
			args[k] = "attach://" + v[0].Filename
		}
		return args, size, r.MultipartForm.RemoveAll()
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, 0, readError(err, "can't read request")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return args, 0, nil
	}
	if !utf8.Valid(body) {
		return nil, 0, bad("strings must be encoded in UTF-8")
	}
	if !strings.HasPrefix(kind, "application/json") {
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err := r.ParseForm(); err != nil {
			return nil, 0, bad("can't parse form")
		}
		for k, v := range r.PostForm {
			args[k] = v[0]
		}
		return args, len(body), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, 0, bad("can't parse request JSON object")
	}
	for k, v := range object {
		var text string
		switch {
		case string(v) == "null":
		case json.Unmarshal(v, &text) == nil:
			args[k] = text
		default:
			args[k] = string(v)
		}
	}
	return args, len(body), nil
}

func readError(err error, text string) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return refuse(http.StatusRequestEntityTooLarge, "Request Entity Too Large")
	}
	return bad(text)
}
