package leaf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fakeConn makes a Conn in the test's bubble whose connections are played by scripts.
func fakeConn(t *testing.T, change func(*Options), scripts ...func(f *fake)) (*Conn, *recorder) {
	t.Helper()
	r := newRecorder()
	o := Options{Dial: dialFake(t, scripts...), Handler: r, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	ok(t, err)
	t.Cleanup(func() { c.Close() })
	return c, r
}

// drain reads whatever comes until the end.
func (f *fake) drain() { _, _ = io.Copy(io.Discard, f.in) }

func TestHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := make(chan string, 10)
		c, r := fakeConn(t, func(o *Options) { o.User, o.Password, o.Name = "u", "p", "n" }, func(f *fake) {
			f.say(fakeInfo)
			lines <- f.expect("CONNECT ")
			f.expect("PING")
			f.say(`INFO {"max_payload":5}`, `INFO {"connect_info":true,"remote_account":"APP","headers":true,"max_payload":77}`, "LS+ a", "LS+ $LDS.x", "LS+ b g 2", "PING", "PONG")
			lines <- f.expect("LS+")
			lines <- f.expect("PING")
			f.say("LMSG orders 2", "hi", `INFO {"max_payload":78,"server_name":"fake2"}`, "INFO nonsense", "PONG")
			lines <- f.expect("LS-")
			f.drain()
		})
		ok(t, c.Subscribe("orders"))
		ok(t, c.Start(t.Context()))
		want := []string{"a  1", "b g 2", "connected", "msg orders"}
		if !slices.Equal(r.story, want) {
			t.Errorf("%q", r.story)
		}
		if c.MaxPayload() != 78 || c.Server().Account != "APP" || c.Server().Name != "fake2" {
			t.Errorf("%d, %+v", c.MaxPayload(), c.Server())
		}
		c.Unsubscribe("orders")
		var sent map[string]any
		line := <-lines
		ok(t, json.Unmarshal([]byte(strings.TrimPrefix(line, "CONNECT ")), &sent))
		if _, lang := sent["lang"]; lang || sent["user"] != "u" || sent["pass"] != "p" || sent["name"] != "n" || sent["headers"] != true || sent["compress_mode"] != "not supported" {
			t.Error(line)
		}
		for _, want := range []string{"LS+ orders", "PING", "LS- orders"} {
			if got := <-lines; got != want {
				t.Errorf("%q, not %q", got, want)
			}
		}
	})
}

// Both sides' pings: the server's are answered, and its silence ends the connection after three intervals.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := make(chan bool, 1)
		c, r := fakeConn(t, nil, func(f *fake) {
			f.welcome()
			f.say("PING")
			answered <- f.expect("PONG") != ""
			for range 10 { // alive for ten pings, one in every other interval: a PONG is a sign of life as well
				f.expect("PING")
				f.say("PONG")
			}
			f.drain()
		}, nil)
		ok(t, c.Start(t.Context()))
		if !<-answered {
			t.Error("no PONG")
		}
		begin := time.Now()
		r.waitDown(1)
		if d := time.Since(begin); d < 23*20*time.Second || d > 25*20*time.Second || !errors.Is(r.downs[0], ErrStale) {
			t.Errorf("%v after %v", r.downs[0], d)
		}
	})
}

// waitDown waits in a bubble, where time passes only while all wait.
func (r *recorder) waitDown(n int) {
	for {
		r.mu.Lock()
		done, change := len(r.downs) >= n, r.change
		r.mu.Unlock()
		if done {
			return
		}
		<-change
	}
}

// A handler at work for long is no sign of the server's death.
func TestBusyHandlerIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := fakeConn(t, nil, func(f *fake) {
			f.welcome()
			f.say("LMSG a 0", "")
			for f.expect("PING") != "" {
				f.say("PONG")
			}
		})
		r.answer(func([]Msg) { time.Sleep(10 * time.Minute) })
		ok(t, c.Start(t.Context()))
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(r.downs) != 0 || len(r.msgs) != 1 {
			t.Errorf("%v, %v", r.downs, r.msgs)
		}
	})
}

