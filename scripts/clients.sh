#!/usr/bin/env bash
# Generates a client with each generator, compiles it, and runs a program of scripts/clients/ with it.
# Also runs the programs of docs/modules.md that need libraries. Run it before each release: it
# downloads the generators, takes some minutes, and writes the results to docs/clients.md, with the
# languages that are not installed.
# Usage: scripts/clients.sh [name ...]      CLIENTS_DIR=… keeps the generated clients.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
generator=7.25.0
python_client=0.29.1
nimbus=10.6
password='a quiet river under seven bridges'
work=${CLIENTS_DIR:-$(mktemp -d)}
mkdir -p "$work"
suffix=$(date +%s)
failed=0
rows=()
names=(java-native java-okhttp-gson python go openapi-python-client openapi-typescript modules)
[ $# -gt 0 ] && names=("$@")

node scripts/start.js --build || exit 1
port=$(node -pe 'const s = require("node:net").createServer().listen(0); s.on("listening", () => { console.log(s.address().port); s.close(); }); ""' | tail -1)
url=http://127.0.0.1:$port
cd "$work" # no .env of the checkout
data=${DATA_DIR:-$(mktemp -d)/data}
env PORT="$port" PUBLIC_URL="$url" DATA_DIR="$data" ADMIN_EMAIL=admin@example.com ADMIN_PASSWORD="$password" \
  ACCESS_TOKEN_TTL_SECONDS=3600 LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE=0 node "$root/dist/src/main.js" >service.log 2>&1 &
service=$!
trap 'kill "$service"; wait "$service"' EXIT
for _ in $(seq 120); do curl -fsS "$url/health/ready" >/dev/null 2>&1 && break; sleep 0.5; done
curl -fsS --compressed "$url/docs/openapi.json" -o openapi.json || { cat service.log; exit 1; }
# Sets the arguments of a program: an administrator, and another one with a second factor.
arguments_for() {
  client=("$url" admin@example.com "$password" "$suffix")
  # shellcheck disable=SC2207
  client+=($(node "$root/scripts/clients/second-factor-user.mjs" "${client[@]:0:3}" "$1-$suffix" "${DATABASE_URL:-$data}"))
  [ ${#client[@]} -eq 8 ]
}

has() { command -v "$1" >/dev/null; }
jar=$HOME/.m2/repository/org/openapitools/openapi-generator-cli/$generator/openapi-generator-cli-$generator.jar
fetch_jar() { [ -f "$HOME/.m2/repository/$2" ] || mvn -q -B dependency:get -Dartifact="$1" -Dtransitive=false; }
# Prints nothing unless the generator reports an error.
generate() {
  fetch_jar "org.openapitools:openapi-generator-cli:$generator" "${jar#"$HOME/.m2/repository/"}" &&
    rm -rf "$2" && java -jar "$jar" generate -i openapi.json -g "$1" -o "$2" "${@:3}" >"$2.generator.log" 2>&1 &&
    ! grep ERROR "$2.generator.log"
}
virtual_environment() { [ -x venv/bin/python ] || { python3 -m venv venv && venv/bin/pip install -q "$@"; }; }
python_tools() {
  virtual_environment "openapi-python-client==$python_client" 'pyjwt[crypto]' pydantic python-dateutil urllib3 httpx attrs
}

java_client() { # library, class, options
  generate java "$1" --library "${1#java-}" --global-property apiTests=false,modelTests=false \
    --additional-properties invokerPackage=identity,apiPackage=identity.api,modelPackage=identity.model,useSingleRequestParameter=true "${@:3}" &&
    (cd "$1" && mvn -q -B -Dmaven.test.skip=true -Dmaven.javadoc.skip=true -Dmaven.source.skip=true package \
      dependency:copy-dependencies) &&
    java -cp "$1/target/classes:$1/target/dependency/*" "$root/scripts/clients/$2.java" "${client[@]}"
}
run_java_native() {
  java_client java-native Native --schema-mappings IntrospectionResponse_aud=Object,SecureUserRequest_factors=Object
}
run_java_okhttp_gson() { java_client java-okhttp-gson OkHttp; }
run_python() {
  python_tools && generate python python --additional-properties packageName=identity &&
    PYTHONPATH=python venv/bin/python "$root/scripts/clients/generator_client.py" "${client[@]}"
}
run_go() {
  generate go go --additional-properties enumClassPrefix=true && mkdir -p go/program &&
    cp "$root/scripts/clients/main.go" go/program/ && rm -rf go/test &&
    (cd go && go mod tidy && go vet . && go run ./program "${client[@]}")
}
run_openapi_python_client() {
  python_tools && rm -rf python-client && mkdir -p python-client &&
    venv/bin/openapi-python-client generate --path openapi.json --meta none --output-path python-client/identity \
      >python-client/generator.log 2>&1 &&
    PYTHONPATH=python-client venv/bin/python "$root/scripts/clients/python_client.py" "${client[@]}"
}
run_openapi_typescript() {
  # Below node_modules, so that the program finds its packages.
  local directory=$root/node_modules/.cache/clients
  rm -rf "$directory" && mkdir -p "$directory" && cp "$root/scripts/clients/fetch.mts" "$directory" && cd "$directory" &&
    echo '{ "type": "module" }' >package.json &&
    node "$root/node_modules/openapi-typescript/bin/cli.js" "$work/openapi.json" -o schema.ts >generator.log &&
    node "$root/node_modules/typescript/bin/tsc" --ignoreConfig --strict --exactOptionalPropertyTypes --target es2022 \
      --module nodenext --types node fetch.mts && node fetch.mjs "${client[@]}"
}
run_modules() {
  local token nimbus_jar=com/nimbusds/nimbus-jose-jwt/$nimbus/nimbus-jose-jwt-$nimbus.jar
  python_tools && rm -rf modules && mkdir modules && fetch_jar "com.nimbusds:nimbus-jose-jwt:$nimbus" "$nimbus_jar" &&
    node -e 'const fs = require("node:fs");
      for (const [, name, code] of fs.readFileSync(process.argv[1], "utf8").matchAll(/^```\w+\n(?:\/\/|#) (\S+)\n([^]*?)^```$/gm))
        fs.writeFileSync(`modules/${name}`, code);' "$root/docs/modules.md" &&
    token=$(curl -sS "$url/auth/login" -H 'Content-Type: application/json' \
      -d "{\"login\":\"administrator\",\"password\":\"$password\"}" | node -pe 'JSON.parse(require("fs").readFileSync(0)).access_token') &&
    export IDENTITY_URL=$url ISSUER=$url && cd modules &&
    shows ../venv/bin/python offline.py && shows java -cp "$HOME/.m2/repository/$nimbus_jar" Offline.java &&
    mkdir go && mv offline.go go/main.go && cd go && go mod init offline >/dev/null 2>&1 && go mod tidy >/dev/null 2>&1 &&
    go build -o offline . && shows ./offline && echo ok
}
# Prints the administrator for a valid token, and no user for a token with another signature.
shows() { "$@" "$token" | grep -q ' administrator$' && [ "$("$@" "${token%????}AAAA")" = inactive ]; }

for name in "${names[@]}"; do
  case $name in
    java-*) tools=(java mvn) version="openapi-generator $generator" ;;
    python) tools=(java mvn python3) version="openapi-generator $generator" ;;
    go) tools=(java mvn go) version="openapi-generator $generator" ;;
    openapi-python-client) tools=(python3) version="openapi-python-client $python_client" ;;
    openapi-typescript) tools=(node) version="openapi-typescript $(node -p "require('$root/node_modules/openapi-typescript/package.json').version")" ;;
    modules) tools=(java mvn python3 go) version="PyJWT, Nimbus $nimbus, keyfunc" ;;
  esac
  missing=()
  for tool in "${tools[@]}"; do has "$tool" || missing+=("$tool"); done
  if [ ${#missing[@]} -gt 0 ]; then
    result="not run: ${missing[*]} not installed"
  elif (cd "$work" && arguments_for "$name" && "run_${name//-/_}") >"$work/$name.log" 2>&1 && tail -1 "$work/$name.log" | grep -q 'ok$'; then
    result=works
  else
    result='**fails**'
    failed=1
    tail -20 "$work/$name.log"
  fi
  echo "$name: $result"
  rows+=("| $name | $version | $result |")
done
version_of() { has "$1" && "$@" 2>&1 | head -1; }
{
  echo '| client | generator | result |'
  echo '|---|---|---|'
  printf '%s\n' "${rows[@]}"
  echo
  echo "Run with $(version_of java -version | tr -d '"'), $(version_of python3 --version), $(version_of go version), Node.js $(node --version)."
} >"$work/results.md"
[ $# -gt 0 ] || node -e '
  const fs = require("node:fs");
  const [page, results] = process.argv.slice(1);
  const text = fs.readFileSync(page, "utf8");
  const table = fs.readFileSync(results, "utf8");
  fs.writeFileSync(page, text.replace(/(<!-- results -->\n)[^]*(<!-- end -->)/, (_, start, end) => `${start}\n${table}\n${end}`));
' "$root/docs/clients.md" "$work/results.md"
exit "$failed"
