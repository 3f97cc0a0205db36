package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/canonical"
)

// maxTold is how many things that are wrong with an answer are told.
const maxTold = 8

// Defaults is the answer that changes nothing, in canonical form: each default. It may not fit: see Missing.
func (f Form) Defaults() (json.RawMessage, error) { return f.Complete(json.RawMessage(`{}`)) }

// Missing are the names of the fields that have to be filled in and have no default.
func (f Form) Missing() []string {
	var names []string
	for _, field := range f.Fields {
		if field.Required && field.Default == nil {
			names = append(names, field.Name)
		}
	}
	return names
}

// Complete is an answer with the defaults of what it leaves out, in canonical form: whoever reads it would add them.
func (f Form) Complete(answer json.RawMessage) (json.RawMessage, error) {
	all, err := object(answer)
	if err != nil {
		return nil, err
	}
	for _, field := range f.Fields {
		if _, ok := all[field.Name]; !ok && field.Default != nil {
			all[field.Name] = field.Default
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return canonical.JSON(raw)
}

func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	c, err := canonical.JSON(raw)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(c, &all); err != nil || all == nil {
		return nil, errors.New("it has to be a JSON object")
	}
	return all, nil
}

// Check says what is wrong with an answer; nil when it fits.
func (f Form) Check(answer json.RawMessage) error {
	all, err := object(answer)
	if err != nil {
		return err
	}
	var told []string
	for _, field := range f.Fields {
		value, ok := all[field.Name]
		delete(all, field.Name)
		if !ok {
			if field.Required {
				told = append(told, name(field.Name)+" is missing")
			}
			continue
		}
		if why := field.wrong(value); why != "" {
			told = append(told, name(field.Name)+" "+why)
		}
	}
	var strange []string
	for key := range all {
		strange = append(strange, "there is no field "+name(key))
	}
	slices.Sort(strange)
	told = append(told, strange...)
	if n := len(told) - maxTold; n > 0 {
		told = append(told[:maxTold], fmt.Sprintf("and %d more", n))
	}
	if len(told) == 0 {
		return nil
	}
	return errors.New(strings.Join(told, "; "))
}

// wrong says what is wrong with a value, "" when it fits.
func (f Field) wrong(raw json.RawMessage) string {
	switch f.kind {
	case text:
		var s *string
		if json.Unmarshal(raw, &s) != nil || s == nil {
			return "has to be a text"
		}
		return f.wrongText(*s)
	case number, integer:
		var n *float64
		if json.Unmarshal(raw, &n) != nil || n == nil {
			return "has to be a number"
		}
		if f.kind == integer && *n != math.Trunc(*n) {
			return "has to be a whole number"
		}
		switch {
		case f.least != nil && *n < *f.least:
			return fmt.Sprintf("has to be at least %v", *f.least)
		case f.most != nil && *n > *f.most:
			return fmt.Sprintf("may be at most %v", *f.most)
		}
	case yesNo:
		var b *bool
		if json.Unmarshal(raw, &b) != nil || b == nil {
			return "has to be true or false"
		}
	case several:
		var list []string
		if json.Unmarshal(raw, &list) != nil || list == nil {
			return "has to be a list of texts"
		}
		for i, s := range list {
			if !f.has(s) || slices.Contains(list[:i], s) {
				return "has to be a list of some of " + f.listed()
			}
		}
		return f.between(float64(len(list)), " choices")
	}
	return ""
}

func (f Field) wrongText(s string) string {
	if f.choices != nil && !f.has(s) {
		return "has to be one of " + f.listed()
	}
	if f.pattern != nil && !f.pattern.MatchString(s) {
		return "has to match " + quoted(f.patternShown)
	}
	fits := true
	switch f.format {
	case "email":
		user, host, ok := strings.Cut(s, "@")
		fits = ok && user != "" && host != "" && !strings.ContainsAny(s, " \t\r\n")
	case "uri":
		scheme, rest, ok := strings.Cut(s, ":")
		fits = ok && scheme != "" && rest != "" && !strings.ContainsAny(s, " \t\r\n")
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		fits = err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339Nano, s)
		fits = err == nil
	}
	if !fits {
		return "has to be a valid " + f.format
	}
	return f.between(float64(utf8.RuneCountInString(s)), " characters")
}

func (f Field) has(value string) bool {
	return slices.ContainsFunc(f.choices, func(c choice) bool { return c.value == value })
}

// between says whether a length is within the bounds.
func (f Field) between(n float64, what string) string {
	switch {
	case f.least != nil && n < *f.least:
		return fmt.Sprintf("has to have at least %v%s", *f.least, what)
	case f.most != nil && n > *f.most:
		return fmt.Sprintf("may have at most %v%s", *f.most, what)
	}
	return ""
}
