# SPDX-License-Identifier: MIT
# bash completion of pktmalloc: subcommands, their options, then what each is about. What there is
# to complete is asked of the command itself (--help), so it never differs from it.

# "run", "doctor" ...
_pktmalloc_subcommands() {
  "$1" --help 2> /dev/null | sed -n '/^Subcommands:/,/^$/ s/^  \([a-z]*\) .*/\1/p'
}

# Of a subcommand: "--stats", "--age" ...
_pktmalloc_options() {
  "$@" --help 2> /dev/null | sed -nE 's/^  (-[a-z],)?(--[a-z-]+).*/\2/p'
}

# Those whose value is a word of its own: "--age TEXT", "-n,--rounds INT".
_pktmalloc_options_with_value() {
  "$@" --help 2> /dev/null | sed -nE 's/^  (-[a-z])?,?(--[a-z-]+) [A-Z]{2,}.*/\1 \2/p'
}

# Offers what compgen finds for the word.
_pktmalloc_offer() {
  local found
  mapfile -t found < <(compgen "${@:2}" -- "$1")
  COMPREPLY+=("${found[@]}")
}

_pktmalloc_offer_processes() {
  _pktmalloc_offer "$1" -W "$(ps -u "$UID" -o pid=)"
}

# The value of an option, begun with a word, of a subcommand.
_pktmalloc_offer_value() {
  case $1 in
    --background) _pktmalloc_offer "$2" -W 'auto 0 1' ;;
    --stacks) _pktmalloc_offer "$2" -W 'unwind frame_pointers' ;;
    --speed) _pktmalloc_offer "$2" -W 'full real' ;;
    --with) # names separated by commas
      local before=
      [[ $2 == *,* ]] && before=${2%,*},
      _pktmalloc_offer "$2" -W "$(printf " $before%s" glibc jemalloc mimalloc tcmalloc pktmalloc)"
      ;;
    --check) _pktmalloc_offer "$2" -W 'abort report' ;;
    --next)
      _pktmalloc_offer "$2" -W 'default mimalloc jemalloc tcmalloc'
      _pktmalloc_offer "$2" -f
      ;;
    -s | --sort)
      if [[ $3 == objects ]]; then
        _pktmalloc_offer "$2" -W 'bytes objects size type grown'
      else
        _pktmalloc_offer "$2" -W 'c l a f t d s m k p b u i'
      fi
      ;;
    --pid) _pktmalloc_offer_processes "$2" ;;
    -n | --rounds | --runs | --warmup | --rate | --depth | --top | --frames | -d | --delay | -b | --batch | --age | --interval | --diff | --pause | --leak-check) ;; # numbers
    *) _pktmalloc_offer "$2" -f ;;
  esac
}

_pktmalloc() {
  local command=${COMP_WORDS[0]} subcommand=${COMP_WORDS[1]}
  local word=${COMP_WORDS[COMP_CWORD]} i=2
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _pktmalloc_offer "$word" -W "$(_pktmalloc_subcommands "$command") help --help --version"
    return
  fi
  if [[ $subcommand == help ]]; then
    ((COMP_CWORD == 2)) && _pktmalloc_offer "$word" -W "$(_pktmalloc_subcommands "$command")"
    return
  fi
  if [[ $subcommand == report && $COMP_CWORD -ge 2 ]]; then # report profile is profile
    if ((COMP_CWORD == 2)); then
      _pktmalloc_offer "$word" -W profile
    elif [[ ${COMP_WORDS[2]} == profile ]]; then
      subcommand=profile
      i=3
    fi
  fi
  # To the first word that is no option, or the value of one, of those before the cursor.
  local with_value ended=no
  with_value=" $(_pktmalloc_options_with_value "$command" "$subcommand" | tr '\n' ' ')"
  while ((i < COMP_CWORD)) && [[ ${COMP_WORDS[i]} == -* ]]; do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      ended=yes
      ((++i))
      break
    elif [[ ${COMP_WORDS[i + 1]} == = ]]; then # --age=1s is three words here
      if ((i + 2 >= COMP_CWORD)); then
        _pktmalloc_offer_value "${COMP_WORDS[i]}" "${word#=}" "$subcommand"
        return
      fi
      ((i += 3))
    elif [[ $with_value == *" ${COMP_WORDS[i]} "* ]]; then
      if ((i + 1 == COMP_CWORD)); then
        _pktmalloc_offer_value "${COMP_WORDS[i]}" "$word" "$subcommand"
        return
      fi
      ((i += 2))
    else
      ((++i))
    fi
  done
  local of_user=no # the words of a command that is not ours
  [[ $subcommand == run || $subcommand == compare ]] && ((i < COMP_CWORD)) && of_user=yes
  if [[ $word == -* && $of_user == no && $ended == no ]]; then
    _pktmalloc_offer "$word" -W "$(_pktmalloc_options "$command" "$subcommand")"
    return
  fi
  case $subcommand in
    run | compare)
      if [[ $of_user == no ]]; then
        _pktmalloc_offer "$word" -c
      elif declare -F _command_offset > /dev/null; then
        _command_offset "$i"
      else
        _pktmalloc_offer "$word" -f
      fi
      ;;
    doctor)
      _pktmalloc_offer "$word" -c
      _pktmalloc_offer_processes "$word"
      ;;
    top) _pktmalloc_offer_processes "$word" ;;
    exporter) ;;
    tell)
      if ((i == COMP_CWORD)); then
        _pktmalloc_offer_processes "$word"
      elif ((i + 1 == COMP_CWORD)); then
        _pktmalloc_offer "$word" -W 'stats profile sizes trace trim'
      else
        [[ ${COMP_WORDS[i + 1]} =~ ^(profile|trace)$ ]] && _pktmalloc_offer "$word" -W 'start stop'
        _pktmalloc_offer "$word" -f
      fi
      ;;
    stat | objects | leaks)
      _pktmalloc_offer "$word" -f
      _pktmalloc_offer_processes "$word"
      ;;
    *) _pktmalloc_offer "$word" -f ;;
  esac
}

# For other shells: what would be offered for a line, a line each.
_pktmalloc_words() {
  read -ra COMP_WORDS <<< "$1"
  [[ $1 == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _pktmalloc
  printf '%s\n' "${COMPREPLY[@]}"
}

complete -o filenames -F _pktmalloc pktmalloc
