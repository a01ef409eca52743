# SPDX-License-Identifier: Apache-2.0
# Steps with time limits, and the table of what they came to. Sourced by accept.sh; uses out, only and list.
# shellcheck shell=bash disable=SC2154

declare -a step_names step_words step_seconds step_reasons
any_failed=0

begin_steps() {
  deadline=$((SECONDS + ${ACCEPT_SECONDS:-540}))
  rm -rf "$out/logs" && mkdir -p "$out/logs"
}

note() { # name, word, seconds, reason
  step_names+=("$1") step_words+=("$2") step_seconds+=("$3") step_reasons+=("$4")
  printf '%-8s %-28s %4s s  %s\n' "$2" "$1" "$3" "$4"
}

# What a log comes to, without control characters and at most 150 long: the failure that a bench program names, the
# last row of its table, or the last line that says something.
reason_in() {
  local said
  said="$(grep -m1 -oP "^\S+: Test [^']*'\K.*(?=')" "$1")" && { cut -c 1-150 <<<"$said"; return; }
  said="$(awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 13 { row = $1 " B: " $6 " us, " $8 " GB/s" } END { print row }' "$1")"
  [[ -n "$said" ]] && { echo "$said"; return; }
  grep -v -e '^[[:space:]#]*$' -e '^# Collective test concluded' -e '^# error: WEIR_' "$1" | tail -n 1 | tr -cd '[:print:]' |
    sed -e 's/^skipped: //' -e 's/^[# ]*//' -e 's/  */ /g' | cut -c 1-150
}

# step NAME SECONDS COMMAND...: runs it, at most that long and at most as long as is left for all. Its output goes to
# $OUT/logs/NAME.log. 77: skipped, with the last line as the reason.
step() {
  local name="$1" limit="$2" begin="$SECONDS" code log left most
  shift 2
  [[ "$name" =~ $only ]] || return 0
  [[ "$list" == 1 ]] && { echo "$name, at most $limit s"; return 0; }
  left=$((deadline - SECONDS))
  [[ "$left" -lt 3 ]] && { note "$name" skipped 0 "no time is left of ${ACCEPT_SECONDS:-540} s"; return 0; }
  for most in "$left" "${ACCEPT_STEP_SECONDS:-$limit}"; do
    [[ "$limit" -gt "$most" ]] && limit="$most"
  done
  log="$out/logs/$name.log"
  if [[ "$(type -t "$1")" == function ]]; then
    "$@" >"$log" 2>&1 </dev/null
  else
    timeout -k 5 "$limit" "$@" >"$log" 2>&1 </dev/null
  fi
  code=$?
  case "$code" in
    0) note "$name" passed $((SECONDS - begin)) "$(reason_in "$log")" ;;
    77) note "$name" skipped $((SECONDS - begin)) "$(reason_in "$log")" ;;
    124 | 137) note "$name" failed $((SECONDS - begin)) "not done within $limit s: $(reason_in "$log")" ;;
    *) note "$name" failed $((SECONDS - begin)) "$(reason_in "$log") (exit code $code)" ;;
  esac
  [[ "$code" == 0 || "$code" == 77 ]] && return 0
  any_failed=1
  return 1
}

# skip NAME SENTENCE: a step that has nothing to run.
skip() {
  [[ "$1" =~ $only ]] || return 0
  if [[ "$list" == 1 ]]; then echo "$1"; else note "$1" skipped 0 "$2"; fi
}

# Prints all and writes it to $OUT/table.txt, and everything to one archive; its own code says whether anything failed.
table() {
  [[ "$list" == 1 ]] && return 0
  local i passed=0 failed=0 skipped=0
  {
    echo
    printf '| %-28s | %-7s | %4s | %s\n' step result s 'what it says'
    for i in "${!step_names[@]}"; do
      printf '| %-28s | %-7s | %4s | %s\n' "${step_names[i]}" "${step_words[i]}" "${step_seconds[i]}" "${step_reasons[i]}"
      case "${step_words[i]}" in passed) passed=$((passed + 1)) ;; failed) failed=$((failed + 1)) ;; *) skipped=$((skipped + 1)) ;; esac
    done
    echo "$passed passed, $failed failed, $skipped skipped, in $SECONDS s"
  } | tee "$out/table.txt"
  tar -C "$out" --exclude=./accept.tgz -czf "$out/accept.tgz" .
  [[ "$any_failed" == 0 ]]
}
