package io.github.kinesisspark.testkit

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import software.amazon.awssdk.services.kinesis.model.KinesisException

import java.net.URI
import java.nio.file.Files
import java.util.concurrent.TimeUnit
import scala.concurrent.duration._
import scala.io.Source
import scala.jdk.CollectionConverters._

/** Runs the server in a separate process, and tests its command line. */
class MainSpec extends AnyFunSpec with Matchers {
  import Clients._

  it("the server process prints its address, serves its streams, and ends with its standard input") {
    val portFile = Files.createTempDirectory("testkit").resolve("port.json")
    val command  = Seq(
      s"${System.getProperty("java.home")}/bin/java",
      "-cp",
      System.getProperty("java.class.path"),
      "io.github.kinesisspark.testkit.Main",
      "--stream",
      "events:3",
      "--stream",
      "one",
      "--region",
      "eu-central-1",
      "--subscription-life",
      "5s",
      "--fault",
      """{"action":"ListStreams","effect":{"type":"httpStatus","status":502}}""",
      "--port-file",
      portFile.toString,
      "--exit-with-stdin",
      "--parent-pid-watch"
    )
    val process = new ProcessBuilder(command.asJava).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    try {
      val out  = Source.fromInputStream(process.getInputStream).getLines()
      val line = out.next()
      Files.readString(portFile) shouldBe line
      val facts = new ObjectMapper().readTree(line)
      facts.get("region").asText shouldBe "eu-central-1"
      val kinesis = client(URI.create(facts.get("endpoint").asText))
      kinesis.shards("events") should have size 3
      kinesis.shards("one") should have size 1
      (the[KinesisException] thrownBy await(kinesis.listStreams())).statusCode shouldBe 502
      kinesis.close()
      process.getOutputStream.close()
      out.hasNext shouldBe false
      process.waitFor() shouldBe 0
    } finally process.destroyForcibly()
  }

  it("a process ends though a server that it has started is not closed") {
    val command = Seq(
      s"${System.getProperty("java.home")}/bin/java",
      "-cp",
      System.getProperty("java.class.path"),
      "io.github.kinesisspark.testkit.UnclosedServer"
    )
    val process = new ProcessBuilder(command.asJava).inheritIO().start()
    try {
      process.waitFor(180, TimeUnit.SECONDS) shouldBe true
      process.exitValue shouldBe 0
    } finally process.destroyForcibly()
  }

  it("the server process ends with --parent-pid-watch also if its starter ended before the server was ready") {
    val directory = Files.createTempDirectory("testkit")
    val policy    = directory.resolve("policy")
    val portFile  = directory.resolve("port.json")
    new ProcessBuilder("mkfifo", policy.toString).start().waitFor() shouldBe 0
    // The server reads the policy when it starts, and the starter ends when it has been read.
    val starter = new ProcessBuilder(
      "sh",
      "-c",
      """"$@" >/dev/null 2>&1 & echo $!; echo "$POLICY" > "$FILE"""",
      "starter",
      s"${System.getProperty("java.home")}/bin/java",
      "-cp",
      System.getProperty("java.class.path"),
      "io.github.kinesisspark.testkit.Main",
      "--account",
      "111111111111:AKID:secret",
      "--user",
      s"111111111111:reader:AKIDU:secret:$policy",
      "--port-file",
      portFile.toString,
      "--parent-pid-watch"
    )
    starter.environment.put("POLICY", """{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}""")
    starter.environment.put("FILE", policy.toString)
    val pid    = Source.fromInputStream(starter.start().getInputStream).getLines().next().toLong
    val server = ProcessHandle.of(pid)
    try {
      server.ifPresent { process => process.onExit.get(180, TimeUnit.SECONDS); () }
      Files.exists(portFile) shouldBe true
    } finally server.ifPresent { process => process.destroyForcibly(); () }
  }

  it("--stream is parsed as name:shards") {
    Main.stream("a:4") shouldBe (("a", 4))
    Main.stream("a") shouldBe (("a", 1))
    Seq("a:0", "a:b", "a:1:2").foreach(text => an[IllegalArgumentException] should be thrownBy Main.stream(text))
  }

  it("durations are parsed with units, and fault rules as JSON") {
    Main.duration("5s") shouldBe 5.seconds
    Main.duration("250ms") shouldBe 250.millis
    Seq("5", "soon", "Inf").foreach(text => an[IllegalArgumentException] should be thrownBy Main.duration(text))
    Main.fault("""{"shard":"s","effect":{"type":"silence"}}""") shouldBe
      FaultRule(FaultEffect.Silence, shard = Some("s"))
    an[IllegalArgumentException] should be thrownBy Main.fault("""{"effect":{"type":"flood"}}""")
  }

  it("an account is read as id:accessKeyId:secret, and with a session token, which may have colons") {
    Main.account("111111111111:AKID:secret") shouldBe Account.of("111111111111", AccessKey("AKID", "secret"))
    Main.account("111111111111:ASID:secret:to:ken") shouldBe
      Account.of("111111111111", AccessKey("ASID", "secret", Some(SessionToken("to:ken"))))
    Seq("111111111111:AKID", "1:AKID:secret").foreach(text =>
      an[IllegalArgumentException] should be thrownBy Main.account(text)
    )
  }

  it("a user is read as id:name:accessKeyId:secret:file, and added to its account with the policy of the file") {
    val file = Files.writeString(Files.createTempFile("policy-", ".json"), "{}")
    val one  = Account.of("111111111111", AccessKey("AKID", "secret"))
    val user = Principal("arn:aws:iam::111111111111:user/reader", Seq(AccessKey("AKIDU", "s")), Some("{}"))
    Main.withUsers(Seq(one), Seq(s"111111111111:reader:AKIDU:s:$file")) shouldBe
      Seq(one.copy(principals = one.principals :+ user))
    for (text <- Seq(s"222222222222:reader:AKIDU:s:$file", "111111111111:reader:AKIDU:s"))
      an[IllegalArgumentException] should be thrownBy Main.withUsers(Seq(one), Seq(text))
  }
}

/** A program that leaves its server open, after an answer: connections have their timeouts from a thread of the server. */
object UnclosedServer extends App {
  KinesisServer.start().endpoint.toURL.openConnection().getHeaderField(0)
}
