// Package wire speaks to a sandbox exactly as the SDK of the deep-agent family does, with the standard library alone.
//
// What it does on purpose, because that SDK does: it sends a JSON content type with every request, GET included; it
// never looks at the HTTP status; a body without a code is a success; a path goes into the query as it is.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Client is a client of one sandbox.
type Client struct {
	base    string
	session string
	cwd     string
	sign    func() (string, error)
	http    *http.Client
}

// Option changes a client.
type Option func(*Client)

// WithSecret signs every request with a shared secret.
func WithSecret(secret string) Option {
	return func(client *Client) {
		client.sign = func() (string, error) {
			now := time.Now()
			return Sign(secret, "HS256", map[string]any{"iat": now.Unix(), "exp": now.Add(time.Minute).Unix()})
		}
	}
}

// WithSecretFromEnv signs with the secret in JWT_SECRET, if there is one.
func WithSecretFromEnv() Option {
	return func(client *Client) {
		if secret := os.Getenv("JWT_SECRET"); secret != "" {
			WithSecret(secret)(client)
		}
	}
}

// WithToken sends a token as it is.
func WithToken(token string) Option {
	return func(client *Client) {
		client.sign = func() (string, error) { return token, nil }
	}
}

// WithTimeout bounds every request.
func WithTimeout(timeout time.Duration) Option {
	return func(client *Client) { client.http.Timeout = timeout }
}

// WithCwd is where relative paths begin.
func WithCwd(cwd string) Option {
	return func(client *Client) { client.cwd = cwd }
}

// NewClient makes a client of a session, which may be empty.
func NewClient(base, session string, options ...Option) *Client {
	client := &Client{
		base:    strings.TrimRight(base, "/"),
		session: session,
		http:    &http.Client{Timeout: 30 * time.Second},
	}
	for _, option := range options {
		option(client)
	}
	return client
}

// APIError is what a sandbox refused.
type APIError struct {
	Code    int
	Message string
}

func (failure *APIError) Error() string {
	return fmt.Sprintf("API error (code %d): %s", failure.Code, failure.Message)
}

// Unwrap lets callers ask whether a file is missing.
func (failure *APIError) Unwrap() error {
	if failure.Code == http.StatusNotFound {
		return os.ErrNotExist
	}
	return nil
}

type envelope struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (client *Client) do(ctx context.Context, method, path string, body, result any) error {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, client.base+path, reader)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if client.session != "" {
		request.Header.Set("X-Session-ID", client.session)
	}
	if client.cwd != "" {
		request.Header.Set("X-Workspace", client.cwd)
	}
	if client.sign != nil {
		token, err := client.sign()
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer envelope
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("no envelope: %w", err)
	}
	if answer.Code != 0 {
		return &APIError{Code: answer.Code, Message: answer.Message}
	}
	if result == nil {
		return nil
	}
	if len(answer.Data) == 0 {
		return errors.New("the answer has no data")
	}
	return json.Unmarshal(answer.Data, result)
}

func (client *Client) get(ctx context.Context, path string, result any) error {
	return client.do(ctx, http.MethodGet, path, nil, result)
}

func (client *Client) post(ctx context.Context, path string, body, result any) error {
	return client.do(ctx, http.MethodPost, path, body, result)
}
