"""The reader of flight recordings that flame graphs are drawn from."""

from __future__ import annotations

import flame_graph

PRINTED = """
jdk.ExecutionSample {
  startTime = 05:50:01.000
  sampledThread = "aws-java-sdk-NettyEventLoop-0-1" (javaThreadId = 40)
  state = "STATE_RUNNABLE"
  stackTrace = [
    io.github.kinesisspark.read.reader.EventRecords.decode(byte[], int) line: 148
    io.github.kinesisspark.read.reader.EventRecords$.split(byte[]) line: 20
    io.github.kinesisspark.read.reader.EventMemoryGate$Passage.run() line: 90
    scala.Option.fold(Function0, Function1) line: 263
    software.amazon.awssdk.http.nio.netty.internal.nrs.HandlerPublisher.channelRead(Object) line: 40
    io.netty.channel.AbstractChannelHandlerContext.fireChannelRead(Object) line: 30
    io.netty.channel.nio.NioEventLoop.run() line: 20
    java.lang.Thread.run() line: 840
  ]
}

jdk.ExecutionSample {
  sampledThread = "main" (javaThreadId = 1)
  stackTrace = [
    java.util.HashMap.get(Object) line: 3
  ]
}
"""


def test_a_stack_has_a_method_of_each_class_and_library_that_it_goes_through() -> None:
    first, second = flame_graph.stacks(PRINTED.splitlines())
    assert [flame_graph.short(frame) for frame in first] == [
        "event loops",
        "NioEventLoop.run",
        "HandlerPublisher.channelRead",
        "EventMemoryGate$Passage.run",
        "EventRecords$.split",
        "EventRecords.decode",
    ]
    assert second == ["other threads", "java.util.HashMap.get"]


def test_a_box_counts_the_samples_of_what_it_calls() -> None:
    root = flame_graph.Box()
    for stack in (["a", "b"], ["a"], ["c"]):
        root.add(stack)
    assert (root.samples, root.calls["a"].samples, root.calls["a"].calls["b"].samples) == (3, 2, 1)


def test_boxes_that_are_too_narrow_are_not_drawn() -> None:
    root = flame_graph.Box()
    for _ in range(1000):
        root.add(["event loops", "often.called.Method.run"])
    root.add(["event loops", "hardly.called.Method.run"])
    drawn = {text.get_text() for axes in flame_graph.draw(root, "x").axes for text in axes.texts}
    assert drawn == {"event loops", "Method.run"}
