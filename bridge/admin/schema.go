package admin

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// schema describes a type of this package as a JSON schema, for those who look
// at the service's endpoints.
func schema(t reflect.Type) string {
	text, err := json.Marshal(describe(t))
	if err != nil { // maps of strings, always marshalled
		panic(err)
	}
	return string(text)
}

type object = map[string]any

func describe(t reflect.Type) object {
	switch {
	case t.Kind() == reflect.Pointer:
		return object{"oneOf": []object{describe(t.Elem()), {"type": "null"}}}
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[time.Duration]():
		return object{"type": "integer", "description": "nanoseconds"}
	case t == reflect.TypeFor[[]byte]():
		return object{"type": []string{"string", "null"}, "contentEncoding": "base64"}
	case implements[encoding.TextMarshaler](t):
		return object{"type": "string"}
	case implements[json.Marshaler](t):
		return object{"type": "object"}
	}
	switch t.Kind() {
	case reflect.Slice:
		return object{"type": "array", "items": describe(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": describe(t.Elem())}
	case reflect.Struct:
		return describeStruct(t)
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	}
	return object{"type": "integer"}
}

func describeStruct(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue // embedded: its fields are visible too
		}
		properties[name] = describe(f.Type)
		if text := f.Tag.Get("about"); text != "" {
			properties[name].(object)["description"] = text
		}
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	return object{
		"type": "object", "properties": properties, "required": required,
		"additionalProperties": false,
	}
}

func implements[I any](t reflect.Type) bool {
	i := reflect.TypeFor[I]()
	return t.Implements(i) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(i)
}
