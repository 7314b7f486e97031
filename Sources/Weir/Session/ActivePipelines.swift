/// The pipelines of active requests. A place keeps its pipeline until that is removed, and then serves another one.
struct ActivePipelines {
  private var places: [RequestPipeline?] = []
  private var free: [Int] = []

  var isEmpty: Bool { places.count == free.count }

  /// In no particular order.
  var all: [RequestPipeline] { places.compactMap { $0 } }

  /// Nil at no place.
  subscript(place: Int?) -> RequestPipeline? { place.flatMap { places[$0] } }

  mutating func add(_ pipeline: RequestPipeline) -> Int {
    if let place = free.popLast() {
      places[place] = pipeline
      return place
    }
    places.append(pipeline)
    return places.count - 1
  }

  mutating func remove(at place: Int?) -> RequestPipeline? {
    guard let place, let pipeline = places[place] else { return nil }
    places[place] = nil
    free.append(place)
    return pipeline
  }
}
