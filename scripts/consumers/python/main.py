"""A module that names its caller. `scripts/consumers.mjs` adds the code of docs/modules.md."""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

import jwt
from caller import caller


class Billing(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            claims = caller(self.headers.get("Authorization", "").removeprefix("Bearer "))
            status, text = 200, f'{claims["sub"]} {" ".join(claims["roles"])}'
        except jwt.PyJWKClientConnectionError:
            status, text = 503, "the service is away"
        except jwt.PyJWTError:
            status, text = 401, "invalid token"
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Billing).serve_forever()
