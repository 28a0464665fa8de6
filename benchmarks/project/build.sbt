// The versions and options of the connector's build. This one needs no plug-in.
Compile / unmanagedSources ++= Seq("Options.scala", "Versions.scala").map(
  baseDirectory.value / ".." / ".." / "project" / _
)