// A server that never completes the handshake is given up.
func TestHandshakeHangs(t *testing.T) {
	for name, script := range map[string]func(f *fake){
		"no INFO":    func(f *fake) { f.drain() },
		"no PONG":    func(f *fake) { f.say(fakeInfo); f.drain() },
		"half":       func(f *fake) { f.say(fakeInfo, "LS+ a"); f.expect("PING"); f.say("PONG"); f.drain() },
		"reads none": func(f *fake) { f.say(fakeInfo); time.Sleep(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, r := fakeConn(t, nil, script)
				begin := time.Now()
				err := c.Start(t.Context())
				if d := time.Since(begin); err == nil || d != 10*time.Second {
					t.Errorf("%v after %v", err, d)
				}
				if told := len(r.story) > 0; told != (len(r.downs) == 1) {
					t.Errorf("told of it and not of its end: %q", r.story)
				}
			})
		})
	}
}

// What is not a leafnode port of a usable server is said clearly, and no password is sent to it.
func TestWrongGreetings(t *testing.T) {
	for want, script := range map[string]func(f *fake){
		"hung up":              func(f *fake) { f.conn.Close() },
		"no handshake within":  func(f *fake) {},
		"too many connections": func(f *fake) { f.say("-ERR 'too many connections'") },
		"not INFO":             func(f *fake) { f.say("PING") },
		"not a leafnode port":  func(f *fake) { f.say(`INFO {"headers":true,"client_id":7}`) },
		"headers turned off":   func(f *fake) { f.say(`INFO {"info_on_connect":true}`) },
		"before the TLS":       func(f *fake) { f.say(`INFO {"info_on_connect":true,"headers":true,"tls_required":true}` + "\r\nPONG") },
		"HTTP/1.1":             func(f *fake) { f.say("HTTP/1.1 400 Bad Request") },
		"TLS: ":                func(f *fake) { f.say(`INFO {"info_on_connect":true,"headers":true,"tls_required":true}`) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var sent strings.Builder
			c, r := fakeConn(t, func(o *Options) { o.User, o.Password = "u", "s3cret" }, func(f *fake) { script(f); _, _ = io.Copy(&sent, io.LimitReader(f.in, 1)) })
			if err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, not %q", err, want)
			}
			if strings.Contains(sent.String(), "C") || len(r.story) != 0 || c.MaxPayload() != 0 || c.Server() != (Server{}) {
				t.Errorf("%q sent, %q told", sent.String(), r.story)
			}
		})
	}
}

func TestFlushIsBoundByContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := fakeConn(t, nil, func(f *fake) { f.welcome(); f.drain() }, nil)
		ok(t, c.Start(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := c.Flush(t.Context()); !errors.Is(err, ErrDisconnected) { // when the silence ends the connection
			t.Error(err)
		}
	})
}

// The waits double up to the longest and start anew after a success.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials []time.Time
		good := dialFake(t, func(f *fake) { f.welcome() }) // and then hangs up
		c, _ := fakeConn(t, func(o *Options) {
			o.Dial = func(ctx context.Context) (net.Conn, error) {
				dials = append(dials, time.Now())
				if n := len(dials); n == 1 || n == 12 {
					return good(ctx)
				}
				return nil, errors.New("nobody there")
			}
		})
		ok(t, c.Start(t.Context()))
		time.Sleep(40 * time.Second)
		ok(t, c.Close())
		wait := 50 * time.Millisecond
		for i := 1; i < len(dials); i++ {
			if i == 12 {
				wait = 50 * time.Millisecond
			}
			if d := dials[i].Sub(dials[i-1]); d < wait/2 || d > wait {
				t.Errorf("wait %d: %v, not about %v", i, d, wait)
			}
			wait = min(2*wait, 5*time.Second)
		}
		if len(dials) < 14 {
			t.Errorf("%d attempts", len(dials))
		}
	})
}

