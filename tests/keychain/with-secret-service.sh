#!/bin/sh
# with-secret-service.sh CMD...   Runs CMD on a separate session bus with its own home.
#
# SECRET_SERVICE selects the secret service on that bus:
#   unlocked (default)   gnome-keyring with an unlocked login keyring
#   no-collection        gnome-keyring that was never unlocked
#   none                 nothing
#   mute                 a service that takes the name and never responds
# BUS_SOCKET=PATH puts the bus there. Exit 70: the service did not start.
#
# Debian: dbus-daemon gnome-keyring libglib2.0-bin libsecret-tools libsecret-1-0 dbus-tests
set -eu
H=$(mktemp -d "${TMPDIR:-/tmp}/drawbridge-keyring-XXXXXX")
trap 'rm -rf "$H"' EXIT
unset DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS
export HOME="$H" XDG_DATA_HOME="$H/data" XDG_CONFIG_HOME="$H/config" XDG_CACHE_HOME="$H/cache" XDG_RUNTIME_DIR="$H/run"
mkdir -p "$H/run" "$H/data"
chmod 700 "$H/run"
SECRET_SERVICE=${SECRET_SERVICE:-unlocked}
export SECRET_SERVICE

# A bus without service activation: otherwise the name may be taken before the keyring starts.
cat >"$H/bus.conf" <<CONF
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=$H/run</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
CONF
if [ -n "${BUS_SOCKET:-}" ]; then
  sed -i "s|<listen>.*</listen>|<listen>unix:path=$BUS_SOCKET</listen>|" "$H/bus.conf"
fi

dbus-run-session --config-file="$H/bus.conf" -- sh -c '
  case "$SECRET_SERVICE" in
    unlocked) printf test-pass | gnome-keyring-daemon --unlock --components=secrets --daemonize >/dev/null 2>&1 ;;
    no-collection) gnome-keyring-daemon --start --components=secrets --daemonize >/dev/null 2>&1 </dev/null ;;
    mute) dbus-test-tool black-hole --name=org.freedesktop.secrets & ;;
  esac
  n=0
  until [ "$SECRET_SERVICE" = none ] || gdbus call --session --dest org.freedesktop.DBus \
    --object-path /org/freedesktop/DBus --method org.freedesktop.DBus.NameHasOwner org.freedesktop.secrets \
    2>/dev/null | grep -q true
  do
    n=$((n + 1))
    [ "$n" -gt 100 ] && exit 70
    sleep 0.05
  done
  "$@"
  status=$?
  kill $! 2>/dev/null
  exit $status' sh "$@"
