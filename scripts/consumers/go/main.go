// A module that names its caller. `scripts/consumers.mjs` adds the code of docs/modules.md.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	http.HandleFunc("/invoice", func(response http.ResponseWriter, request *http.Request) {
		token := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
		found, err := caller(request.Context(), token)
		var claims struct{ Roles []string }
		if err != nil || found.Claims(&claims) != nil {
			http.Error(response, "invalid token", http.StatusUnauthorized)
			return
		}
		fmt.Fprintln(response, found.Subject, strings.Join(claims.Roles, " "))
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
