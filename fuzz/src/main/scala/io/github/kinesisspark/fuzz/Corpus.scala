package io.github.kinesisspark.fuzz

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

/** Inputs that are kept: those that once were findings, and those that between them reach all that a campaign has reached. */
object Corpus {

  /** The directory of a target; made if there is none. */
  def of(target: Target): Path = Files.createDirectories(root.resolve(target.name))

  /** By file name. */
  def inputs(target: Target): Vector[(String, Array[Byte])] = {
    val files = Files.list(of(target))
    try files.iterator.asScala.toVector.sorted.map(file => file.getFileName.toString -> Files.readAllBytes(file))
    finally files.close()
  }

  // sbt runs this module's programs and tests in its directory.
  private val root = Paths.get("corpus")
}
