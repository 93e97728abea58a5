#!/bin/sh
# Hand a benchmark to a cluster that runs already: sh submit.sh http://HEAD:8265
#
# The folder of this script goes along as working directory, so that own code next to the benchmark
# (py:./mine.py:System) is there on every node. Keys are not sent: set them on the nodes. The token
# of the cluster is taken from RAY_AUTH_TOKEN, or from the file that RAY_AUTH_TOKEN_PATH names.
set -eu
dashboard="${1:?usage: sh submit.sh http://HEAD:8265}"
export RAY_AUTH_MODE="${RAY_AUTH_MODE:-token}"
exec ray job submit --address "$dashboard" --working-dir "$(dirname "$0")" -- \
    cb run benchmark.yaml --executor ray -o json=/results/result.json --cache-dir /results/store
