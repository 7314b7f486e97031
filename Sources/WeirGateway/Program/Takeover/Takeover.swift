import Glibc
import Synchronization
import WeirIO
import WeirServer

/// Has a new process of the program's file take over. Its work is on the loop of signals.
final class Takeover: Sendable {
  /// Seconds after which a new process that has not said that it is ready is ended.
  private static let patience = 30.0

  private let loop: EventLoop
  private let log: Logger
  private let successor = Mutex<LoopBound<Successor>?>(nil)

  init(on loop: EventLoop, log: Logger) {
    self.loop = loop
    self.log = log
  }

  /// Starts the new process, with the arguments of this one. What comes of it becomes an event.
  func start(with listeners: [(address: SocketAddress, listener: Listener)], _ events: LifecycleEvents) {
    log.info("a new process is started to take over", [:])
    for (_, listener) in listeners { listener.handOver(true) }
    let items = listeners.map { HandedOver.Item(descriptor: $0.listener.descriptor, address: $0.address) }
    let note: @Sendable (Successor.Event) -> Void = { [log] event in
      switch event {
      case .ready: events.note(.successorReady)
      case .failed(let reason):
        for (_, listener) in listeners { listener.handOver(false) }
        log.error("the takeover failed; this process goes on", ["reason": .string(reason)])
        events.note(.successorFailed)
      }
    }
    loop.post { [self] in
      do {
        let made = try begin(items, note)
        successor.withLock { $0 = made }
      } catch {
        note(.failed("\(error)"))
      }
    }
  }

  private func begin(
    _ items: [HandedOver.Item], _ note: @escaping @Sendable (Successor.Event) -> Void
  ) throws -> LoopBound<Successor> {
    guard let file = ProgramFile.current() else { throw TakeoverProblem("there is no program at its path any more") }
    let process: SuccessorProcess
    do {
      process = try SuccessorProcess(
        file, arguments: CommandLine.arguments, environment: Self.environment, sockets: items)
    } catch {
      throw TakeoverProblem("\(file) can't be started: \(error)")
    }
    log.info("the new process runs", ["file": .string(file), "pid": .integer(Int(process.number))])
    return LoopBound(confining: Successor(process, within: Self.patience, on: loop, note), on: loop)
  }

  /// The variables of this process, each with its value.
  private static var environment: [String] {
    var variables: [String] = []
    var next = environ
    while let variable = next.pointee {
      variables.append(String(cString: variable))
      next += 1
    }
    return variables
  }

  /// Ends the new process. The listeners are this process's own again.
  func end(with listeners: [(address: SocketAddress, listener: Listener)]) async {
    await onLoop { $0.end() }
    for (_, listener) in listeners { listener.handOver(false) }
  }

  /// Has the new process begin, after `tell` was called with its number.
  func finish(_ tell: @escaping @Sendable (pid_t) -> Void) async {
    await onLoop { successor in
      tell(successor.process.number)
      successor.begin()
    }
  }

  private func onLoop(_ work: @escaping @Sendable (Successor) -> Void) async {
    await withCheckedContinuation { continuation in
      loop.post { [self] in
        // Taken here, since the job that makes it was posted before.
        let taken = successor.withLock { successor in
          defer { successor = nil }
          return successor
        }
        if let taken { work(taken.value) }
        continuation.resume()
      }
    }
  }
}

/// The reason why there is no new process.
private struct TakeoverProblem: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
