#!/bin/sh
# Run by tools/try-packages --from in a bare Debian: /old has packages of an earlier version, /new
# those of today. Neither version is asked for more than the earlier one can do.
set -u
# Before TLS was the default the controller served plain HTTP on loopback, and goes on so.
scheme=http
export OFFHOOK_URL="http://127.0.0.1:$PORT"
. /try-common.sh
tools_install curl python3

records() {
	python3 /try-records.py "$@"
}

check "install the earlier version" \
	apt-get -qy install --no-install-recommends /old/*.deb
if grep -qx 'tls = on' /etc/offhook/offhook-controller.conf; then
	scheme=https
	OFFHOOK_URL=https://127.0.0.1:$PORT
fi
old=$(offhook-controller --version)
echo "port = $PORT" >> /etc/offhook/offhook-controller.conf
echo "controller = \"$OFFHOOK_URL\"" >> /etc/offhook/offhook-agent.conf
OFFHOOK_KEY=$(runuser -u offhook-controller -- offhook-controller --create-key try 2> /dev/null |
	sed -n 's/.*"public_key": *"\([^"]*\)".*"secret": *"\([^"]*\)".*/\1:\2/p')
export OFFHOOK_KEY
check "its controller starts" controller_start
if [ "$scheme" = https ]; then
	OFFHOOK_FINGERPRINT=$(fingerprint)
	export OFFHOOK_FINGERPRINT
	echo "controller_fingerprint = \"$OFFHOOK_FINGERPRINT\"" >> /etc/offhook/offhook-agent.conf
fi
curl -fsSk -u "$OFFHOOK_KEY" -H 'Content-Type: application/json' -d '{"name": "Try"}' \
	"$OFFHOOK_URL/api/v2/agent-pools" > /tmp/pool
token=$(sed -n 's/.*"join_token": *"\([^"]*\)".*/\1/p' /tmp/pool)
pool=$(sed -n 's/.*"agent_pool":{"id":\([0-9]*\).*/\1/p' /tmp/pool)
echo "join_token = \"$token\"" >> /etc/offhook/offhook-agent.conf
check "its agent joins" agent_start
check "records of each kind are made" records make "$pool"
check "a call passes" call
check "they are written down" records save /tmp/before.json
check "there is a run with metrics" grep -q rtp_mos /tmp/before.json

check "upgrade" apt-get -qy install --no-install-recommends \
	-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold /new/*.deb
stop "$agent"
stop "$controller"
echo "$old -> $(offhook-controller --version)"
check "the controller starts with its data" controller_start
check "its database is sound" runuser -u offhook-controller -- offhook-controller check
check "no record and no figure is lost" records compare /tmp/before.json
check "the agent comes back without joining again" agent_start
check "a call passes after the upgrade" call
check "still nothing is lost" records compare /tmp/before.json
stop "$agent"
check "the agent ended well" test $? = 0
stop "$controller"
check "the controller ended well" test $? = 0
finish
