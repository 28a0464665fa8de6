package io.github.kinesisspark.aws

import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermissions
import java.time.Instant

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.awscore.exception.{AwsErrorDetails, AwsServiceException}

import io.github.kinesisspark.HeldMonitors

/** A login's file and its renewal, with a driven clock and a service of the test's. */
final class LoginSpec extends AnyFunSpec with Matchers {
  private val start = Instant.parse("2026-01-31T08:00:00Z")

  private final class Trial(canRenew: Boolean = true) {
    var now: Instant                = start
    var asked: Seq[String]          = Nil
    var answer: () => ujson.Obj     = () => throw new IllegalStateException("no answer")
    val directory: Path             = Files.createTempDirectory("login-")
    val file: LoginFile             = new LoginFile(directory.resolve("login.json"))
    val login: Login                = newLogin()
    def token: String               = login.current()("token").str
    def failure: KinesisException   = intercept[KinesisException](login.current())
    def has(value: ujson.Obj): Unit = file.write(value)

    /** Not even root can make a file in what is no directory any more. */
    def answerUnkept(login: ujson.Obj): Unit = answer = () => {
      Files.delete(file.path)
      Files.delete(directory)
      login
    }

    def newLogin(): Login = new Login(
      "dev",
      "aws sso login",
      AwsCall.CreateToken,
      file,
      kept => Login.timeOf(kept("expiresAt").str),
      kept => if (canRenew) Some { () => asked :+= kept("token").str; answer() } else None,
      () => now
    )
  }

  private def kept(token: String, minutes: Long, more: (String, ujson.Value)*): ujson.Obj = {
    val login = ujson.Obj("token" -> token, "expiresAt" -> start.plusSeconds(60 * minutes).toString)
    more.foreach { case (name, value) => login(name) = value }
    login
  }

  private def refusal(status: Int, code: String = "InvalidGrantException"): AwsServiceException =
    AwsServiceException
      .builder()
      .statusCode(status)
      .awsErrorDetails(
        AwsErrorDetails.builder().errorCode(code).errorMessage("no more").serviceName("SsoOidc").build()
      )
      .build()

  describe("a login") {
    it("is used as it is until five minutes before it expires, and is then renewed and kept in its file") {
      val trial = new Trial
      trial.has(kept("one", minutes = 60, "other" -> "field"))
      trial.now = start.plusSeconds(55 * 60 - 1)
      trial.token shouldBe "one"
      trial.asked shouldBe empty
      trial.answer = () => kept("two", minutes = 120)
      trial.now = start.plusSeconds(55 * 60)
      Seq(trial.token, trial.token) shouldBe Seq("two", "two")
      trial.asked shouldBe Seq("one")
      trial.file.read().get("token").str shouldBe "two"
      PosixFilePermissions.toString(Files.getPosixFilePermissions(trial.file.path)) shouldBe "rw-------"
      Files.list(trial.directory).count() shouldBe 1
    }

    it("is renewed under the lock of its file alone, for which other clients of the same login wait") {
      val trial    = new Trial
      var monitors = Seq.empty[String]
      trial.has(kept("one", minutes = 4))
      trial.answer = () => {
        monitors = HeldMonitors.here
        kept("two", minutes = 120)
      }
      trial.token shouldBe "two"
      monitors shouldBe Seq("io.github.kinesisspark.aws.LoginFile$Shared")
    }

    it("that somebody else has renewed is read again, without a call") {
      val trial = new Trial
      trial.has(kept("one", minutes = 60))
      trial.token shouldBe "one"
      trial.now = start.plusSeconds(3600)
      trial.has(kept("theirs", minutes = 120))
      trial.token shouldBe "theirs"
      trial.asked shouldBe empty
    }

    it("that somebody else renews at the same time with the same token is taken from the file") {
      val trial = new Trial
      trial.has(kept("one", minutes = 3))
      trial.answer = () => { trial.has(kept("theirs", minutes = 120)); throw refusal(400) }
      trial.token shouldBe "theirs"
    }

    it("that could not be kept in its file is known to all clients of this JVM") {
      val trial = new Trial
      trial.has(kept("one", minutes = 3))
      trial.answerUnkept(kept("two", minutes = 60))
      trial.token shouldBe "two"
      trial.newLogin().current()("token").str shouldBe "two"
      trial.asked shouldBe Seq("one")
    }

    it("is renewed in memory where its file can't be written") {
      val trial = new Trial
      trial.has(kept("one", minutes = 3))
      trial.answerUnkept(kept("two", minutes = 60))
      Seq(trial.token, trial.token) shouldBe Seq("two", "two")
      trial.asked shouldBe Seq("one")
    }

    it("that can't be renewed now is used until it expires") {
      val trial = new Trial
      trial.has(kept("one", minutes = 3))
      for (problem <- Seq(refusal(503), refusal(429), refusal(400, "SlowDownException"), refusal(401))) {
        trial.answer = () => throw problem
        trial.token shouldBe "one"
      }
      trial.asked should have size 4
    }

    it("that has expired fails with the service's failure while that may pass") {
      val trial = new Trial
      trial.has(kept("one", minutes = 0))
      trial.answer = () => throw refusal(503)
      intercept[AwsServiceException](trial.login.current()).statusCode shouldBe 503
    }
  }

  describe("KINESIS_LOGIN_REQUIRED") {
    it("names the profile, the reason and the command where the service refuses to renew an expired login") {
      for (status <- Seq(400, 401, 403)) {
        val trial = new Trial
        trial.has(kept("secret-one", minutes = -10))
        trial.answer = () => throw refusal(status)
        trial.failure.errorClass shouldBe "KINESIS_LOGIN_REQUIRED"
        trial.failure.getMessage should (include("Profile 'dev': its login expired at 2026-01-31T07:50:00Z") and
          include("InvalidGrantException") and include("aws sso login --profile dev") and not include "secret-one")
      }
    }

    it("ends an expired login that has nothing to renew it with") {
      val trial = new Trial(canRenew = false)
      trial.has(kept("one", minutes = 4))
      trial.token shouldBe "one"
      trial.now = start.plusSeconds(240)
      trial.failure.errorClass shouldBe "KINESIS_LOGIN_REQUIRED"
    }

    it("is thrown for a file that is missing or damaged, without what the file has") {
      val trial = new Trial
      trial.failure.getMessage should include(s"there is no login in ${trial.file.path}")
      for (
        damaged <- Seq("{\"token\": \"planted", "[]", "planted", "{\"token\": \"planted\", \"expiresAt\": \"soon\"}")
      ) {
        Files.writeString(trial.file.path, damaged)
        trial.failure.errorClass shouldBe "KINESIS_LOGIN_REQUIRED"
        trial.failure.toString should not include "planted"
      }
    }
  }

  describe("a login whose file can't be read") {
    it("fails as missing credentials, with the file's name") {
      val trial = new Trial
      Files.createDirectory(trial.file.path)
      val fault = FaultClassifier.classify(intercept[Exception](trial.login.current()))
      fault.kind.errorClass shouldBe "KINESIS_NO_CREDENTIALS"
      KinesisFault.describe(AwsCall.ListShards, "orders", fault) should include(s"${trial.file.path} can't be read")
    }
  }

  describe("a time in a login's file") {
    it("may have UTC in place of Z, as old versions of the command line write it") {
      Login.timeOf("2026-01-31T08:00:00UTC") shouldBe start
      Login.timeOf("2026-01-31T08:00:00Z") shouldBe start
    }
  }
}
