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

# Debian's stable releases have no gitleaks, or an old one; the package of the unstable one needs nothing but the C library.
if [ "${1:-}" = --bench ] && ! command -v gitleaks >/dev/null; then
  directory=$(mktemp -d)
  chmod 755 "$directory"
  trap 'rm -rf "$directory"' EXIT
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb [signed-by=$keyring] http://deb.debian.org/debian unstable main" >"$directory/unstable.list"
  mkdir "$directory/lists"
  unstable=(-o "Dir::Etc::SourceList=$directory/unstable.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$directory/lists")
  apt-get "${unstable[@]}" update
  (cd "$directory" && apt-get "${unstable[@]}" download gitleaks)
  apt-get install -y --no-install-recommends "$directory"/gitleaks_*.deb
fi
