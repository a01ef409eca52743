#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches what libraries for an older glibc are linked with: older_glibc.sh FOLDER. Debian 11's glibc 2.31 and C++ library, by apt;
# nothing is installed. Then: cmake --preset package -DWEIR_GLIBC_ROOT=FOLDER
set -euo pipefail

[[ $# -eq 1 ]] || { echo "usage: older_glibc.sh FOLDER" >&2 && exit 1; }
mkdir -p "$1"
root="$(cd "$1" && pwd)"
state="$(mktemp -d)"
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/empty"
chmod 755 "$state"
mirror="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 -E '/debian/?$' || echo http://deb.debian.org/debian)"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bullseye main" >"$state/sources.list"
apt=(apt-get -q -o "Dir::Etc::SourceList=$state/sources.list" -o "Dir::Etc::SourceParts=$state/empty"
  -o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state" -o APT::Sandbox::User=root)
"${apt[@]}" update
cd "$state/archives"
"${apt[@]}" download libc6/bullseye libc6-dev/bullseye libstdc++6/bullseye
for package in ./*.deb; do
  dpkg -x "$package" "$root"
done
find "$root" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfnr "$root$(readlink "$link")" "$link"  # as it is, it leads to the system's
done
echo "$root: $(basename "$root"/lib/*/libc-*.so)"