// A server that reads nothing: what waits is bounded, Send waits its bound and then says so, and the line is given up.
func TestServerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := fakeConn(t, func(o *Options) { o.MaxPending, o.SendWait, o.PingInterval = 10000, time.Second, time.Hour }, func(f *fake) {
			f.welcome()
			time.Sleep(time.Hour)
		}, nil)
		ok(t, c.Start(t.Context()))
		b := c.NewBatch()
		sent := 0
		var err error
		begin := time.Now()
		for err == nil {
			b.Reset()
			ok(t, b.Publish([]byte("a"), nil, nil, make([]byte, 980)))
			if err = c.Send(b); err == nil {
				sent += 980
			}
		}
		if d := time.Since(begin); !errors.Is(err, ErrOverflow) || sent > 10000 || sent < 8000 || d != time.Second || b.Count() != 1 {
			t.Errorf("%v after %v with %d bytes, %d left in the batch", err, d, sent, b.Count())
		}
		r.waitDown(1)
		if d := time.Since(begin); d != 10*time.Second || !strings.Contains(r.downs[0].Error(), "write") {
			t.Errorf("%v after %v", r.downs[0], d)
		}
		if err := c.Send(b); !errors.Is(err, ErrDisconnected) {
			t.Error(err)
		}
	})
}

func TestSendDoesNotWaitIfToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := fakeConn(t, func(o *Options) { o.MaxPending, o.SendWait = 100, -1 }, func(f *fake) { f.welcome(); time.Sleep(time.Hour) })
		ok(t, c.Start(t.Context()))
		synctest.Wait() // the handshake's own bytes are out
		b := c.NewBatch()
		ok(t, b.Publish([]byte("a"), nil, nil, make([]byte, 1000)))
		ok(t, c.Send(b)) // larger than all, but alone
		ok(t, b.Publish([]byte("a"), nil, nil, nil))
		begin := time.Now()
		if err := c.Send(b); !errors.Is(err, ErrOverflow) || time.Since(begin) != 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// A sender that waits for room goes on when the server reads again, or when the connection ends.
func TestSendWaitsForRoom(t *testing.T) {
	for _, reads := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := fakeConn(t, func(o *Options) { o.MaxPending, o.SendWait = 100, time.Minute }, func(f *fake) {
				f.welcome()
				time.Sleep(time.Second)
				if reads {
					f.drain()
				}
			}, nil)
			ok(t, c.Start(t.Context()))
			b := c.NewBatch()
			ok(t, b.Publish([]byte("a"), nil, nil, make([]byte, 1000)))
			ok(t, c.Send(b))
			ok(t, b.Publish([]byte("a"), nil, nil, make([]byte, 1000)))
			begin := time.Now()
			err := c.Send(b)
			if d := time.Since(begin); d != time.Second || reads && err != nil || !reads && !errors.Is(err, ErrDisconnected) {
				t.Errorf("reads %v: %v after %v", reads, err, d)
			}
		})
	}
}

// Close does not wait for a dead server for ever.
func TestCloseIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := fakeConn(t, func(o *Options) { o.PingInterval = time.Hour }, func(f *fake) { f.welcome(); f.drain() })
		ok(t, c.Start(t.Context()))
		begin := time.Now()
		if err := c.Close(); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if len(r.downs) != 1 || !errors.Is(r.downs[0], ErrClosed) {
			t.Errorf("%v", r.downs)
		}
	})
}

func TestCloseWhileReconnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := fakeConn(t, func(o *Options) { o.ReconnectMin = time.Hour }, func(f *fake) { f.welcome() })
		ok(t, c.Start(t.Context()))
		r.waitDown(1)
		synctest.Wait()
		begin := time.Now()
		ok(t, c.Close())
		if time.Since(begin) != 0 {
			t.Errorf("after %v", time.Since(begin))
		}
	})
}

