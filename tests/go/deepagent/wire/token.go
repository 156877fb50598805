package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash"
)

// Sign makes a token with this algorithm in its header; `none` leaves it without a signature.
func Sign(secret, algorithm string, claims map[string]any) (string, error) {
	head, err := json.Marshal(map[string]string{"alg": algorithm, "typ": "JWT"})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode(head) + "." + encode(body)
	var digest func() hash.Hash
	switch algorithm {
	case "HS256", "RS256":
		// A public key is no secret, but an attacker may try it as one.
		digest = sha256.New
	case "HS384":
		digest = sha512.New384
	case "HS512":
		digest = sha512.New
	case "none":
		return signed + ".", nil
	default:
		return "", fmt.Errorf("unknown algorithm %s", algorithm)
	}
	mac := hmac.New(digest, []byte(secret))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil)), nil
}
