#!/usr/bin/env bash
# Installs the Debian packages that some tests and comparisons use. Without them, those say so and are not run.
#   scripts/install-test-tools.sh          what tests use: sandboxes, a name server, a packet filter, network namespaces, nmap, OpenSSL, PgBouncer, containers, a registry
#   scripts/install-test-tools.sh --bench  also what the benchmarks compare Heddle with
set -euo pipefail

packages=(bubblewrap iproute2 knot nftables nmap openssl pgbouncer podman runc docker-registry)
case "${1:-}" in
  '') ;;
  --bench) packages+=(dnsperf redis-server ripgrep) ;;
  *)
    echo "usage: $0 [--bench]" >&2
    exit 2
    ;;
esac
if [ "$(id -u)" != 0 ]; then
  echo "$0 installs packages: run it as root" >&2
  exit 1
fi
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
