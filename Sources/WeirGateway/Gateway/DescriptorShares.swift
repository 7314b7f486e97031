import WeirExporter

/// How many connections each listener may have, so that clients of one can't take the descriptors that the other, or
/// the connections to upstreams, need. A value.
struct DescriptorShares: Equatable {
  /// Of the metrics address.
  let metrics: Int
  /// Of the gateway's address, all workers together.
  let clients: Int

  /// What stays open whoever comes: listeners, event loops, standard streams, files while they are read.
  private static let fixed = 32
  private static let fixedPerWorker = 4

  /// - Parameters:
  ///   - limit: how many descriptors the process may have open.
  ///   - hasOrigin: whether the process holds the other end of the connections to upstreams too.
  init(limit: Int, workers: Int, hasOrigin: Bool = false) {
    metrics = Exporter.Limits().within(descriptors: limit).connections
    let rest = limit - Self.fixed - Self.fixedPerWorker * workers - metrics
    // A client, and the connection to the upstream that its request takes.
    clients = max(workers, rest / (hasOrigin ? 3 : 2))
  }
}
