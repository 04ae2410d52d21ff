// Prints the lower-case hex HMAC-SHA1 of standard input, with the first argument as key, as a receiver in Go checks it.
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
