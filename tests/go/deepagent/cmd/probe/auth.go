package main

import (
	"context"
	"os"
	"time"

	"atoll.test/deepagent/wire"
)

func shot(format string, quality int, full bool) wire.Screenshot {
	return wire.Screenshot{Format: format, Quality: quality, Full: full}
}

// Expects a server that has the secret and demands a token.
func auth(checks *checks, base, secret string) {
	ctx := context.Background()
	now := time.Now()
	lasting := map[string]any{"iat": now.Unix(), "exp": now.Add(time.Minute).Unix()}
	past := map[string]any{"iat": now.Add(-time.Hour).Unix(), "exp": now.Add(-10 * time.Minute).Unix()}
	ask := func(options ...wire.Option) error {
		_, err := wire.NewClient(base, "", options...).GetContext(ctx)
		return err
	}
	refuses := func(name, message string, options ...wire.Option) {
		err := ask(options...)
		failure := refused(err)
		checks.that(name, failure != nil && failure.Code == 401 && failure.Message == message, err)
	}
	signed := func(secret, algorithm string, claims map[string]any) wire.Option {
		token, err := wire.Sign(secret, algorithm, claims)
		checks.fine("a token to try", err)
		return wire.WithToken(token)
	}

	checks.fine("signed anew for each request", ask(wire.WithSecret(secret)))
	os.Setenv("JWT_SECRET", secret)
	checks.fine("with the secret of the environment", ask(wire.WithSecretFromEnv()))
	for _, algorithm := range []string{"HS256", "HS384", "HS512"} {
		checks.fine(algorithm, ask(signed(secret, algorithm, lasting)))
	}
	refuses("no token", "missing authorization header")
	refuses("an expired token", "invalid token", signed(secret, "HS256", past))
	refuses("another secret", "invalid token", signed(secret+"x", "HS256", lasting))
	refuses("another algorithm in the header", "invalid token", signed(secret, "RS256", lasting))
	refuses("no signature", "invalid token", signed(secret, "none", lasting))
	refuses("no time at which it ends", "invalid token", signed(secret, "HS256", map[string]any{"iat": now.Unix()}))
	refuses("no token in the header", "invalid authorization format", wire.WithToken(""))
	refuses("what is no token", "invalid token", wire.WithToken("a.b.c"))
}
