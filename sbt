#!/usr/bin/env bash
# Starts sbt: the one on PATH, or else sbt's own launcher, fetched once through Maven. `./sbt -C benchmarks ...` is for the build in that directory.
# Dependencies come from Maven Central alone (project/repositories). Standard input is closed, because sbt reads it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^sbt.version=//p' "$here/project/build.properties")
options=(-Xmx3g -Xss4m -Dsbt.override.build.repos=true -Dsbt.repository.config="$here/project/repositories"
  # Not the user's own plug-ins, which project/plugins.sha256 doesn't have.
  -Dsbt.global.plugins="$here/.sbt/plugins"
  -Dsbt.ci=true -Dsbt.supershell=false -Dsbt.color=false
  # Half of the CPU of a first build would be the optimizing compiler's. Without it the JVM reserves too little room for code.
  -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m
  # Takes 7% less CPU for a first build than the default.
  -XX:+UseSerialGC)
directory=.
if [ "${1:-}" = -C ]; then
  directory=$2
  shift 2
fi
cd "$here/$directory"
if command -v sbt >/dev/null 2>&1; then
  exec sbt "${options[@]/#-X/-J-X}" "$@" </dev/null
fi
launcher="$here/.cache/sbt-launch-$version.jar"
if [ ! -f "$launcher" ]; then
  command -v mvn >/dev/null 2>&1 || { echo "sbt: neither sbt nor mvn is on PATH; install one of them" >&2; exit 1; }
  echo "sbt: fetching the sbt launcher $version through Maven" >&2
  mvn -q dependency:copy -Dartifact="org.scala-sbt:sbt-launch:$version" -DoutputDirectory="$here/.cache" >&2
fi
exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" "${options[@]}" ${SBT_OPTS:-} -jar "$launcher" "$@" </dev/null
