import Testing

@testable import Weir

@Suite("§8.4 StreamDelivery")
struct StreamDeliveryTests {
  private typealias Delivery = StreamDelivery<String, String>

  /// One with so many handlers; those in `read` keep their values for a reader.
  private func delivery(_ count: Int, read: Set<Int> = []) -> Delivery {
    var delivery = Delivery()
    for index in 0..<count { #expect(delivery.addHandler(isRead: read.contains(index)) == index) }
    #expect(delivery.responseBegins() == false)
    return delivery
  }

  /// A chunk that is serialized at once; returns whose turn is due.
  @discardableResult
  private func arrive(_ chunk: String, _ size: Int = 1, in delivery: inout Delivery) throws -> [Int] {
    let optionalWork = delivery.arrived(chunk, size: size)
    let work = try #require(optionalWork)
    return delivery.serialized((0..<work.handlers).map { "\(chunk)\($0)" }, work.number).due
  }

  @Test("Each handler gets each chunk, one call at a time, in order")
  func order() throws {
    var delivery = delivery(2)
    #expect(try arrive("a", in: &delivery) == [0, 1])
    #expect(try arrive("b", in: &delivery) == [])
    #expect(delivery.begin(0)?.value == "a0")
    #expect(delivery.returned(0) == .schedule)
    #expect(delivery.begin(0)?.value == "b0")
    #expect(delivery.returned(0) == [])
    #expect(try arrive("c", in: &delivery) == [0])
    #expect(delivery.begin(1)?.value == "a1")
    #expect(delivery.owed == 4)
    #expect(delivery.calls == 1)
  }

  @Test("Without a handler, nothing is kept")
  func noHandler() {
    var delivery = Delivery()
    #expect(!delivery.hasHandlers)
    #expect(delivery.arrived("a", size: 10) == nil)
    #expect(delivery.undelivered == 0)
    #expect(delivery.mayEnd() == (true, []))
  }

  @Test("A chunk waits behind one that is being serialized, and goes to the handlers there were when it came")
  func serialization() throws {
    var delivery = delivery(1)
    let optionalFirst = delivery.arrived("a", size: 1)
    let first = try #require(optionalFirst)
    #expect(delivery.arrived("b", size: 1) == nil)
    #expect(delivery.addHandler() == 1)
    #expect(delivery.arrived("c", size: 1) == nil)
    var step = delivery.serialized(["a0"], first.number)
    #expect(step.due == [0])
    let second = try #require(step.next)
    #expect((second.chunk, second.handlers) == ("b", 1))
    step = delivery.serialized(["b0"], second.number)
    #expect(step.due == [])
    let third = try #require(step.next)
    #expect((third.chunk, third.handlers) == ("c", 2))
    #expect(delivery.serialized(["c0", "c1"], third.number).due == [1])
    // An answer that comes twice is of no interest.
    #expect(delivery.serialized(["x", "x"], third.number).due == [])
    #expect(delivery.owed == 4)
  }

  @Test("Reading waits at the mark and goes on below half, when the slowest handler has had the chunk")
  func backPressure() throws {
    var delivery = delivery(2)
    let size = Delivery.mark / 4
    for index in 0..<4 {
      try arrive("\(index)", size, in: &delivery)
      #expect(delivery.mustPause() == (index == 3))
    }
    #expect(delivery.undelivered == Delivery.mark)
    for _ in 0..<4 {
      _ = delivery.begin(0)
      #expect(!delivery.returned(0).contains(.goOn))
    }
    #expect(delivery.undelivered == Delivery.mark)
    for index in 0..<4 {
      _ = delivery.begin(1)
      // Below half of the limit, once.
      #expect(delivery.returned(1).contains(.goOn) == (index == 1))
    }
    #expect(delivery.undelivered == 0)
  }

  @Test("More of the same read, come below the mark while reading waits, does not make it wait for ever")
  func anotherSlice() throws {
    var delivery = delivery(1)
    for index in 0..<3 { try arrive("\(index)", Delivery.mark / 3, in: &delivery) }
    #expect(delivery.mustPause() == true)
    _ = delivery.begin(0)
    #expect(delivery.returned(0) == .schedule)
    try arrive("3", Delivery.smallest, in: &delivery)
    #expect(delivery.undelivered < Delivery.mark)
    #expect(delivery.mustPause() == true)
    _ = delivery.begin(0)
    #expect(delivery.returned(0) == [.schedule, .goOn])
    #expect(delivery.mustPause() == false)
  }

  @Test("Another response begins without the pause of the one before")
  func pauseIsTheAttempts() throws {
    var delivery = delivery(1)
    try arrive("x", Delivery.mark, in: &delivery)
    #expect(delivery.mustPause() == true)
    _ = delivery.drop()
    #expect(delivery.responseBegins() == false)
    #expect(delivery.mustPause() == false)
  }

  @Test("Small chunks count for more than their bytes")
  func smallChunks() throws {
    var delivery = delivery(1)
    var count = 0
    repeat {
      try arrive("x", 1, in: &delivery)
      count += 1
    } while !delivery.mustPause()
    #expect(count == Delivery.mark / Delivery.smallest)
  }

  @Test("What a reader has not taken is undelivered, but its call is not owed")
  func reader() throws {
    var delivery = delivery(1, read: [0])
    for _ in 0..<2 { try arrive("x", Delivery.mark / 2, in: &delivery) }
    #expect(delivery.mustPause() == true)
    for _ in 0..<2 {
      _ = delivery.begin(0)
      #expect(!delivery.returned(0).contains(.goOn))
    }
    #expect(delivery.owed == 0)
    #expect(delivery.undelivered == Delivery.mark)
    #expect(delivery.taken(0) == .goOn)
    #expect(delivery.taken(0) == [])
    #expect(delivery.taken(0) == [])
    #expect(delivery.undelivered == 0)
  }

  @Test("A reader may be quicker than the call that gives it the value")
  func quickReader() throws {
    var delivery = delivery(1, read: [0])
    try arrive("x", 5_000, in: &delivery)
    _ = delivery.begin(0)
    #expect(delivery.taken(0) == [])
    #expect(delivery.returned(0) == [])
    #expect(delivery.undelivered == 0)
  }

  @Test("A reader that is gone holds nothing up")
  func closedReader() throws {
    var delivery = delivery(2, read: [0])
    for _ in 0..<2 { try arrive("x", Delivery.mark / 2, in: &delivery) }
    #expect(delivery.mustPause() == true)
    _ = delivery.begin(0)
    _ = delivery.returned(0)
    for _ in 0..<2 {
      _ = delivery.begin(1)
      _ = delivery.returned(1)
    }
    #expect(delivery.close(0) == .goOn)
    #expect(try arrive("y", in: &delivery) == [1])
    _ = delivery.begin(0)
    _ = delivery.returned(0)
    _ = delivery.begin(1)
    _ = delivery.returned(1)
    #expect(delivery.undelivered == 0)
    #expect(delivery.owed == 0)
  }

  @Test("An attempt ends when no call is owed")
  func end() throws {
    var delivery = delivery(1)
    try arrive("a", in: &delivery)
    try arrive("b", in: &delivery)
    #expect(delivery.mayEnd() == (false, []))
    _ = delivery.begin(0)
    #expect(delivery.returned(0) == .schedule)
    _ = delivery.begin(0)
    #expect(delivery.returned(0) == .goOn)
    #expect(delivery.mayEnd() == (true, []))
  }

  @Test("An attempt does not wait for readers at its end, though reading did")
  func endWithReader() throws {
    var delivery = delivery(1, read: [0])
    try arrive("x", Delivery.mark, in: &delivery)
    _ = delivery.begin(0)
    _ = delivery.returned(0)
    #expect(delivery.mustPause() == true)
    #expect(delivery.mayEnd() == (true, .goOn))
    #expect(delivery.mayEnd() == (true, []))
    // The next attempt waits for them again.
    #expect(delivery.responseBegins() == true)
    #expect(delivery.taken(0) == .goOn)
  }

  @Test("After a failure nothing of its attempt is delivered, and the attempt waits to hear of it")
  func failure() throws {
    var delivery = delivery(2)
    try arrive("a", in: &delivery)
    try arrive("b", in: &delivery)
    let optionalCall = delivery.begin(0)
    let call = try #require(optionalCall)
    #expect(delivery.failed(call.number)?.map(\.value) == ["b0", "a1", "b1"])
    #expect(delivery.failed(call.number) == nil)
    #expect(delivery.arrived("c", size: 1) == nil)
    #expect(delivery.returned(0) == [])
    #expect(delivery.mayEnd() == (false, []))
    #expect(delivery.begin(1) == nil)
    delivery.attemptIsOver()
    #expect(delivery.responseBegins() == false)
    #expect(try arrive("d", in: &delivery) == [0, 1])
    // What fails of an earlier attempt does not concern this one.
    #expect(delivery.failed(call.number) == nil)
  }

  @Test("Settling drops what waits; completions wait for the call under way")
  func settling() throws {
    var delivery = delivery(2)
    try arrive("a", in: &delivery)
    try arrive("b", in: &delivery)
    let optionalWork = delivery.arrived("c", size: 1)
    let work = try #require(optionalWork)
    #expect(delivery.arrived("d", size: 1) == nil)
    _ = delivery.begin(0)
    #expect(delivery.settle().map(\.value) == ["b0", "a1", "b1"])
    #expect(!delivery.isWanted(work.number))
    #expect(delivery.serialized([], work.number).next == nil)
    #expect(delivery.addHandler() == nil)
    #expect(delivery.begin(1) == nil)
    #expect(delivery.calls == 1)
    #expect(delivery.returned(0) == .complete)
    #expect((delivery.undelivered, delivery.owed, delivery.calls) == (0, 0, 0))
  }
}
