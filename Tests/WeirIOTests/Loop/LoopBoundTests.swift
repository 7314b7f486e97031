import Testing
import WeirIO

@Suite struct LoopBoundTests {
  @Test func valueIsForTheLoop() throws {
    let loop = try EventLoop(name: "test")
    let bound = LoopBound([1], on: loop)
    loop.sync { bound.value.append(2) }
    loop.sync { #expect(bound.value == [1, 2]) }
  }

  @Test func valueIsChangedInPlace() throws {
    let loop = try EventLoop(name: "test")
    let bound = LoopBound([Int](repeating: 0, count: 100), on: loop)
    loop.sync {
      let before = bound.value.withUnsafeBufferPointer(\.baseAddress)
      bound.value[0] = 1
      #expect(bound.value.withUnsafeBufferPointer(\.baseAddress) == before)
    }
  }

  @Test func valueEndsOnTheLoop() throws {
    let (loop, log, done) = (try EventLoop(name: "test"), Log(), Signal())
    do {
      _ = LoopBound(
        Ending { [unowned loop] in
          log.append("\(loop.isCurrent)")
          done.raise()
        }, on: loop)
    }
    #expect(done.wait())
    #expect(log.all == ["true"])
  }

  @Test func otherThreadsTrap() async {
    await #expect(processExitsWith: .failure) {
      let bound = LoopBound(1, on: try EventLoop(name: "test"))
      _ = bound.value
    }
  }
}

private final class Ending: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
  }

  deinit {
    body()
  }
}
