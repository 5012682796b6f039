#!/bin/sh
# Run by tools/try-packages in a bare Debian: /old has the packages, /new those of a next version.
set -u
export OFFHOOK_URL="https://127.0.0.1:$PORT"
. /try-common.sh
tools_install curl

# ---- install
if ! apt-get -qy install --no-install-recommends /old/*.deb > /tmp/installed 2>&1; then
	tail -n 20 /tmp/installed
	check "install" false
	finish
fi
for package in offhook-controller offhook-agent offhook; do
	check "$package is installed" installed "$package"
done
for program in controller agent; do
	check "user offhook-$program" id "offhook-$program"
	check "folder of the $program's data" owner "/var/lib/offhook-$program" "offhook-$program:offhook-$program 700"
	check "unit of the $program is enabled" \
		test -e "/etc/systemd/system/multi-user.target.wants/offhook-$program.service"
	check "configuration of the $program is good" \
		runuser -u "offhook-$program" -- "offhook-$program" --check-config
done
check "the agent's configuration, which may have a token" owner /etc/offhook/offhook-agent.conf \
	"root:offhook-agent 640"
check "hint of the controller: address" hint https://127.0.0.1:8080/setup
check "hint of the controller: set-up code" hint /var/lib/offhook-controller/setup-code
check "hint of the controller: fingerprint" hint 'offhook-controller fingerprint'
check "hint of the agent" hint join_token
check "the controller comes up with TLS" grep -qx 'tls = on' /etc/offhook/offhook-controller.conf
check "no secret in the hints" not hint "$(cat /var/lib/offhook-controller/setup-code 2> /dev/null ||
	echo no-code-yet)"
dpkg-query -L offhook offhook-agent offhook-controller > /tmp/files
for file in man/man1/offhook.1.gz man/man1/offhook-records.1.gz man/man8/offhook-agent.8.gz \
	man/man8/offhook-controller.8.gz man/man5/offhook-tests.5.gz offhook/offhook.schema.json \
	offhook/monitoring/alerts.yml offhook/monitoring/grafana.json \
	doc/offhook/examples/ci/gitlab.yml bash-completion/completions/offhook; do
	check "$file" grep -qx "/usr/share/$file" /tmp/files
done

echo "port = $PORT" >> /etc/offhook/offhook-controller.conf
echo "controller = \"$OFFHOOK_URL\"" >> /etc/offhook/offhook-agent.conf

# ---- an agent that was not told its controller
runuser -u offhook-agent -- timeout 60 offhook-agent > /tmp/agent.log 2>&1
check "an agent without a token ends with status 3" test $? = 3
check "its log says why" grep -q join_token /tmp/agent.log

# baresip refuses loopback addresses, so with another one the reason is the missing program
printf 'bind = "192.0.2.1"\nstate_dir = "/tmp"\n' > /tmp/other.conf
runuser -u offhook-agent -- timeout 60 offhook-agent --config /tmp/other.conf > /tmp/agent.log 2>&1
check "without baresip-core the log says that the client is not offered, and why" \
	grep -q 'not offered: client baresip: .*install the package baresip-core' /tmp/agent.log

# ---- use
OFFHOOK_KEY=$(runuser -u offhook-controller -- offhook-controller --create-key try 2> /dev/null |
	sed -n 's/.*"public_key": *"\([^"]*\)".*"secret": *"\([^"]*\)".*/\1:\2/p')
export OFFHOOK_KEY
check "a key is made before the first start" test -n "$OFFHOOK_KEY"
check "the controller starts" controller_start
check "there is a set-up code" owner /var/lib/offhook-controller/setup-code \
	"offhook-controller:offhook-controller 600"
OFFHOOK_FINGERPRINT=$(fingerprint)
export OFFHOOK_FINGERPRINT
check "its certificate has a fingerprint" test -n "$OFFHOOK_FINGERPRINT"
check "the certificate is for the controller only" owner /var/lib/offhook-controller/tls.pem \
	"offhook-controller:offhook-controller 600"
ask --json '{"name": "Try"}' "$OFFHOOK_URL/api/v2/agent-pools" > /tmp/pool
token=$(sed -n 's/.*"join_token": *"\([^"]*\)".*/\1/p' /tmp/pool)
pool=$(sed -n 's/.*"agent_pool":{"id":\([0-9]*\).*/\1/p' /tmp/pool)
check "an agent pool with a token" test -n "$token"
printf 'join_token = "%s"\ncontroller_fingerprint = "%s"\n' "$token" "$OFFHOOK_FINGERPRINT" \
	>> /etc/offhook/offhook-agent.conf
check "the agent joins" agent_start
check "without baresip-core it does not offer that client" not offers client:baresip
check "it offers its own" offers client:native
check "a call passes" call
before=$(runs)
check "it is a run" test "$before" -ge 1

# ---- upgrade
check "upgrade" apt-get -qy install --no-install-recommends \
	-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold /new/*.deb
stop "$agent"
check "the agent ended well" test $? = 0
stop "$controller"
check "the controller ended well" test $? = 0
check "the new version is installed" grep -q '+next' /var/lib/dpkg/status
for program in controller agent; do
	check "the changed configuration of the $program is kept" \
		not grep -q '^# of the next version' "/etc/offhook/offhook-$program.conf"
	check "the new one of the $program is beside it" \
		grep -q '^# of the next version' "/etc/offhook/offhook-$program.conf.dpkg-dist"
done
check "owner and mode of the agent's configuration are kept" owner \
	/etc/offhook/offhook-agent.conf "root:offhook-agent 640"
check "the controller starts with its data" controller_start
check "its certificate is the same" test "$(fingerprint)" = "$OFFHOOK_FINGERPRINT"
check "no run is lost" test "$(runs)" = "$before"
check "the agent comes back without joining again" agent_start
check "a call passes after the upgrade" call
stop "$agent"
stop "$controller"

# ---- remove, install again, purge
check "remove" apt-get -qy remove offhook-controller offhook-agent offhook
check "programs are gone" not ls /usr/bin/offhook*
check "configurations stay" ls /etc/offhook/offhook-controller.conf /etc/offhook/offhook-agent.conf
check "data stays" ls /var/lib/offhook-controller/offhook.db /var/lib/offhook-agent/credentials
check "install again" apt-get -qy install --no-install-recommends /new/*.deb
check "the agent's configuration is still for the agent only" owner /etc/offhook/offhook-agent.conf \
	"root:offhook-agent 640"
check "the controller starts with the data of before" controller_start
check "no run is lost by removing" test "$(runs)" -gt "$before"
stop "$controller"
check "purge" apt-get -qy purge offhook-controller offhook-agent offhook
check "nothing is left" not ls -d /etc/offhook /var/lib/offhook* /usr/share/offhook \
	/etc/systemd/system/multi-user.target.wants/offhook*
finish
