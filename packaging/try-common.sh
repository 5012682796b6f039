# Functions of packaging/try-packages.sh and try-upgrade.sh, in a bare Debian: PORT and SIP_PORT are
# free (the network is that of the machine), OFFHOOK_URL is the controller's.
# shellcheck shell=sh
passed=0 failed=0
# check NAME COMMAND...
check() {
	name=$1
	shift
	if "$@" > /tmp/said 2>&1; then
		passed=$((passed + 1))
		echo "passed: $name"
	else
		failed=$((failed + 1))
		echo "FAILED: $name"
		tail -n 20 /tmp/said
	fi
}

not() {
	! "$@"
}

# within SECONDS COMMAND...: until it succeeds
within() {
	left=$1
	shift
	until "$@"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 1
	done
}

finish() {
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
	exit
}

installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1")" = installed ]
}

owner() {
	[ "$(stat -c '%U:%G %a' "$1")" = "$2" ]
}

hint() {
	grep -q "$1" /tmp/installed
}

# as USER COMMAND...: in this process, so that signals and the exit status are the command's
as() {
	user=$1
	shift
	exec setpriv --reuid="$user" --regid="$user" --init-groups "$@"
}

controller_start() {
	as offhook-controller offhook-controller > /tmp/controller.log 2>&1 &
	controller=$!
	within 60 offhook_answers
}

# any answer of the controller, 401 too
offhook_answers() {
	curl -sk -o /dev/null "$OFFHOOK_URL/api/v2/projects"
}

# curl to the controller, known by its fingerprint
ask() {
	curl -fsSk --pinnedpubkey "$OFFHOOK_FINGERPRINT" -u "$OFFHOOK_KEY" "$@"
}

fingerprint() {
	offhook-controller fingerprint 2> /dev/null
}

agent_start() {
	as offhook-agent offhook-agent > /tmp/agent.log 2>&1 &
	agent=$!
	within 60 online
}

online() {
	offhook agent list | grep -q ' online'
}

stop() {
	kill "$1"
	wait "$1"
}

# offers CAPABILITY: the agent does
offers() {
	offhook agent list --json | grep -q "\"$1\""
}

call() {
	offhook answer --bind 127.0.0.1 --sip-port "$SIP_PORT" --user bob > /tmp/answer.log 2>&1 &
	answer=$!
	sleep 2
	offhook scenario run single-call-caller agentpool_id="$pool" target="sip:127.0.0.1:$SIP_PORT" \
		username=alice register=false dial_destination=bob duration=3 --wait
	status=$?
	kill "$answer" 2> /dev/null
	wait "$answer"
	return "$status"
}

runs() {
	ask "$OFFHOOK_URL/api/v2/runs" | sed -n 's/.*"total":\([0-9]*\).*/\1/p'
}

# tools_install PACKAGE...: what these scripts need themselves
tools_install() {
	apt-get -q update > /tmp/apt.log 2>&1
	apt-get -qy install --no-install-recommends "$@" > /tmp/apt.log 2>&1 || {
		tail -n 5 /tmp/apt.log
		echo "not installed: $*"
		finish
	}
}
