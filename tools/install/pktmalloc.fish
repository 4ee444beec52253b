# SPDX-License-Identifier: MIT
# fish completion of pktmalloc: by that of bash, which asks the command itself.

function __pktmalloc_complete
    set -l line (commandline -cp)
    bash --norc -c '. "$1" && _pktmalloc_words "$2"' bash @COMPLETION@ "$line" 2>/dev/null
end

complete -c pktmalloc -f -a '(__pktmalloc_complete)'
