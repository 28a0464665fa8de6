#!/usr/bin/env bash
# From the wheel to the first query, as docs/getting-started/local.md says: from-wheel.sh CLONE FOLDER. It builds what is missing
# or out of date in the clone's dist/. The query needs Python and Java.
set -euo pipefail
clone=$1
folder=$2

cd "$clone"
make package

cp "$clone/python/tests/newcomer/first.py" "$folder/"
cd "$folder"
ln -s "$clone/dist" dist
python3 -m venv kinesis-env
kinesis-env/bin/pip install dist/*.whl "pyspark>=4.2,<4.3"
kinesis-env/bin/python first.py
