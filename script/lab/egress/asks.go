// The same as asks.py in Go, by net/http as it comes.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

type Case struct {
	Name, Path, Method string
	Body               int
	Chunked            bool
	Fields             map[string]string
}

type Answer struct {
	Status int    `json:"status"`
	Digest string `json:"digest"`
	Length string `json:"length"`
}

func main() {
	var order struct {
		URLs  map[string]string
		Cases []Case
	}
	check(json.NewDecoder(os.Stdin).Decode(&order))
	answers := map[string]map[string]Answer{}
	for name, url := range order.URLs {
		answers[name] = map[string]Answer{}
		for _, one := range order.Cases {
			answers[name][one.Name] = ask(url, one)
		}
	}
	check(json.NewEncoder(os.Stdout).Encode(answers))
}

func ask(url string, one Case) Answer {
	var body io.Reader
	if one.Body > 0 {
		sent := make([]byte, one.Body)
		for index := range sent {
			sent[index] = byte(index)
		}
		body = bytes.NewReader(sent)
	}
	if one.Chunked {
		// A reader of no known type has no known length.
		body = io.MultiReader(body)
	}
	request, err := http.NewRequest(one.Method, url+one.Path, body)
	check(err)
	for name, value := range one.Fields {
		request.Header.Set(name, value)
	}
	client := http.Client{Timeout: time.Minute}
	response, err := client.Do(request)
	check(err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	check(err)
	digest := sha256.Sum256(content)
	length := ""
	if one.Method == "HEAD" {
		length = response.Header.Get("Content-Length")
	}
	return Answer{response.StatusCode, hex.EncodeToString(digest[:]), length}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
