#!/bin/sh
# What the tests of js/ need: node, npm and chromium through apt-get where that is allowed, then the packages.
# It never fails: without them those tests are skipped and say why.
cd "$(dirname "$0")" || exit 0

missing() {
  for program in "$@"; do command -v "$program" >/dev/null || echo "$program"; done
}

packages=$(missing node npm chromium | sed 's/^node$/nodejs/')
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  install="apt-get -o DPkg::Lock::Timeout=300 install --yes --no-install-recommends"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086
  $install $packages >/dev/null 2>&1 || { apt-get update >/dev/null 2>&1 && $install $packages >/dev/null 2>&1; }
fi

if command -v npm >/dev/null; then
  npm ci --silent --no-audit --no-fund </dev/null >/dev/null 2>&1 || echo "js/: npm ci failed; its tests will say why"
fi
packages=$(missing node npm chromium | tr '\n' ' ')
if [ -n "$packages" ]; then
  echo "js/: not installed: ${packages% }; tests that need them are skipped (sh js/setup.sh tries again)"
fi
exit 0
