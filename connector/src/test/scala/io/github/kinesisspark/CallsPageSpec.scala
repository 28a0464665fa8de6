package io.github.kinesisspark

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import com.tngtech.archunit.core.domain.{JavaAccess, JavaClass}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.AwsCall

/** Holds the rows of docs/reference/calls.md to the calls that the compiled connector makes. */
class CallsPageSpec extends AnyFunSpec with Matchers {
  import CallsPageSpec._

  describe("the page of calls") {
    it("has a row for each class that makes a call, and no other") {
      val rows = for { table <- CallsPage.tables; row <- table.rows; call <- row.calls; maker <- row.makers } yield call -> maker
      val made = callers.toSeq.flatMap { case (call, classes) => classes.map(call -> _) }
      rows.map { case (call, maker) => s"$call by $maker" }.distinct.sorted shouldBe
        made.map { case (call, maker) => s"$call by $maker" }.sorted
    }

    it("has each call that the connector knows") {
      val known = ConnectorClasses.all.asScala.filter(c => c.isAssignableTo(classOf[AwsCall]) && c.getName.endsWith("$"))
      CallsPage.tables.flatMap(_.rows).flatMap(_.calls).map(_.getClass.getName).toSet shouldBe known.map(_.getName).toSet
    }
  }
}

private object CallsPageSpec {

  /** Classes that make calls for others, whose methods the page's rows are about. */
  val conduits: Set[String] = Set("StreamDirectory", "ConsumerDirectory", "KnownStreams", "ShardPeeks", "ShardEnds")

  /** A method, or all methods of its name, in a class with its nested ones and its companion. */
  private final case class Place(of: String, method: String)

  private final case class Access(from: Place, to: Place)

  /** The classes that make each call, by what the API calls it. */
  def callers: Map[String, Set[String]] =
    direct.groupMap(_._1)(_._2).map { case (call, places) => call -> makers(places.toSet, Set.empty) }

  @tailrec private def makers(places: Set[Place], made: Set[String]): Set[String] = {
    val (through, own) = places.partition(place => conduits(place.of))
    val known          = made ++ own.map(_.of)
    val callers        = accesses.filter(a => through(a.to)).map(_.from).toSet ++ through
    if (callers == through) known else makers(callers ++ through, known)
  }

  /** What calls a client of AWS. CloudWatch has none, and sends its one call by HTTP. */
  private def direct: Seq[(String, Place)] =
    for {
      access <- all
      call   <- Some(access.getTarget).collect {
        case of if isClient(of.getOwner) && !NoCalls(of.getName)                      => of.getName.capitalize
        case of if of.getOwner.getSimpleName == "SdkAsyncHttpClient" && isCall(access) => "PutMetricData"
      }
    } yield call -> placeOf(access.getOriginOwner, access.getOrigin.getName)

  private def isClient(of: JavaClass) =
    of.getPackageName.startsWith("software.amazon.awssdk.services.") && of.getSimpleName.endsWith("AsyncClient")

  private val NoCalls = Set("builder", "create", "close", "serviceName", "serviceClientConfiguration")

  /** A client that wraps another passes calls on. */
  private def isCall(access: JavaAccess[_]) =
    access.getName == "execute" && !access.getOriginOwner.getAllRawInterfaces.asScala.exists(_.getSimpleName == "SdkAsyncHttpClient")

  private lazy val all: Seq[JavaAccess[_]] = ConnectorClasses.all.asScala.toSeq.flatMap { c =>
    c.getMethodCallsFromSelf.asScala ++ c.getMethodReferencesFromSelf.asScala
  }

  private lazy val accesses: Seq[Access] = all.map { access =>
    Access(
      placeOf(access.getOriginOwner, access.getOrigin.getName),
      placeOf(access.getTargetOwner, access.getTarget.getName)
    )
  }

  private def placeOf(in: JavaClass, method: String) =
    Place(in.getName.split('.').last.takeWhile(_ != '$'), method)
}
