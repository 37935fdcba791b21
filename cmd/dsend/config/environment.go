package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// variablePrefix is that of our variables.
const variablePrefix = "DSEND_"

// fileVariable names the file.
const fileVariable = "DSEND_CONFIG"

// kubernetes puts these into every pod that runs beside a service of the name
// dsend.
var kubernetes = regexp.MustCompile(`^DSEND_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// variables are ours out of an environment; the last one of a name counts, as
// in os.Getenv.
func variables(env []string) map[string]string {
	found := map[string]string{}
	for _, pair := range env {
		name, text, ok := strings.Cut(pair, "=")
		if ok && strings.HasPrefix(name, variablePrefix) && !kubernetes.MatchString(name) {
			found[name] = text
		}
	}
	return found
}

// environment makes a layer of our variables.
func environment(vars map[string]string, ps *Problems) layer {
	out := newLayer()
	keys := map[string]key{}
	for _, k := range globalKeys() {
		keys[k.variable()] = k
	}
	for _, name := range sorted(vars) {
		at := place{fromEnvironment, name, 0}
		if k, ok := keys[name]; ok {
			out.text(k, at, vars[name], ps)
		} else if name != fileVariable {
			ps.add(at, "", "unknown variable%s", didYouMean(nearVariable(name)))
		}
	}
	out.contradictions("defaults.", "", ps)
	return out
}

// nearVariable returns the variable that was probably meant, or "": the one of
// the flag of that name (--listen, DSEND_LISTEN), or one that is spelled alike.
func nearVariable(name string) string {
	word := strings.TrimPrefix(name, variablePrefix)
	flag := strings.ToLower(strings.ReplaceAll(word, "_", "-"))
	var names []string
	for _, k := range globalKeys() {
		if k.flagName() == flag {
			return k.variable()
		}
		names = append(names, strings.TrimPrefix(k.variable(), variablePrefix))
	}
	if near := suggest(word, names); near != "" {
		return variablePrefix + near
	}
	return ""
}

// text adds a key that was given as one text.
func (l *layer) text(k key, at place, text string, ps *Problems) {
	texts := split(k.kind, text)
	for _, t := range texts {
		if err := k.kind.check(t); err != nil {
			ps.add(at, k.name, "%v", err)
			l.bad = append(l.bad, k.name)
			return
		}
	}
	l.values[k.name] = value{at: at, texts: texts}
}

// split makes a list of a text where the kind is one.
func split(k kind, text string) []string {
	if !k.list {
		return []string{text}
	}
	texts := strings.Split(text, ",")
	for i, t := range texts {
		texts[i] = strings.TrimSpace(t)
	}
	return texts
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
