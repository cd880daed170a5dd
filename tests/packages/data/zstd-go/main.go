// Compresses and expands a text by the zstd library's C code.
package main

import (
	"fmt"

	"github.com/DataDog/zstd"
)

func main() {
	packed, err := zstd.Compress(nil, []byte("again and again and again and again"))
	if err != nil {
		panic(err)
	}
	text, err := zstd.Decompress(nil, packed)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
