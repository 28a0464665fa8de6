package io.github.kinesisspark

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import com.tngtech.archunit.core.domain.{AccessTarget, JavaAccess, JavaClass}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.http.async.SdkAsyncHttpClient

import io.github.kinesisspark.aws.AwsCall
import io.github.kinesisspark.config.CallRetries

/** Holds the rows of docs/reference/calls.md to the calls that the compiled connector makes. */
class CallsPageSpec extends AnyFunSpec with Matchers {
  import CallsPageSpec._

  describe("the page of calls") {
    it("has a row for each class that makes a call, and no other") {
      val rows = for {
        table <- CallsPage.tables; row <- table.rows; call <- row.calls; maker <- row.makers
      } yield s"$call by $maker"
      val made = for { (call, makers) <- callers.toSeq; maker <- makers } yield s"$call by $maker"
      withClue("calls without a row: ")(made.toSet -- rows shouldBe empty)
      withClue("rows without a call: ")(rows.toSet -- made shouldBe empty)
    }

    it("has each call that the connector knows") {
      CallsPage.tables.flatMap(_.rows).flatMap(_.calls).map(_.toString).toSet shouldBe known
    }
  }

  describe("the table of retries") {
    it("has each call that the connector knows") {
      CallRetries.retries.map(_.call) should contain theSameElementsAs known
    }
  }
}

private object CallsPageSpec {

  /** All calls of the code. */
  def known: Set[String] = ConnectorClasses.all.asScala
    .filter(c => c.isAssignableTo(classOf[AwsCall]) && c.getName.endsWith("$"))
    .map(_.getSimpleName.stripSuffix("$"))
    .toSet

  /** Classes that make calls for others, whose methods the page's rows are about. */
  val conduits: Set[String] = Set("StreamDirectory", "ConsumerDirectory", "KnownStreams", "ShardProbes", "ShardEnds")

  /** A method, or all methods of its name, in a class with its nested ones and its companion. */
  private final case class Place(of: String, method: String)

  /** The classes that make each call, by what the API calls it. */
  def callers: Map[String, Set[String]] =
    direct.groupMap(_._1)(_._2).map { case (call, places) => call -> beyondConduits(places.toSet).map(_.of) }

  @tailrec private def beyondConduits(places: Set[Place]): Set[Place] = {
    val through = places.filter(place => conduits(place.of))
    val more    = places ++ through.flatMap(accesses.getOrElse(_, Nil))
    if (more == places) places -- through else beyondConduits(more)
  }

  /** What calls a client of AWS. CloudWatch has none, and sends its one call by HTTP. */
  private def direct: Seq[(String, Place)] = compiled.flatMap { access =>
    val call =
      if (isClient(access.getTargetOwner) && !NoCalls(access.getName)) Some(access.getName.capitalize)
      else if (isByHand(access)) Some(AwsCall.PutMetricData.toString)
      else None
    call.map(_ -> placeOf(access.getOriginOwner, access.getOrigin.getName))
  }

  private def isClient(of: JavaClass) =
    of.getPackageName.startsWith("software.amazon.awssdk.services.") && of.getSimpleName.endsWith("AsyncClient")

  private val NoCalls = Set("builder", "create", "close", "serviceName", "serviceClientConfiguration")

  /** A client that wraps another one makes no call of its own. */
  private def isByHand(access: Compiled) =
    access.getTargetOwner.getName == HttpClient && access.getName == "execute" &&
      !access.getOriginOwner.getAllRawInterfaces.asScala.exists(_.getName == HttpClient)

  private val HttpClient = classOf[SdkAsyncHttpClient].getName

  private type Compiled = JavaAccess[? <: AccessTarget]

  private lazy val compiled: Seq[Compiled] = ConnectorClasses.all.asScala.toSeq.flatMap { c =>
    c.getMethodCallsFromSelf.asScala ++ c.getMethodReferencesFromSelf.asScala
  }

  /** The places that each is used from. */
  private lazy val accesses: Map[Place, Seq[Place]] = compiled.groupMap { access =>
    placeOf(access.getTargetOwner, access.getName)
  }(access => placeOf(access.getOriginOwner, access.getOrigin.getName))

  private def placeOf(in: JavaClass, method: String) =
    Place(in.getName.split('.').last.takeWhile(_ != '$'), method)
}
