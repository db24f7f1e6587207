#!/usr/bin/env bash
# Installs the Python clients and servers of the tests at their pinned versions, each requirements file into an environment of its own.
# What is there already is left alone.
set -euo pipefail
cd "$(dirname "$0")"
for requirements in requirements-*.txt; do
  environment=".environments/$(basename "$requirements" .txt)"
  cmp -s "$requirements" "$environment/installed.txt" && continue
  python3 -m venv --clear "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile -r "$requirements"
  cp "$requirements" "$environment/installed.txt"
done
