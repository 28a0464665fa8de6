#!/usr/bin/env bash
# From a clone to the first query: from-clone.sh REPOSITORY FOLDER. Needs what the Makefile's first lines name.
set -euo pipefail
repository=$1
folder=$2

git clone --quiet "$repository" "$folder/kinesis-spark"
cd "$folder/kinesis-spark"
make demo
