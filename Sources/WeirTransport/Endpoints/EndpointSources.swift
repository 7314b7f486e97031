/// The endpoints of one upstream, from all places that tell of them: some are written down, others are looked up again
/// and again. A place that fails changes nothing: its last answer stays. A value.
package struct EndpointSources: Sendable {
  /// The name of a place: a host name with its port, a service, a file.
  package typealias Place = String

  /// The most endpoints that a place keeps of earlier answers.
  private static let mostKept = 4096

  /// Endpoints that need no lookup.
  private var written: [EndpointSpec] = []
  /// The last good answer of each place.
  private var answers: [Place: [EndpointSpec]] = [:]
  private var places: Set<Place> = []
  /// New places that have neither answered nor failed.
  private var silent: Set<Place> = []

  package init() {}

  /// Replaces the places. One that stays keeps its answer.
  ///
  /// - Parameter adapt: Gives the endpoint of an answer the weight, priority and URL that the place has now.
  package mutating func follow(
    _ written: [EndpointSpec], _ places: Set<Place>, adapt: (Place, EndpointSpec) -> EndpointSpec = { $1 }
  ) {
    self.written = written
    silent = silent.intersection(places).union(places.subtracting(self.places))
    self.places = places
    for (place, endpoints) in answers {
      answers[place] = places.contains(place) ? endpoints.map { adapt(place, $0) } : nil
    }
  }

  /// A place has answered. An empty answer is a failure.
  ///
  /// - Parameter stays: Whether an endpoint of the last answer stays although this one lacks it, because the lookup that
  ///   would have found it failed.
  /// - Returns: Whether the endpoints have changed.
  package mutating func answered(
    _ place: Place, _ endpoints: [EndpointSpec], stays: (EndpointSpec) -> Bool = { _ in false }
  ) -> Bool {
    guard places.contains(place) else { return false }
    silent.remove(place)
    let names = Set(endpoints.map(\.name))
    let kept = (answers[place] ?? []).filter { !names.contains($0.name) && stays($0) }
    let answer = endpoints + kept.prefix(Self.mostKept)
    guard !endpoints.isEmpty, answers[place] != answer else { return false }
    answers[place] = answer
    return true
  }

  package mutating func failed(_ place: Place) { silent.remove(place) }

  /// Whether each place has answered or failed.
  package var isSettled: Bool { silent.isEmpty }

  /// The first endpoints by name, each once.
  ///
  /// - Parameter limit: Their number.
  /// - Returns: The endpoints, and whether there are more of them.
  package func endpoints(limit: Int) -> (endpoints: [EndpointSpec], areCut: Bool) {
    var all: [String: EndpointSpec] = [:]
    for endpoint in written + answers.sorted(by: { $0.key < $1.key }).flatMap(\.value) where all[endpoint.name] == nil {
      all[endpoint.name] = endpoint
    }
    let sorted = all.values.sorted { $0.name < $1.name }
    return (Array(sorted.prefix(max(0, limit))), sorted.count > limit)
  }
}
