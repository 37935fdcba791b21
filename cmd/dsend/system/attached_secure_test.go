package system

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// papers are files of a test: certificates, and credentials of an operator's server.
type papers struct {
	t   testing.TB
	dir string
	ca  *x509.Certificate
	key *ecdsa.PrivateKey // of the CA
}

func newPapers(t testing.TB) *papers {
	t.Helper()
	p := &papers{t: t, dir: t.TempDir()}
	p.ca, p.key = p.certificate("ca", nil)
	return p
}

func (p *papers) path(name string) string { return filepath.Join(p.dir, name) }

func (p *papers) save(name string, text []byte) {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), text, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// certificate makes name.pem and name.key: the CA itself, or signed by it.
func (p *papers) certificate(name string, parent *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: parent == nil, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signer := p.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		p.t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		p.t.Fatal(err)
	}
	p.save(name+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	p.save(name+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
	if c, err = x509.ParseCertificate(der); err != nil {
		p.t.Fatal(err)
	}
	return c, key
}

// operator makes user.creds, and gives the part of a server's configuration that
// trusts them.
func (p *papers) operator() (config string) {
	p.t.Helper()
	pair := func(make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		kp, err := make()
		if err != nil {
			p.t.Fatal(err)
		}
		public, err := kp.PublicKey()
		if err != nil {
			p.t.Fatal(err)
		}
		return kp, public
	}
	sign := func(c jwt.Claims, kp nkeys.KeyPair) string {
		text, err := c.Encode(kp)
		if err != nil {
			p.t.Fatal(err)
		}
		return text
	}
	operator, operatorID := pair(nkeys.CreateOperator)
	account, accountID := pair(nkeys.CreateAccount)
	_, systemID := pair(nkeys.CreateAccount)
	user, userID := pair(nkeys.CreateUser)
	trusted := jwt.NewOperatorClaims(operatorID)
	trusted.SystemAccount = systemID
	seed, err := user.Seed()
	if err != nil {
		p.t.Fatal(err)
	}
	creds, err := jwt.FormatUserConfig(sign(jwt.NewUserClaims(userID), account), seed)
	if err != nil {
		p.t.Fatal(err)
	}
	p.save("user.creds", creds)
	return fmt.Sprintf("operator: %q\nresolver: MEMORY\nresolver_preload: {%s: %q, %s: %q}\n",
		sign(trusted, operator),
		accountID, sign(jwt.NewAccountClaims(accountID), operator), systemID, sign(jwt.NewAccountClaims(systemID), operator))
}

// A server with TLS, which wants our certificate too, and with an operator's
// credentials. Each of the three is needed.
func TestAttachedByCredentials(t *testing.T) {
	t.Parallel()
	p := newPapers(t)
	p.certificate("server", p.ca)
	p.certificate("dsend", p.ca)
	config := "server_name: %[1]s\nlisten: \"%[2]s\"\n# %[3]s\n" + fmt.Sprintf(
		"leafnodes: {listen: \"%%[4]s\", tls: {cert_file: %q, key_file: %q, ca_file: %q, verify: true, timeout: 30}}\n",
		p.path("server.pem"), p.path("server.key"), p.path("ca.pem")) + p.operator()
	h := newHub(t, "hub", config, "").start()
	ours := map[string]string{
		"DSEND_SERVER_LEAF_CREDS": p.path("user.creds"), "DSEND_SERVER_LEAF_CA": p.path("ca.pem"),
		"DSEND_SERVER_LEAF_CERT": p.path("dsend.pem"), "DSEND_SERVER_LEAF_KEY": p.path("dsend.key"),
	}
	env := func(without ...string) (env []string) {
		for name, value := range ours {
			env = append(env, name+"="+value)
			for _, w := range without {
				if w == name {
					env = env[:len(env)-1]
				}
			}
		}
		return env
	}
	for _, without := range [][]string{{"DSEND_SERVER_LEAF_CREDS"}, {"DSEND_SERVER_LEAF_CA"}, {"DSEND_SERVER_LEAF_CERT", "DSEND_SERVER_LEAF_KEY"}} {
		v := newServer(t, setup{hubs: []*hub{h}, env: env(without...)})
		v.process = launch(t, v.env, v.flags()...)
		if code := v.wait(t); code != 1 {
			t.Errorf("without %s the exit code is %d\n%s", without, code, v.err.last(9))
		}
	}
	s := start(t, setup{hubs: []*hub{h}, env: env()})
	c := s.connect(t, nats.UserCredentials(p.path("user.creds")))
	c.reach(t)
	c.put(t, plain("orders", "x"))
	c.one(t, "orders").must(t, ack, "ok")
	s.restart()
	h.kill()
	h.start()
	c.back(t)
	c.reach(t)
	c.put(t, plain("orders", "y"))
	c.one(t, "orders").must(t, ack, "ok")
}

// A user who may do no more than README says is enough for everything.
func TestAttachedByPermissions(t *testing.T) {
	t.Parallel()
	const permissions = `
server_name: %[1]s
listen: "%[2]s"
leafnodes: {listen: "%[4]s"} # %[3]s
authorization: {users: [
  {user: app, password: p}
  {user: dsend, password: "s3cret", permissions: {
    publish: ["dsend.>", "_INBOX.>"]
    subscribe: ["dsend.>", "$JS.ACK.dsend.>", "$JS.dsend.API.>", "$SRV.>", "shop.>"]
  }}
]}
`
	h := startHub(t, permissions)
	s := start(t, setup{hubs: []*hub{h}, config: settings("orders", "subjects: [shop.>]")})
	c := s.connect(t, nats.UserInfo("app", "p"))
	c.reach(t)
	c.put(t, out{queue: "orders", subject: "shop.new", body: []byte("x")})
	c.one(t, "orders").must(t, ack, "ok")
	done := make(chan error, 1)
	c.work(t, "orders", "workers", func(d *delivery) { done <- d.say(ack) })
	c.put(t, plain("orders", "y"))
	if err := next(t, "a delivery", done); err != nil {
		t.Error(err)
	}
	c.rest(t, "orders", counts{})
	for _, subject := range []string{"$SRV.PING.dsend", "$JS.dsend.API.INFO"} {
		if _, err := c.requestTo(subject, nil); err != nil {
			t.Errorf("%s: %v", subject, err)
		}
	}
	if lines := h.said.with("iolation"); len(lines) > 0 {
		t.Errorf("nats-server says %q", lines)
	}
}
