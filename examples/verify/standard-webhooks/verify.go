package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

// IsGenuine reports whether Sluice sent this request, at most five minutes ago.
// rawBody: the bytes as received, before any JSON parser.
func IsGenuine(rawBody []byte, headers http.Header, secret string) bool {
	timestamp := headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	key := []byte(secret)
	if encoded, found := strings.CutPrefix(secret, "whsec_"); found {
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return false
		}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(headers.Get("webhook-id") + "." + timestamp + "."))
	mac.Write(rawBody)
	expected := mac.Sum(nil)
	// while the secret is rotated, there are two signatures: of the new secret and of the previous one
	for _, signature := range strings.Split(headers.Get("webhook-signature"), " ") {
		text, found := strings.CutPrefix(signature, "v1,")
		given, err := base64.StdEncoding.DecodeString(text)
		if found && err == nil && hmac.Equal(given, expected) {
			return true
		}
	}
	return false
}
