import Dispatch
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// The queues that a session's user code runs on.
@Suite("A session's queues", .timeLimit(.minutes(5)))
struct SessionQueueTests {
  private static let key = DispatchSpecificKey<String>()

  private static func queue(_ name: String) -> DispatchQueue {
    let queue = DispatchQueue(label: name, attributes: .concurrent)
    queue.setSpecific(key: key, value: name)
    return queue
  }

  /// Notes where its methods run, and whether two of them ever run at the same time.
  private final class Watch: RequestInterceptor {
    let places = Journal<String>()
    let running = Atomic(0)

    private func note(_ name: String) {
      let others = running.add(1, ordering: .acquiringAndReleasing).oldValue
      let place = DispatchQueue.getSpecific(key: SessionQueueTests.key) ?? "the loop"
      places.append("\(name) on \(place)\(others == 0 ? "" : " beside another")")
      running.subtract(1, ordering: .acquiringAndReleasing)
    }

    func adapt(
      _ urlRequest: URLRequest, for session: Session,
      completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
      note("adapter")
      completion(.success(urlRequest))
    }

    func retry(
      _ request: Request, for session: Session, dueTo error: any Error,
      completion: @escaping @Sendable (RetryResult) -> Void
    ) {
      note("retrier")
      completion(request.retryCount == 0 ? .retry : .doNotRetry)
    }
  }

  @Test("Adapters run where retriers do, one at a time, unless they have a queue of their own")
  func adaptersAndRetriers() async throws {
    let server = try answering(response("503 Busy"))
    let cases: [(root: String?, request: String?, adapter: String, retrier: String)] = [
      ("root", nil, "root", "root"), ("root", "request", "request", "root"), (nil, "request", "request", "the loop"),
      (nil, nil, "the loop", "the loop"),
    ]
    for (root, request, adapter, retrier) in cases {
      let watch = Watch()
      let session = Session(rootQueue: root.map(Self.queue), requestQueue: request.map(Self.queue), interceptor: watch)
      await withTaskGroup { group in
        for _ in 0..<20 { group.addTask { _ = await session.request(server.url).validate().plainResponse() } }
      }
      #expect(
        Set(watch.places.entries.map { $0.replacing(" beside another", with: "") }) == [
          "adapter on \(adapter)", "retrier on \(retrier)",
        ])
      #expect(watch.places.entries.count == 80)
      if adapter == retrier { #expect(!watch.places.entries.contains { $0.hasSuffix(" beside another") }) }
    }
  }

  @Test("Without a queue of their own, URL requests are built on the root queue, which is serial")
  func property() {
    let root = Self.queue("root")
    let session = Session(rootQueue: root)
    #expect(session.requestQueue === session.rootQueue)
    #expect(session.serializationQueue == nil)
    let own = Session(rootQueue: root, requestQueue: root)
    #expect(own.requestQueue === root)
    #expect(Session().requestQueue == nil)
  }
}
