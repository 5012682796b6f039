# Sourced by ./quickstart and ./runtests: installs Debian packages by name.
# shellcheck shell=bash

# Names of a list file, without comments. "NAME optional": a release of Debian may not have it.
# packages_of LIST [optional]: all names, or only those
packages_of() {
	local name kind
	while read -r name kind; do
		case $name in '' | '#'*) continue ;; esac
		[ -n "${2:-}" ] && [ "$kind" != "$2" ] || printf '%s\n' "$name"
	done < "$1"
}

# packages_available NAME: whether apt can install it. If not, the index is fetched first, which a
# fresh container does not have.
packages_available() {
	local root_command
	packages_in_index "$1" && return 0
	root_command=$(packages_as_root) || return 1
	$root_command apt-get -q update < /dev/null > /dev/null 2>&1 || true
	packages_in_index "$1"
}

packages_in_index() {
	LC_ALL=C apt-cache policy "$1" 2> /dev/null | grep -q '^ *Candidate: [^(]'
}

# Which of the named packages are not installed.
packages_missing() {
	local name status
	for name in "$@"; do
		status=$(dpkg-query -W -f='${db:Status-Status}' "$name" 2> /dev/null) || status=
		[ "$status" = installed ] || printf '%s\n' "$name"
	done
}

# Print the command prefix that gives root rights, or fail.
packages_as_root() {
	if [ "$(id -u)" = 0 ]; then
		return 0
	fi
	if command -v sudo > /dev/null 2>&1; then
		echo sudo
		return 0
	fi
	return 1
}

# packages_install LIST...: install what is missing from the list files.
packages_install() {
	local -a wanted=() missing=() optional=() found=()
	local list root_command name
	if ! command -v dpkg-query > /dev/null 2>&1; then
		echo "this script needs a Debian system (dpkg-query is not there);" \
			"on another one install the build's libraries by hand and use meson" >&2
		return 1
	fi
	for list in "$@"; do
		mapfile -t -O "${#wanted[@]}" wanted <<< "$(packages_of "$list")"
		mapfile -t -O "${#optional[@]}" optional < <(packages_of "$list" optional)
	done
	mapfile -t missing < <(packages_missing "${wanted[@]}")
	for name in "${missing[@]}"; do
		if [[ " ${optional[*]} " = *" $name "* ]] && ! packages_available "$name"; then
			echo "this release of Debian has no package $name: tests that need it are skipped"
		else
			found+=("$name")
		fi
	done
	missing=("${found[@]}")
	[ ${#missing[@]} -gt 0 ] || return 0
	echo "installing Debian packages: ${missing[*]}"
	if ! root_command=$(packages_as_root); then
		echo "these packages are missing, and installing them needs root or sudo; as root run:" >&2
		echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
		return 1
	fi
	(packages_apt "$root_command" "${missing[@]}")
}

# packages_apt SUDO NAME...: install, in a subshell. Services of new packages are
# not started (policy-rc.d), so that no proxy stays on port 5060. The index is
# fetched only if the installation fails without it.
packages_apt() {
	local -a root=() apt
	local policy=/usr/sbin/policy-rc.d log
	[ -z "$1" ] || root=("$1")
	shift
	log=$(mktemp)
	# Names are expanded now: at the exit they are out of scope.
	# shellcheck disable=SC2064
	trap "rm -f '$log'" EXIT
	if [ ! -e "$policy" ]; then
		# shellcheck disable=SC2064
		trap "rm -f '$log'; ${root[*]} rm -f '$policy'" EXIT
		printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" > /dev/null
		"${root[@]}" chmod 755 "$policy"
	fi
	apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q
		-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
	if "${apt[@]}" install -y --no-install-recommends "$@" < /dev/null > "$log" 2>&1; then
		return 0
	fi
	"${apt[@]}" update < /dev/null >> "$log" 2>&1 || true
	if "${apt[@]}" install -y --no-install-recommends "$@" < /dev/null >> "$log" 2>&1; then
		return 0
	fi
	echo "apt-get could not install: $*; its last lines:" >&2
	tail -n 8 "$log" >&2
	echo "remedy: check the package sources and the network, then run apt-get update as root" >&2
	return 1
}
