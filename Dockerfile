# Pin a digest with --build-arg BASE_IMAGE=node:24-bookworm-slim@sha256:…
ARG BASE_IMAGE=node:24-bookworm-slim
FROM ${BASE_IMAGE} AS base

# Both npm stages skip install scripts: no package needs them here, and the script of a hijacked package
# would run as root with network access.
FROM base AS build
WORKDIR /app
# Manifests first, so that a change of the source reuses the installed packages.
COPY package.json package-lock.json ./
COPY client/package.json client/
COPY web/package.json web/
RUN npm ci --ignore-scripts --no-audit --no-fund
# Named paths instead of `COPY . .`, so that no local .env, .data or node_modules gets into a layer.
COPY tsconfig.json tsconfig.build.json nest-cli.json ormconfig.ts ./
COPY scripts scripts
COPY client client
COPY migrations migrations
COPY src src
COPY web web
# A checkout under umask 077 contains files that the run-time user cannot read.
RUN npm run build && rm -f dist/*.tsbuildinfo && chmod -R a+rX dist client

FROM base AS production-dependencies
WORKDIR /app
COPY package.json package-lock.json ./
COPY client/package.json client/
COPY web/package.json web/
# npm installs TypeScript as an optional peer of @nestjs/swagger and cosmiconfig, but nothing loads it at run time.
# Type declarations and source maps are not read either. Together they are more than half of the tree.
# Licence files stay. `@carrier-identity/console` links to `web/`, which the image does not contain.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/@carrier-identity/console \
  && rm -rf node_modules/typescript node_modules/.bin/tsc node_modules/.bin/tsserver node_modules/@types \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

FROM base
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    DATA_DIR=/data \
    SHUTDOWN_DELAY_SECONDS=5
WORKDIR /app
# The only directory that the service writes to (mails without SMTP_URL). Set its owner before VOLUME:
# a new volume inherits the owner, and later changes would be lost.
RUN install -d -m 0700 -o node -g node /data
VOLUME /data
# Ordered by frequency of change. Owned by root, so that the service cannot change its own code.
COPY --from=production-dependencies /app/node_modules node_modules
COPY --chmod=0644 package.json openapi.json LICENSE ./
# The command line calls the API through the client.
COPY --from=build /app/client/package.json client/
COPY --from=build /app/client/dist/cjs client/dist/cjs
COPY --from=build /app/dist dist
# User `node`, as a number: Kubernetes' runAsNonRoot cannot verify a name.
USER 1000:1000
EXPOSE 3000
STOPSIGNAL SIGTERM
# Liveness, not readiness: a restart does not help if the database is unreachable. slim has no curl.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + (process.env.BASE_PATH ?? '') + '/health/live', { signal: AbortSignal.timeout(4000) }).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# DATABASE_URL and APP_SECRET have no default: the image does not contain the embedded database.
# Exec form, so that node is process 1 and receives SIGTERM. npm or a shell would not forward it.
CMD ["node", "dist/src/main.js"]

# Last, because a new revision rebuilds everything below.
ARG VERSION=0.0.0-local
ARG REVISION=unknown
# Without a default: takes the value from above the first FROM.
ARG BASE_IMAGE
LABEL org.opencontainers.image.title="carrier-identity" \
      org.opencontainers.image.description="User and session service of a carrier-services platform" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