// What the server says before it hangs up is the reason; what it said long before is not.
func TestReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := fakeConn(t, nil,
			func(f *fake) { f.welcome(); f.say("-ERR 'Slow Consumer'") },
			func(f *fake) { f.welcome(); f.say("-ERR 'Invalid Subscription'", "LS+ a") },
			func(f *fake) { f.welcome(); f.say("LS+ a", "WHAT?") },
			func(f *fake) { f.welcome(); f.say("LMSG a 99999999999") },
		)
		ok(t, c.Start(t.Context()))
		r.waitDown(4)
		var said ServerError
		if !errors.As(r.downs[0], &said) || said != "Slow Consumer" || !errors.Is(r.downs[0], io.ErrUnexpectedEOF) {
			t.Errorf("%v", r.downs[0])
		}
		if errors.As(r.downs[1], &said) || !errors.Is(r.downs[1], io.ErrUnexpectedEOF) {
			t.Errorf("%v", r.downs[1])
		}
		for _, err := range r.downs[2:4] {
			if !errors.Is(err, ErrProtocol) {
				t.Errorf("%v", err)
			}
		}
		if !strings.Contains(r.downs[2].Error(), "WHAT?") {
			t.Errorf("%v", r.downs[2])
		}
	})
}

// All that is whole is handed over even if nonsense follows in the same read.
func TestNothingWholeIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := fakeConn(t, nil, func(f *fake) {
			f.welcome()
			f.say("LMSG a 1\r\nx\r\nLS+ b\r\nLMSG c 1\r\ny\r\nLMSG d 1\r\nz\r\nnonsense")
		}, nil)
		ok(t, c.Start(t.Context()))
		r.waitDown(1)
		if want := []string{"connected", "msg a", "b  1", "msg c", "msg d", "disconnected"}; !slices.Equal(r.story, want) {
			t.Errorf("%q", r.story)
		}
	})
}

// A message that comes byte by byte, and one far larger than the buffer, which afterwards shrinks back.
func TestBufferGrowsAndShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		payload := strings.Repeat("0123456789", 100000)
		c, r := fakeConn(t, nil, func(f *fake) {
			f.welcome()
			f.say(fmt.Sprintf("LMSG big reply %d\r\n%s", len(payload), payload))
			for _, b := range "LMSG slow 3\r\nabc\r\n" {
				_, _ = f.conn.Write([]byte{byte(b)})
			}
			for range calm + 2 {
				_, _ = io.WriteString(f.conn, "PONG\r\n")
			}
			f.say("LMSG last 0\r\n")
			f.expect("never")
		})
		ok(t, c.Start(t.Context()))
		s := c.current.Load()
		for done := false; !done; {
			r.mu.Lock()
			done = len(r.msgs) == 3
			change := r.change
			r.mu.Unlock()
			if !done {
				<-change
			}
		}
		want := []got{{"big", "reply", "", payload}, {"slow", "", "", "abc"}, {"last", "", "", ""}}
		if !slices.Equal(r.msgs, want) {
			t.Error("not what was sent")
		}
		synctest.Wait()
		if len(s.buf) != readSize {
			t.Errorf("the buffer has %d bytes", len(s.buf))
		}
	})
}

// Many goroutines subscribe while the connection comes and goes: at its end the server knows exactly the last state.
func TestSubscribeWhileReconnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := make(chan map[string]bool, 1)
		scripts := []func(f *fake){}
		for range 5 {
			scripts = append(scripts, func(f *fake) { f.welcome() })
		}
		scripts = append(scripts, func(f *fake) {
			known := map[string]bool{}
			f.say(fakeInfo)
			f.expect("PING")
			f.say("PONG")
			for {
				line, err := f.in.ReadString('\n')
				if err != nil {
					last <- known
					return
				}
				switch word, subject, _ := strings.Cut(strings.TrimSpace(line), " "); word {
				case "LS+":
					known[subject] = true
				case "LS-":
					delete(known, subject)
				case "PING":
					f.say("PONG")
				}
			}
		})
		c, r := fakeConn(t, nil, scripts...)
		ok(t, c.Start(t.Context()))
		for g := range 4 {
			go func() {
				for i := range 200 {
					_ = c.Subscribe(fmt.Sprintf("s.%d.%d", g, i))
					if i%2 == 0 {
						c.Unsubscribe(fmt.Sprintf("s.%d.%d", g, i))
					}
					time.Sleep(10 * time.Millisecond)
				}
			}()
		}
		r.waitDown(5)
		time.Sleep(time.Minute)
		ok(t, c.Close())
		known := <-last
		if len(known) != 400 || known["s.0.0"] || !known["s.3.199"] {
			t.Errorf("%d subscriptions", len(known))
		}
	})
}
