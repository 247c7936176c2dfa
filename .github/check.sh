#!/usr/bin/env bash
# What action.yml runs: usp check, with annotations, a summary of the job and, if wanted, SARIF.
set -uo pipefail

PATH="$RUNNER_TEMP/usp-check/bin:$RUNNER_TEMP/usp-check/Scripts:$PATH"
if [ -n "${USP_REPOSITORY:-}" ] && [ -z "${USP_DOCS_URL:-}" ]; then
  owner=${USP_REPOSITORY%%/*}
  export USP_DOCS_URL="https://${owner,,}.github.io/${USP_REPOSITORY##*/}/"
fi

mapfile -t given < <(printf '%s\n' "$USP_PATH")
paths=()
for path in "${given[@]}"; do
  [ -n "$path" ] && paths+=("$path")
done
read -r -d '' -a options <<< "${USP_OPTIONS:-}" || true

usp check "${paths[@]}" ${options[@]+"${options[@]}"} -f github
status=$?
if [ -n "${USP_SARIF:-}" ] && [ "$status" -le 1 ]; then
  usp check "${paths[@]}" ${options[@]+"${options[@]}"} -f sarif -o "$USP_SARIF" --fail-on never -q || status=$?
fi
echo "status=$status" >> "$GITHUB_OUTPUT"
exit "$status"
