import Foundation
import Synchronization

/// A server that works on one request at a time, in the order in which they came, and finishes the work of callers that
/// have left. It works by the clock: a busy machine makes its answers late, but not fewer.
package final class SlowOrigin: Sendable {
  private final class Work: Sendable {
    let count = Atomic(0)
    private let seconds: Double
    /// When the work on all that has come is done.
    private let end = Mutex(ContinuousClock.now)
    private let isOver = Atomic(false)

    init(seconds: Double) { self.seconds = seconds }

    func doOne() {
      let due = end.withLock { end in
        end = max(end, .now) + .seconds(seconds)
        return end
      }
      while !isOver.load(ordering: .relaxed), .now < due { letPass(min(0.05, max(0, (due - .now) / .seconds(1)))) }
      count.add(1, ordering: .relaxed)
    }

    func stop() { isOver.store(true, ordering: .relaxed) }
  }

  private let server: ScriptedServer
  private let work: Work

  /// - Parameter seconds: The time that a request takes.
  package init(seconds: Double) throws {
    let work = Work(seconds: seconds)
    self.work = work
    server = try ScriptedServer(Script(.forever([.request, .call { work.doOne() }, .send(okResponse("x"))])))
  }

  deinit { work.stop() }

  package var port: Int { server.port }
  package var url: String { server.url }

  /// The requests that it has worked off, also for callers that had left.
  package var served: Int { work.count.load(ordering: .relaxed) }
}

/// Callers that come at a fixed rate, whatever becomes of the earlier ones.
package struct SteadyCallers {
  package struct Call: Sendable {
    /// Seconds from the begin of the run to the call, and seconds that the call took.
    package let began: Double
    package let took: Double
    package let ending: Ending
  }

  package enum Ending: Sendable, Hashable {
    case good
    case refused
    case failed
  }

  /// - Parameters:
  ///   - served: The requests that the origin has worked off. Called after `measured` seconds, and at the end.
  /// - Returns: The calls that began after `measured` seconds, and the requests that the origin worked off meanwhile.
  package static func run(
    perSecond: [(rate: Double, seconds: Double)], measuredFrom measured: Double, served: @escaping @Sendable () -> Int,
    _ call: @escaping @Sendable () async -> Ending
  ) async -> (calls: [Call], served: Int) {
    let begin = ContinuousClock.now
    @Sendable func now() -> Double { (ContinuousClock.now - begin) / .seconds(1) }
    var before: Int?
    return await withTaskGroup(of: Call.self) { group in
      var next = 0.0
      for (rate, seconds) in perSecond {
        let end = next + seconds
        while next < end {
          if before == nil, next >= measured { before = served() }
          try? await Task.sleep(until: begin + .seconds(next))
          group.addTask {
            let began = now()
            let ending = await call()
            return Call(began: began, took: now() - began, ending: ending)
          }
          next += 1 / rate
        }
      }
      let after = served()
      let calls = await group.reduce(into: [Call]()) { $0.append($1) }
      return (calls.filter { $0.began >= measured }, after - (before ?? after))
    }
  }
}
