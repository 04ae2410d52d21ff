// Prints the lower-case hex HMAC-SHA1 of standard input, keyed by the first argument: a receiver's check, in Go.
package main

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

func main() {
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha1.New, []byte(os.Args[1]))
	mac.Write(body)
	fmt.Println(hex.EncodeToString(mac.Sum(nil)))
}
