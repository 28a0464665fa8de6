package io.github.kinesisspark

import java.nio.file.{Files, Path}

private[kinesisspark] object Repository {

  /** The working tree. A test JVM starts in the folder of its module. */
  val root: Path =
    Iterator.iterate(Path.of("").toAbsolutePath)(_.getParent).find(f => Files.exists(f.resolve("docs/reference"))).get
}
