package io.github.kinesisspark.fuzz

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

/** `make vectors`: test vectors of other projects, which `fuzz/vectors.mjs` has fetched, go through the targets of fuzzing, each as an answer and
  * in place of each value of one.
  */
object Vectors {

  def main(args: Array[String]): Unit = {
    val directory = Paths.get(args(0))
    val results   =
      files(directory.resolve("cbor")).map(check(CborAnswers, CborAnswers.around)) ++
        files(directory.resolve("json")).map(check(JsonAnswers, JsonAnswers.around)) ++
        files(directory.resolve("frames")).map(check(Frames, frame => Cuts.map(_ +: frame)))
    val (passed, failed) = results.partition(identity)
    println(s"${passed.size} passed, ${failed.size} failed")
    sys.exit(if (passed.nonEmpty && failed.isEmpty) 0 else 1)
  }

  /** Where frames are cut. */
  private val Cuts = Seq[Byte](0, 6, 16, 100)

  private def files(directory: Path): Vector[Path] = {
    val all = Files.walk(directory)
    try all.iterator.asScala.filter(Files.isRegularFile(_)).toVector.sorted
    finally all.close()
  }

  private def check(target: Target, inputs: Array[Byte] => Seq[Array[Byte]])(vector: Path): Boolean =
    Try(inputs(Files.readAllBytes(vector)).foreach(target.check)) match {
      case Success(_) => true
      case Failure(e) =>
        println(s"${target.name}, ${vector.getFileName}: ${e.getMessage}")
        false
    }
}
