# syntax=docker/dockerfile:1
# The image of Braid: `serve`, `worker` and every other command, on Node 24, without a shell, as user 65532.
#
#   docker build --build-arg COMMIT=$(git rev-parse --short=12 HEAD) -t braid:0.1.0 .
#   docker run -p 127.0.0.1:8420:8420 -v braid:/var/lib/braid braid:0.1.0
#
# docs/operate/deploy.md has its size, its settings, and what of it was tried.

# The Node that the tests run on (package-lock.json).
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /build
# First what rarely changes, so that a change of the sources installs nothing.
COPY package.json package-lock.json ./
COPY scripts/packaged-node scripts/packaged-node
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
ARG COMMIT=unknown
RUN SOURCE_COMMIT="$COMMIT" node scripts/build.ts \
 && npm pack --ignore-scripts --pack-destination /tmp

# What the package ships, and the libraries that it runs with; nothing to compile, and no npm afterwards.
# The files that only compilers and people read are a third of the libraries; licences stay.
FROM node:${NODE_VERSION}-bookworm-slim AS install
WORKDIR /app
COPY --from=build /tmp/braid-*.tgz /tmp/braid.tgz
COPY package-lock.json ./
COPY scripts/packaged-node scripts/packaged-node
RUN tar -xzf /tmp/braid.tgz --strip-components=1 \
 && npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && rm -rf package-lock.json scripts bin node_modules/.package-lock.json node_modules/.bin \
 && find . -type f ! -iname 'licen*' \
      \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.md' \) -delete \
 && mkdir /data

# The C library, certificates and time zones: what Node needs. Its tag moves with Debian's security updates; for
# builds that must be equal forever, replace it with a digest.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=install /usr/local/bin/node /usr/local/bin/node
COPY --chmod=755 deploy/docker/braid /usr/local/bin/braid
COPY --from=install /app /app
COPY --from=install --chown=65532:65532 /data /var/lib/braid
USER 65532:65532
WORKDIR /var/lib/braid
# A container's own loopback is of no use to others. Braid has no authentication yet: publish the port on
# loopback only, or put a proxy that has it in front. UV_THREADPOOL_SIZE is the launcher's (bin/braid).
ENV NODE_ENV=production \
    UV_THREADPOOL_SIZE=64 \
    BRAID_LISTEN=0.0.0.0:8420 \
    BRAID_INSECURE_LISTEN=true \
    BRAID_DATA=/var/lib/braid
VOLUME /var/lib/braid
EXPOSE 8420
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/local/bin/braid", "health"]
ENTRYPOINT ["/usr/local/bin/braid"]
CMD ["serve"]
