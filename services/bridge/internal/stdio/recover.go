package stdio

import (
	"bytes"
	"encoding/json"
	"regexp"
	"unicode/utf8"
)

// lastID is an id as the last member of a message. In valid JSON nothing but a member of the outermost object can stand
// there: a quote inside of a string has a backslash before it, and a string could not end without another quote.
var lastID = regexp.MustCompile(`[,{]\s*"id"\s*:\s*(-?[0-9]{1,16}|"(?:[^"\\]|\\.){0,256}")\s*\}\s*$`)

// recoverID finds the id of a request in the ends of a line that was skipped, so that whoever sent it need not wait until it
// loses patience. Some clients write the id first and some last, before it the method. Without a method in the head it may be a
// response, whose id is one of ours: nil.
func recoverID(head, tail []byte) json.RawMessage {
	id, call := scanHead(head)
	if !call {
		return nil
	}
	if id == nil {
		if m := lastID.FindSubmatch(tail); m != nil {
			id = m[1]
		}
	}
	if _, ok := parseID(id); !ok || !utf8.Valid(id) {
		return nil
	}
	return id
}

// scanHead reads the members of the outermost object that are whole.
func scanHead(head []byte) (id json.RawMessage, call bool) {
	dec := json.NewDecoder(bytes.NewReader(head))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			break
		}
		var v json.RawMessage
		if dec.Decode(&v) != nil || dec.InputOffset() >= int64(len(head)) { // a number may go on where the head is cut
			break
		}
		switch key {
		case "id":
			id = v
		case "method":
			call = true
		}
	}
	return id, call
}
