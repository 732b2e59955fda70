# What both arcs of the demonstration share. An arc says, before it includes this: title and options in its head comment; node, the node that
# fails; daemons, a function that says which of its scheduler's daemons has exited; services, those of a machine; stop_scheduler.
# shellcheck shell=bash disable=SC2034,SC2154
root=$PWD
once=0
case ${1:-} in
'') ;;
--once) once=1 ;;
-h | --help)
    sed -n '2,/^set -u/{/^#/s/^# \{0,1\}//p}' "demo/${0##*/}"
    exit 0
    ;;
*)
    echo "demo: \"$1\" is none of its options: demo/${0##*/} [--once], --help tells more" >&2
    exit 2
    ;;
esac
xid='NVRM: Xid (PCI:0000:b9:00): 79, pid=<unknown>, name=<unknown>, GPU has fallen off the bus.'
wait_s=${DEMO_WAIT_S:-120}

dir=${DEMO_DIR:-$(mktemp -d /tmp/holdfast-demo.XXXXXX)}
mkdir -p "$dir"
[ -z "$(ls -A "$dir")" ] || {
    echo "demo: $dir is not empty, and it would be removed at the end: name another DEMO_DIR" >&2
    exit 1
}
hpd_pid='' follow_pid=''

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

die() {
    printf 'demo: %s\n' "$*" >&2
    exit 1
}
# … where hpd may know more.
die_with_log() {
    [ ! -f "$dir/hpd.log" ] || { echo "demo: the end of hpd's log:" && tail -n 20 "$dir/hpd.log"; } >&2
    die "$@"
}

# The last line of the logs that tells of an error, or else the last line.
last_line() { # log...
    cat "$@" 2>/dev/null | grep -v '^[[:space:]]*$' | awk '/error|fatal|cannot|annot be/ { error = $0 } { last = $0 } END { print error != "" ? error : last }'
}

# Says which daemon has exited, with its last line: hpd, one of the scheduler, or a service of a machine that its supervisor has started
# twice in vain. False when all run.
daemon_exited() {
    local name machine service log
    if [ -n "$hpd_pid" ] && ! kill -0 "$hpd_pid" 2>/dev/null; then
        printf 'hpd exited: "%s"\n' "$(last_line "$dir/hpd.log")"
        return 0
    fi
    daemons && return 0
    for machine in "$dir"/instances/*/; do
        log=$machine/log/machine.log
        if [ -e "$machine/terminated.json" ] || [ ! -f "$log" ]; then continue; fi
        for service in $services; do
            [ "$(grep -c "its service $service ended" "$log")" -ge 2 ] || continue
            name=$(sed -nE 's/.*"node": *"([^"]*)".*/\1/p' "$machine/instance.json")
            printf '%s on %s exited: "%s"\n' "$service" "$name" "$(last_line "$machine/log/$service.log")"
            return 0
        done
    done
    return 1
}

cleanup() {
    trap - EXIT
    trap '' INT TERM PIPE # whoever read our output may be gone, and a second Ctrl-C must not leave half of it
    [ -z "$follow_pid" ] || kill "$follow_pid" 2>/dev/null
    say "Cleaning up"
    local machine pid
    # hpd first, so that it does not repair what we end; then every machine's supervisor, which ends all that runs on it.
    [ -z "$hpd_pid" ] || { kill "$hpd_pid" 2>/dev/null && wait "$hpd_pid" 2>/dev/null; }
    for machine in "$dir"/instances/*/machine.pid; do
        [ -f "$machine" ] || continue
        read -r pid _ <"$machine" && [ "$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -cF "${machine%/machine.pid}")" = 1 ] &&
            kill "$pid" 2>/dev/null
    done
    sleep 1
    stop_scheduler
    [ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
trap 'exit 141' PIPE

# Waits until a command succeeds. What is said when it never does (or how to find out: "@command"), command…
until_ok() {
    local what=$1 end=$((SECONDS + wait_s)) exited
    shift
    until "$@" >/dev/null 2>&1; do
        exited=$(daemon_exited) && die "$exited"
        if [ $SECONDS -ge $end ]; then
            [ "${what#@}" = "$what" ] || what=$(${what#@})
            die_with_log "Timed out after $wait_s s: $what"
        fi
        sleep 0.3
    done
}

start_hpd() { # port
    build/hpd --state-dir "$dir/state" --listen "127.0.0.1:$1" --config "$dir/hpd.yaml" >"$dir/hpd.log" 2>&1 &
    hpd_pid=$!
    until_ok "hpd does not listen" grep -q 'listening' "$dir/hpd.log"
}

# hpd, and the cluster of a file whose nodes number so many.
start_cluster() { # file nodes
    say "Starting hpd"
    start_hpd 0
    HPCTL_URL=$(grep -m1 -oE 'https?://[0-9.:]+' "$dir/hpd.log")
    HPCTL_TOKEN=$(cat "$dir/state/admin.token")
    export HPCTL_URL HPCTL_TOKEN
    PATH=$root/build:$PATH
    say "Creating the cluster: $2 instances, each an agent beside its ${services%% *}"
    hpctl cluster create -f "$1" || die "the cluster was refused"
    hpctl event list --follow -c demo &
    follow_pid=$!
    nodes=$2
    until_ok @in_service all_ready "$2"
}
in_service() { echo "$(count_ready) of $nodes nodes in service."; }

# For the person who plays: hpd is started again whenever it ends.
keep_hpd() {
    while :; do
        wait "$hpd_pid"
        say "hpd ended; starting it again"
        start_hpd "${HPCTL_URL##*:}"
    done
}

count_ready() { hpctl node list -c demo --state ready --health healthy -o json | grep -c '"name"'; }
all_ready() { [ "$(count_ready)" -eq "$1" ]; }
instance_of() { hpctl node describe "$1" -c demo -o json | sed -nE 's/^  "instanceId": "(.*)",?$/\1/p'; }
boot_of() { hpctl node describe "$1" -c demo -o json | sed -nE 's/^  "bootId": "(.*)",?$/\1/p'; }
# The newest finished repair of the node, as "kind state".
last_repair() {
    hpctl operation list -c demo --node "$node" --limit 1 -o json |
        sed -nE 's/^ +"(kind|state)": "(.*)",?$/\2/p' | head -n 2 | sort | tr '\n' ' '
}
repaired() { [ "$(last_repair)" = "$1 succeeded " ] && hpctl node list -c demo --state ready -o json | grep -q "\"name\": \"$node\""; }


break_gpu() {
    local kmsg
    kmsg=$dir/instances/$(instance_of "$node")/kmsg
    say "A GPU of $node falls off the bus: into its kernel log goes"
    printf '  %s\n\n' "$xid"
    printf '%s\n' "$xid" >>"$kmsg" || die "no kernel log $kmsg"
}
