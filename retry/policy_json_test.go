package retry

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPolicyJSONIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back Policy
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(p, back) {
			t.Fatalf("%+v\nwas written as %s\nand read as %+v", p, text, back)
		}
	})
}

func TestPolicyJSONForm(t *testing.T) {
	for want, p := range map[string]Policy{
		`{"initial":"1s","factor":2,"max":"10m0s","jitter":0.2}`: Default(),
		`{"initial":"0s","factor":1,"max":"0s","jitter":0}`:      {Factor: 1},
		`{"list":["1s","5s"],"jitter":0.2}`:                      {List: []time.Duration{1e9, 5e9}, Jitter: 0.2},
		// Beside a list the rest says nothing, and is not kept.
		`{"list":["1s"],"jitter":0}`: {Initial: 5, Factor: 3, Max: 9, List: []time.Duration{1e9}},
	} {
		if got, err := json.Marshal(p); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestPolicyJSONAccepts(t *testing.T) {
	list := Policy{List: []time.Duration{1e9, 5e9}, Jitter: 0.2}
	hour := Default()
	hour.Max = time.Hour
	for text, want := range map[string]Policy{
		`{}`:                                Default(),
		`null`:                              {},
		`{"max":"1h"}`:                      hour,
		`["1s","5s"]`:                       list,
		` [ "1s" , "5000ms" ] `:             list,
		`{"list":["1s","5s"]}`:              list,
		`{"list":null,"max":"60m"}`:         hour,
		`{"jitter":0,"list":["0s"]}`:        {List: []time.Duration{0}},
		`{"initial":"1.5s","max":"-1ns"}`:   {Initial: 1500 * ms, Factor: 2, Max: -1, Jitter: 0.2},
		`{"factor":0.1,"jitter":7}`:         {Initial: 1e9, Factor: 0.1, Max: 600e9, Jitter: 7},
		`{"initial":"1h","factor":1000000}`: {Initial: time.Hour, Factor: 1e6, Max: 600e9, Jitter: 0.2},
	} {
		var p Policy
		if err := json.Unmarshal([]byte(text), &p); err != nil || !reflect.DeepEqual(p, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, p, err, want)
		}
	}
}

func TestPolicyJSONRefuses(t *testing.T) {
	for text, word := range map[string]string{
		`{"inital":"1s"}`:                        "inital",
		`{"initial":5}`:                          "initial",
		`{"initial":"5"}`:                        `initial "5"`,
		`{"initial":""}`:                         "initial",
		`{"max":"1 s"}`:                          `max "1 s"`,
		`{"max":"99999999h"}`:                    "max",
		`{"factor":"2"}`:                         "factor",
		`{"factor":1e999}`:                       "factor",
		`{"jitter":true}`:                        "jitter",
		`{"list":"1s"}`:                          "list",
		`{"list":[]}`:                            "empty",
		`[]`:                                     "empty",
		`["1s",5]`:                               "number",
		`["1s",null]`:                            "entry 2",
		`["1s","x"]`:                             `entry 2 "x"`,
		`{"list":["1s"],"initial":"1s"}`:         "list",
		`{"list":["1s"],"factor":2}`:             "list",
		`{"list":["1s"],"max":"1s"}`:             "list",
		`"1s"`:                                   "string",
		`7`:                                      "number",
		`{"initial":"1s","factor":2,"max":"x"} `: "max",
	} {
		p := Default()
		p.Initial = 42 // to see that it is left alone
		before := p
		err := json.Unmarshal([]byte(text), &p)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want an error that says %q", text, err, word)
		}
		if !reflect.DeepEqual(p, before) {
			t.Errorf("%s: refused, but the policy is now %+v", text, p)
		}
	}
}

func TestPolicyJSONCannotHoldInfinity(t *testing.T) {
	for _, p := range []Policy{{Factor: math.Inf(1)}, {Jitter: math.NaN()}} {
		if text, err := json.Marshal(p); err == nil {
			t.Errorf("%+v was written as %s", p, text)
		}
	}
}
