#!/bin/sh
# Install what the slow tests of core/ need with apt-get (as root): clang with libFuzzer, compilers for ARM64 and 32 bits, qemu.
# This script never fails: tests whose programs are missing are skipped with a reason.
missing() {
  while [ $# -gt 1 ]; do
    command -v "$1" >/dev/null || echo "$2"
    shift 2
  done
}

list() {
  missing clang clang clang libclang-rt-14-dev aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc libc6-dev-arm64-cross \
    qemu-aarch64 qemu-user i686-linux-gnu-gcc gcc-i686-linux-gnu i686-linux-gnu-gcc libc6-dev-i386-cross | tr '\n' ' '
}

packages=$(list)
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "core/: installing with apt-get: ${packages% }"
  install="apt-get -o DPkg::Lock::Timeout=300 install --yes --no-install-recommends"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update >/dev/null 2>&1
  # one by one: a package may have another name on another system
  for package in $packages; do $install "$package" >/dev/null 2>&1; done
fi
packages=$(list)
if [ -n "$packages" ]; then
  echo "core/: not installed: ${packages% }; tests that need them are skipped (sh core/setup.sh tries again)"
fi
exit 0
