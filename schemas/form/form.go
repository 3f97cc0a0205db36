// Package form reads what an MCP server asks a person for in the middle of a call (elicitation/create, form mode): a flat object
// of texts, numbers, yes or no, and choices. It says what an answer that changes nothing would send, shows an answer so that
// nothing in it can pass for something else, and checks one, saying all that is wrong with it.
//
// A schema that says more than it reads is refused as a whole: an answer that it lets through fits, and one that is refused does
// not. Sizes are bounded. Source: MCP 2025-11-25 and 2026-07-28, client/elicitation, "Requested schema".
package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	// MaxSchema bounds a schema, in bytes.
	MaxSchema  = 16 << 10
	maxFields  = 64
	maxName    = 100 // bytes
	maxChoices = 200
)

// Form is what is asked for. The zero value asks for nothing but yes or no.
type Form struct {
	Fields []Field // by name
}

// kind is what a field takes.
type kind string

const (
	text    kind = "string"
	number  kind = "number"
	integer kind = "integer"
	yesNo   kind = "boolean"
	several kind = "array" // of choices
)

// Field is one thing that is asked for.
type Field struct {
	Name     string
	Required bool
	Default  json.RawMessage // nil: none

	kind         kind
	title        string // as the server says
	description  string
	format       string
	choices      []choice // text and several: nothing else is taken
	least, most  *float64 // number: of the value; text: of its length; several: of their number
	pattern      *regexp.Regexp
	patternShown string
}

// choice is a value that may be chosen.
type choice struct{ value, title string }

// property is a field as the schema has it.
type property struct {
	Type        kind            `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []titled        `json:"oneOf"`
	Format      string          `json:"format"`
	Pattern     string          `json:"pattern"`
	MinLength   *float64        `json:"minLength"`
	MaxLength   *float64        `json:"maxLength"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinItems    *float64        `json:"minItems"`
	MaxItems    *float64        `json:"maxItems"`
	Unique      bool            `json:"uniqueItems"` // a choice is never taken twice anyway
	Items       *items          `json:"items"`
}

type items struct {
	Type  kind     `json:"type"`
	Enum  []string `json:"enum"`
	AnyOf []titled `json:"anyOf"`
	OneOf []titled `json:"oneOf"`
}

type titled struct {
	Const *string `json:"const"`
	Title string  `json:"title"`
}

// remarks are keywords that say nothing about what fits.
var remarks = []string{"$schema", "$id", "$comment", "title", "description", "examples", "deprecated", "readOnly", "writeOnly"}

// Parse reads a schema. None at all ("", null) is one without fields.
func Parse(schema json.RawMessage) (Form, error) {
	if len(schema) > MaxSchema {
		return Form{}, fmt.Errorf("the form has %d bytes, and may have %d", len(schema), MaxSchema)
	}
	if s := bytes.TrimSpace(schema); len(s) == 0 || string(s) == "null" {
		return Form{}, nil
	}
	var top struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional any                        `json:"additionalProperties"` // nothing else is sent, whatever it says
	}
	if err := strict(schema, &top); err != nil {
		return Form{}, fmt.Errorf("the form cannot be read: %w", err)
	}
	switch {
	case top.Type != "" && top.Type != "object":
		return Form{}, fmt.Errorf("the form asks for one %.20q instead of fields", top.Type)
	case len(top.Properties) > maxFields:
		return Form{}, fmt.Errorf("the form has %d fields, and may have %d", len(top.Properties), maxFields)
	}
	var f Form
	for name, raw := range top.Properties {
		field, err := parse(name, raw)
		if err != nil {
			return Form{}, fmt.Errorf("the field %.100q of the form: %w", name, err)
		}
		field.Required = slices.Contains(top.Required, name)
		f.Fields = append(f.Fields, field)
	}
	slices.SortFunc(f.Fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range top.Required {
		if _, ok := top.Properties[name]; !ok {
			return Form{}, fmt.Errorf("the form requires %.100q and has no such field", name)
		}
	}
	return f, nil
}

// strict reads an object of which every keyword is known, or a remark.
func strict(raw json.RawMessage, into any) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return errors.New("it is no JSON object")
	}
	for key := range all {
		if slices.Contains(remarks, key) && key != "title" && key != "description" || strings.HasPrefix(key, "x-") {
			delete(all, key)
		}
	}
	if _, ok := into.(*property); !ok { // only fields show them
		delete(all, "title")
		delete(all, "description")
	}
	rest, err := json.Marshal(all)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func parse(name string, raw json.RawMessage) (Field, error) {
	var p property
	if name == "" || len(name) > maxName {
		return Field{}, fmt.Errorf("a name has 1 to %d bytes", maxName)
	}
	if err := strict(raw, &p); err != nil {
		return Field{}, err
	}
	f := Field{Name: name, kind: p.Type, title: p.Title, description: p.Description, format: p.Format, patternShown: p.Pattern}
	var err error
	switch p.Type {
	case text:
		f.least, f.most = p.MinLength, p.MaxLength
		f.choices, err = choices(p.Enum, p.EnumNames, p.OneOf)
	case number, integer:
		f.least, f.most = p.Minimum, p.Maximum
	case several:
		f.least, f.most = p.MinItems, p.MaxItems
		if p.Items == nil || p.Items.Type != "" && p.Items.Type != text {
			return Field{}, errors.New("a list has to be one of choices")
		}
		f.choices, err = choices(p.Items.Enum, nil, append(p.Items.AnyOf, p.Items.OneOf...))
		if err == nil && f.choices == nil {
			err = errors.New("a list has to be one of choices")
		}
	case yesNo:
	default:
		return Field{}, fmt.Errorf("the type %.20q is none that a person can be asked for", p.Type)
	}
	if err == nil && p.Pattern != "" {
		if f.pattern, err = regexp.Compile(p.Pattern); err != nil {
			err = errors.New("its pattern cannot be checked")
		}
	}
	if err != nil {
		return Field{}, err
	}
	if len(p.Default) > 0 && string(p.Default) != "null" {
		if why := f.wrong(p.Default); why != "" {
			return Field{}, fmt.Errorf("its default does not fit: it %s", why)
		}
		f.Default = p.Default
	}
	return f, nil
}

func choices(values, titles []string, list []titled) (all []choice, err error) {
	for i, v := range values {
		c := choice{value: v}
		if len(titles) == len(values) {
			c.title = titles[i]
		}
		all = append(all, c)
	}
	for _, t := range list {
		if t.Const == nil {
			return nil, errors.New("a choice has no value")
		}
		all = append(all, choice{*t.Const, t.Title})
	}
	if len(all) > maxChoices {
		return nil, fmt.Errorf("it has %d choices, and may have %d", len(all), maxChoices)
	}
	return all, nil
}
