package io.github.kinesisspark

import java.lang.reflect.{Method, Modifier}
import java.nio.file.Files

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.StreamConsumer
import io.github.kinesisspark.config.OptionRegistry
import io.github.kinesisspark.position.{KinesisOffset, OffsetJson}
import io.github.kinesisspark.read.row.SourceSchema

/** Holds what programs of users are compiled against, or name, to the list in public-api.txt: until there is a release to compare with,
  * that list shows what a change breaks. What is new may be missing in it. `KINESIS_SPARK_WRITE_DOCS=1 ./sbt "connector/testOnly *PublicApiSpec"` writes it anew.
  */
class PublicApiSpec extends AnyFunSpec with Matchers {
  private val file = Repository.root.resolve("connector/src/test/resources/public-api.txt")

  private val classes = Seq[Class[_]](
    classOf[KinesisTableProvider],
    classOf[KinesisSparkTableProvider],
    StreamPositions.getClass,
    StreamShards.getClass,
    classOf[ShardView],
    classOf[StreamConsumers],
    classOf[StreamConsumer],
    classOf[KinesisOffset],
    OffsetJson.getClass
  )

  private def methods: Seq[String] = for {
    of     <- classes
    method <- of.getMethods.toSeq.filter(isOurs).map(signature).distinct.sorted
  } yield s"method ${of.getName.stripSuffix("$")}.$method"

  /** What the compiler adds for other compiled code differs from version to version of Scala. */
  private def isOurs(method: Method): Boolean =
    method.getDeclaringClass.getName.startsWith("io.github.kinesisspark") && Modifier.isPublic(method.getModifiers) &&
      !method.isSynthetic && !method.isBridge && !method.getName.contains("$anon") &&
      !Made.exists(method.getName.startsWith)

  /** By the compiler, for case classes: they change with each field that is added. */
  private val Made =
    Seq("writeReplace", "canEqual", "product", "hashCode", "equals", "copy", "apply", "unapply", "tupled", "curried")

  private def signature(method: Method): String =
    s"${method.getName}(${method.getParameterTypes.map(_.getName).mkString(", ")}): ${method.getReturnType.getName}"

  private def list: Seq[String] =
    OptionRegistry.all
      .map(o => s"option ${o.name} ${o.kind.name} ${o.default.getOrElse("-")} ${o.scope.name}")
      .sorted ++
      SourceSchema.schema.fields.map(f => s"column ${f.name} ${f.dataType.simpleString}") ++
      ErrorCatalogueSpec.classes.map(name => s"error $name") ++
      methods

  describe("the public API") {
    it(
      "has all that public-api.txt lists: what is missing breaks programs, is written there anew and stands in CHANGELOG.md"
    ) {
      val text = list.mkString("", "\n", "\n")
      if (sys.env.get("KINESIS_SPARK_WRITE_DOCS").contains("1")) Files.writeString(file, text): Unit
      val known = Files.readString(file).linesIterator.toSeq
      known should not be empty
      known.filterNot(list.toSet) shouldBe empty
    }
  }
}
