#!/bin/sh
# Install what the tests of js/ need: node, npm and chromium with apt-get (as root), then the npm packages. It says which
# system packages it installs before it does. Scripts of npm packages are not run.
# This script never fails: tests whose programs are missing are skipped with a reason.
cd "$(dirname "$0")" || exit 0

missing() {
  for program in "$@"; do command -v "$program" >/dev/null || echo "$program"; done
}

packages=$(missing node npm chromium | sed 's/^node$/nodejs/')
# shellcheck disable=SC2086 - $packages are several words
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "js/: installing system packages with apt-get:" $packages
  install="apt-get -o DPkg::Lock::Timeout=300 install --yes --no-install-recommends"
  export DEBIAN_FRONTEND=noninteractive
  $install $packages >/dev/null 2>&1 || { apt-get update >/dev/null 2>&1 && $install $packages >/dev/null 2>&1; }
fi

if command -v npm >/dev/null; then
  npm ci --ignore-scripts --silent --no-audit --no-fund </dev/null >/dev/null 2>&1 ||
    echo "js/: npm ci failed; its tests are skipped"
fi
packages=$(missing node npm chromium | tr '\n' ' ')
if [ -n "$packages" ]; then
  echo "js/: not installed: ${packages% }; tests that need them are skipped (sh js/setup.sh tries again)"
fi
exit 0
