package config

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// Flags is a set of the flags of a server, one for each key that has one value.
func Flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("dsend", pflag.ContinueOnError)
	AddFlags(fs)
	return fs
}

// AddFlags adds the flags of a server. They take any text: Load judges it, with
// everything else there is to say.
func AddFlags(fs *pflag.FlagSet) {
	c := Default()
	for _, k := range globalKeys() {
		help := strings.TrimSuffix(strings.ToLower(k.help[:1])+k.help[1:], ".")
		if strings.HasPrefix(k.name, "defaults.") {
			help = "of a queue that does not say: " + help
		}
		text := strings.Join(k.kind.texts(k.global(c)), ",")
		if k.name == "auto_create" {
			text = "" // it depends
		}
		f := fs.VarPF(&flagText{text, k.kind.name}, k.flagName(), "", help)
		if k.kind.name == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// flagText is the value of a flag, not looked at.
type flagText struct{ text, kind string }

func (f *flagText) String() string        { return f.text }
func (f *flagText) Set(text string) error { f.text = text; return nil }
func (f *flagText) Type() string          { return f.kind }

// flagLayer makes a layer of the flags that were given.
func flagLayer(fs *pflag.FlagSet, ps *Problems) layer {
	out := newLayer()
	if fs == nil {
		return out
	}
	for _, k := range globalKeys() {
		if f := fs.Lookup(k.flagName()); f != nil && f.Changed {
			out.text(k, place{fromFlags, f.Name, 0}, f.Value.String(), ps)
		}
	}
	out.contradictions("defaults.", "", ps)
	return out
}

// FlagError says the error of parsing flags on one line, as Load would: for a
// command to hand to cobra's SetFlagErrorFunc. Other errors are returned as
// they are.
func FlagError(fs *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name, short := unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()
	if short != "" {
		return Problems{{Where: "-" + name, What: "unknown flag"}}
	}
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	near := suggest(name, names)
	if near != "" {
		near = "--" + near
	}
	return Problems{{Where: "--" + name, What: "unknown flag" + didYouMean(near)}}
}
