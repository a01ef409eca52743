# SPDX-License-Identifier: Apache-2.0
# Steps with time limits, and the table of what they came to. Sourced by accept.sh; uses out, only and list.
# shellcheck shell=bash disable=SC2154

declare -a step_names step_words step_seconds step_reasons
any_failed=0 running=''
seconds_for_all="${ACCEPT_SECONDS:-540}"
seconds_for_end=10          # of these: what a step takes to end when it is stopped, and the archive
reserved_bytes=$((1 << 20)) # for the table and the archive, if steps fill the disk

begin_steps() {
  deadline=$((SECONDS + seconds_for_all - seconds_for_end))
  [[ "$list" == 1 ]] && return 0
  rm -rf "$out/logs" && mkdir -p "$out/logs"
  trap 'end_early INT' INT
  trap 'end_early TERM' TERM
  check_tools
  head -c "$reserved_bytes" /dev/zero >"$out/.reserved" 2>/dev/null && return 0
  rm -f "$out/.reserved"
  any_failed=1
  note space failed 0 "less than $reserved_bytes bytes are free in $out: logs and the archive may be missing"
}

check_tools() {
  local tool missing=()
  for tool in awk gzip grep python3 sed sha256sum tar timeout; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [[ "${#missing[@]}" == 0 ]] && return 0
  any_failed=1
  note tools failed 0 "not installed: ${missing[*]}; steps that need them fail"
}

is_full() {
  local full=1
  head -c 4096 /dev/zero 2>/dev/null >"$out/.probe" || full=0
  rm -f "$out/.probe"
  return "$full"
}

# Whoever stops the script has the table and the archive of what there is.
end_early() { # signal
  stop_rest
  any_failed=1
  note stopped failed 0 "the script got SIG$1; the other steps did not run"
  table
  exit 1
}

# What is left of a step, such as ranks that ignore SIGTERM, would take the GPU from the next one.
stop_rest() {
  [[ -z "$running" ]] || kill -KILL -- "-$running" 2>/dev/null
  running=''
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
  grep -v -e '^[[:space:]#]*$' -e '^# Collective test concluded' -e '^# error: WEIR_' -e '^environment: line ' "$1" | tail -n 1 | tr -cd '[:print:]' |
    sed -e 's/^skipped: //' -e 's/^[# ]*//' -e 's/  */ /g' | cut -c 1-150
}

# Runs a command in a process group of its own for at most so many seconds. Only its output goes to the log, not that of
# a trap that comes meanwhile.
limited() { # log, seconds, command...
  timeout -k 5 "${@:2}" </dev/null >"$1" 2>&1 &
  running=$!
  wait "$running"
  local code=$?
  stop_rest
  return "$code"
}

# step NAME SECONDS COMMAND...: runs it, at most that long and at most as long as is left for all. Its output goes to
# $OUT/logs/NAME.log. 77: skipped, with the last line as the reason.
step() {
  local name="$1" limit="$2" begin="$SECONDS" code log left took said
  shift 2
  [[ "$name" =~ $only ]] || return 0
  [[ "$list" == 1 ]] && { echo "$name, at most $limit s"; return 0; }
  left=$((deadline - SECONDS))
  [[ "$left" -lt 3 ]] && { note "$name" skipped 0 "no time is left of $seconds_for_all s"; return 0; }
  [[ "$limit" -gt "${ACCEPT_STEP_SECONDS:-$limit}" ]] && limit="$ACCEPT_STEP_SECONDS"
  log="$out/logs/$name.log"
  if [[ "$(type -t "$1")" == function ]]; then
    "$@" >"$log" 2>&1 </dev/null
  else
    limited "$log" "$((limit < left ? limit : left))" "$@"
  fi
  code=$? took=$((SECONDS - begin))
  said="$(reason_in "$log" 2>/dev/null)"
  is_full && said="$out is full: $said"
  case "$code" in
    0) note "$name" passed "$took" "$said" ;;
    77) note "$name" skipped "$took" "$said" ;;
    124 | 137)
      if [[ "$took" -lt "$limit" && "$took" -lt "$left" ]]; then
        note "$name" failed "$took" "killed (SIGKILL), as Linux does where memory runs out: $said"
      elif [[ "$left" -lt "$limit" ]]; then
        note "$name" skipped "$took" "stopped after $took of at most $limit s, as no time is left of $seconds_for_all s: $said"
        return 0
      else
        note "$name" failed "$took" "not done within $limit s: $said"
      fi ;;
    *) note "$name" failed "$took" "$said (exit code $code)" ;;
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
  rm -f "$out/.reserved"
  {
    echo
    printf '| %-28s | %-7s | %4s | %s\n' step result s 'what it says'
    for i in "${!step_names[@]}"; do
      printf '| %-28s | %-7s | %4s | %s\n' "${step_names[i]}" "${step_words[i]}" "${step_seconds[i]}" "${step_reasons[i]}"
      case "${step_words[i]}" in passed) passed=$((passed + 1)) ;; failed) failed=$((failed + 1)) ;; *) skipped=$((skipped + 1)) ;; esac
    done
    echo "$passed passed, $failed failed, $skipped skipped, in $SECONDS s"
  } | tee "$out/table.txt"
  archive
  [[ "$any_failed" == 0 ]]
}

# All of $OUT in one file in it, or in another folder if there is no room.
archive() {
  local folder="$out" other said
  for other in "${TMPDIR:-/tmp}" ''; do
    said="$(tar -C "$out" --exclude=./accept.tgz --warning=no-file-changed -czf "$folder/accept.tgz" . 2>&1)"
    # 1: a file was changed meanwhile, such as the archive's own folder.
    [[ $? -le 1 ]] && { echo "all results are in $folder/accept.tgz"; return 0; }
    rm -f "$folder/accept.tgz"
    echo "accept.sh: $folder/accept.tgz could not be written: $(grep -m1 . <<<"$said")" >&2
    [[ -n "$other" ]] && folder="$(mktemp -d -p "$other")"
  done
}
