import Synchronization
import WeirHTTP
import WeirIO

/// A session's way to its `URLCache`: by its workers, since that reads and writes files in the calls; one call at a time, so
/// that what was stored is found.
final class ResponseCache: Sendable {
  /// A stored response that can be served.
  struct Found: Sendable {
    var entry: CacheEntry
    let response: HTTPURLResponse
    let data: Data
    let storagePolicy: URLCache.StoragePolicy
  }

  /// Foundation's cache on Linux notes a key that it has a second time, and traps when the second note's turn to go comes. So
  /// what is there goes first, and of sessions that share a cache none comes between.
  private static let replacing = Mutex<Void>(())

  private let storage: URLCache
  private let lane: FileLane

  init(_ storage: URLCache, workers: WorkerPool) {
    self.storage = storage
    lane = FileLane(workers: workers)
  }

  /// No response that is larger can be stored.
  var maximumSize: Int { max(storage.memoryCapacity, storage.diskCapacity) }

  /// Answers with what is stored for `url`, whatever it fits.
  func find(_ url: String, _ answer: @escaping @Sendable (Found?) -> Void) {
    lane.submit { [storage] in
      answer(Self.key(url).flatMap(storage.cachedResponse(for:)).flatMap(Found.init))
    }
  }

  func store(_ response: CachedURLResponse, as entry: CacheEntry) {
    guard response.storagePolicy != .notAllowed, let http = response.response as? HTTPURLResponse,
      let note = try? JSONEncoder().encode(entry)
    else { return }
    var info = response.userInfo ?? [:]
    info[Found.note] = note
    let noted = CachedURLResponse(
      response: http, data: response.data, userInfo: info, storagePolicy: response.storagePolicy)
    lane.submit { [storage] in
      guard let key = Self.key(entry.url) else { return }
      Self.replacing.withLock { _ in
        storage.removeCachedResponse(for: key)
        storage.storeCachedResponse(noted, for: key)
      }
    }
  }

  func remove(_ url: String) {
    lane.submit { [storage] in
      if let key = Self.key(url) { storage.removeCachedResponse(for: key) }
    }
  }

  /// Foundation's cache on Linux tells URLs apart by host, port and path only, and on disk makes file names of them: so it
  /// is given names of equal length in which the whole URL counts.
  private static func key(_ url: String) -> URLRequest? {
    URL(string: "weir://cache/\(SHA256.hexadecimal(of: Array(url.utf8)))").map { URLRequest(url: $0) }
  }
}

extension ResponseCache.Found {
  /// Where weir's own note on a response stands in its `userInfo`.
  static let note = "weir"

  /// Nil for what others have put there, or for what can't be read any more.
  init?(_ cached: CachedURLResponse) {
    guard let response = cached.response as? HTTPURLResponse, let note = cached.userInfo?[Self.note] as? Data,
      let entry = try? JSONDecoder().decode(CacheEntry.self, from: note)
    else { return nil }
    self.init(entry: entry, response: response, data: cached.data, storagePolicy: cached.storagePolicy)
  }

  /// As it goes back into the cache.
  var cached: CachedURLResponse {
    CachedURLResponse(response: response, data: data, userInfo: nil, storagePolicy: storagePolicy)
  }

  /// With what a 304 says (RFC 9111 §4.3.4). Field names keep the spelling that they were stored with.
  func updated(
    with fields: [String: String], request: [String: String], requested: Double, received: Double
  ) -> ResponseCache.Found {
    var entry = entry
    entry.update(with: fields.lowercasingNames(), request: request, requested: requested, received: received)
    var merged = response.textFields
    for (name, value) in fields where !CacheEntry.isOfTheBody(FieldSyntax.lowercased(name)) {
      for known in merged.keys where FieldSyntax.isSameName(known, name) { merged[known] = nil }
      merged[name] = value
    }
    for name in merged.keys where entry.fields[FieldSyntax.lowercased(name)] == nil { merged[name] = nil }
    let updated = response.url.flatMap {
      HTTPURLResponse(url: $0, statusCode: response.statusCode, httpVersion: "HTTP/1.1", headerFields: merged)
    }
    return ResponseCache.Found(
      entry: entry, response: updated ?? response, data: data, storagePolicy: storagePolicy)
  }
}

extension HTTPURLResponse {
  var textFields: [String: String] {
    allHeaderFields.reduce(into: [:]) { fields, field in
      if let name = field.key as? String, let value = field.value as? String { fields[name] = value }
    }
  }
}

extension [String: String] {
  func lowercasingNames() -> [String: String] {
    reduce(into: [:]) { $0[FieldSyntax.lowercased($1.key)] = $1.value }
  }
}
