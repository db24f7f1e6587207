# The server and nothing else: `docker build -t drawbridge .`; docs/deploy.md says how to run it.
ARG NODE_IMAGE=node:22-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY shared/package.json shared/
COPY server/package.json server/
COPY bridge/package.json bridge/
COPY extension/package.json extension/
RUN npm ci --no-audit --no-fund
COPY rolldown.config.ts tsconfig.base.json ./
COPY scripts/ scripts/
COPY shared/ shared/
COPY server/ server/
COPY deploy/ deploy/
COPY docs/nextjs.md docs/
# The one build makes both programs; the extension is not part of an image.
COPY bridge/ bridge/
RUN npm run prestart

FROM ${NODE_IMAGE}
ARG VERSION=0.1.0
LABEL io.modelcontextprotocol.server.name="io.github.OWNER/drawbridge" \
      org.opencontainers.image.title="Drawbridge" \
      org.opencontainers.image.description="OAuth 2.1 authorization server and MCP endpoint in front of a web app's session provider." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /src/server/launcher.cjs /app/launcher.cjs
COPY --from=build /src/server/dist/ /app/dist/
COPY LICENSE /app/
# For a SQLite store and a key file. Nothing else is ever written: the root may be read-only.
RUN mkdir /data && chown 1000:1000 /data && ln -s /app/launcher.cjs /usr/local/bin/drawbridge-server
WORKDIR /data
VOLUME /data
# Platforms set a PORT of their own.
ENV NODE_ENV=production \
    PORT=8787 \
    DRAWBRIDGE_STORE=sqlite:/data/server.db
USER 1000:1000
EXPOSE 8787
STOPSIGNAL SIGTERM
# Liveness only. Where requests go is for /readyz and the load balancer.
HEALTHCHECK --interval=15s --timeout=3s --start-period=10s CMD ["node", "-e", "const {DRAWBRIDGE_LISTEN: listen, PORT: port = '', DRAWBRIDGE_BASE_URL: base = 'http://localhost'} = process.env; const path = new URL(base).pathname.replace(/\\/$/, ''); fetch(`http://127.0.0.1:${(listen || port).split(':').at(-1)}${path}/healthz`, {signal: AbortSignal.timeout(2500)}).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Node is process 1: the server listens for SIGTERM and SIGINT itself. It starts other processes only in front of an MCP server that is a
# command: then run it with --init, see docs/gateway.md.
ENTRYPOINT ["node", "/app/launcher.cjs"]
