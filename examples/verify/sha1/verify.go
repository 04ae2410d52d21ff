package webhooks

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"net/http"
)

// IsGenuine reports whether Sluice sent this request. rawBody: the bytes as
// received, before any JSON parser.
func IsGenuine(rawBody []byte, headers http.Header, secret string) bool {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write(rawBody)
	expected := mac.Sum(nil)
	// while the secret is rotated, the second header is signed with the previous one
	for _, name := range []string{"X-Signature", "X-Signature-Previous"} {
		given, err := hex.DecodeString(headers.Get(name))
		if err == nil && hmac.Equal(given, expected) {
			return true
		}
	}
	return false
}
