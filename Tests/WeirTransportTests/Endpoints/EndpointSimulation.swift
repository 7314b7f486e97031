import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// How one endpoint of a simulation behaves. It serves all its requests at once.
struct EndpointModel: Sendable {
  /// The mean of an answer's time, in seconds; exponentially distributed.
  var seconds = 0.05
  /// The share of requests that fail, after a millisecond.
  var failing = 0.0
}

/// Requests to a set of endpoints in virtual time, from several workers in turn.
struct EndpointSimulation {
  struct Result {
    var counts: [Int]
    var succeeded = 0
    var events: [(seconds: Double, event: EndpointEvent)] = []

    var total: Int { counts.reduce(0, +) }

    func share(_ index: Int) -> Double { Double(counts[index]) / Double(total) }
  }

  private enum Event {
    case arrival
    case end(Endpoint, EndpointEnding, began: Double, isCounted: Bool)
  }

  let line: EndpointLine
  let models: [EndpointModel]
  /// Requests per second.
  var rate = 1_000.0
  var workers = 2
  /// So many keys for requests to hash by.
  var keys: Int?
  /// Seconds before anything is counted.
  var from = 0.0
  private var random: SeededRandom

  init(_ models: [EndpointModel], weights: [Int]? = nil, _ settings: EndpointSettings, seed: UInt64) {
    self.models = models
    random = SeededRandom(seed: seed)
    line = EndpointLine(
      models.indices.map { EndpointLine.spec($0, weight: weights?[$0] ?? 1) }, settings, seed: seed)
  }

  mutating func run(seconds: Double) -> Result {
    var result = Result(counts: models.map { _ in 0 })
    var pickers = (0..<workers).map { EndpointPicker(line.set, seed: UInt64($0) &+ random.next()) }
    var heap = EventHeap<Event>()
    heap.push(.arrival, at: 0)
    while let (time, event) = heap.pop(), time < seconds {
      line.now = time
      switch event {
      case .arrival:
        heap.push(.arrival, at: time + random.exponential(mean: 1 / rate))
        let key = keys.map { UInt64.random(in: 0..<UInt64($0), using: &random) }
        let worker = Int.random(in: 0..<workers, using: &random)
        guard let endpoint = pickers[worker].pick(key: key, at: line.time) else { continue }
        endpoint.begins()
        if time >= from { result.counts[endpoint.place] += 1 }
        let (ending, after) = serve(models[endpoint.place])
        heap.push(.end(endpoint, ending, began: time, isCounted: time >= from), at: time + after)
      case .end(let endpoint, let ending, let began, let isCounted):
        endpoint.leaves()
        if case .answered = ending, isCounted { result.succeeded += 1 }
        let event = line.set.ended(ending, of: endpoint, began: EndpointLine.time(began), at: line.time)
        if let event { result.events.append((time, event)) }
      }
    }
    return result
  }

  private mutating func serve(_ model: EndpointModel) -> (EndpointEnding, after: Double) {
    if .random(in: 0..<1, using: &random) < model.failing { return (.failed(after: 0.001), 0.001) }
    let seconds = random.exponential(mean: model.seconds)
    return (.answered(firstByteAfter: seconds), seconds)
  }
}
